package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel/trace"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine/fleet"
	"github.com/restmapping/operator/pkg/engine/pass"
	"github.com/restmapping/operator/pkg/engine/queue"
)

// Config is what an Engine needs.
type Config struct {
	// Client reads and writes custom resources.
	Client dynamic.Interface
	// Fleet holds the watches.
	Fleet     *fleet.Fleet
	Endpoints pass.Endpoints
	Secrets   pass.Secrets
	Keys      pass.Keys
	// Outputs is only needed for mappings that have some.
	Outputs pass.Outputs
	Events  pass.Events
	// Going tells, from the API server itself, whether a kind is being deleted or is gone. Optional.
	Going func(ctx context.Context, gvr schema.GroupVersionResource) (bool, error)
	Clock clock.PassiveClock
	// Namespaces limits the custom resources that are served; empty means all.
	Namespaces []string
	// Workers is how many custom resources of one mapping are worked on at once.
	Workers int
	// MinInterval is the floor of every mapping's interval.
	MinInterval time.Duration
	// DrainTimeout is how long a stopping mapping waits for passes that are under way.
	DrainTimeout time.Duration
	// Jitter gives random numbers in [0, 1).
	Jitter func() float64
	// Observe is told how each pass of a mapping ended. Optional.
	Observe func(mapping string, s pass.Summary)
	// Tracer makes a span of each pass. Optional.
	Tracer trace.Tracer
}

// Engine runs mappings. Its methods may be called from several goroutines. It acts from Start until Start's context
// ends; in a manager it is a runnable that needs leader election.
type Engine struct {
	cfg Config

	mu      sync.Mutex // guards the fields below; never held across a wait
	since   time.Time
	ctx     context.Context //nolint:containedctx // the process's own, from Start to stop: runners outlive the calls that make them
	runners map[string]*runner
	plans   map[string]*planning
	stopped bool

	claims    *pass.Claims
	listeners sync.Map // of func(string) by *int
}

// ErrNotRunning is given by Apply before Start and after its end.
var ErrNotRunning = errors.New("the engine is not running")

// New gives an engine that runs nothing yet.
func New(cfg Config) *Engine {
	return &Engine{cfg: cfg, runners: map[string]*runner{}, plans: map[string]*planning{}, claims: pass.NewClaims()}
}

// Start lets mappings run until ctx ends, then stops them all and waits for their passes, at most the drain time.
func (e *Engine) Start(ctx context.Context) error {
	e.mu.Lock()
	e.ctx, e.since = context.WithoutCancel(ctx), e.cfg.Clock.Now()
	e.mu.Unlock()
	<-ctx.Done()
	logr.FromContextOrDiscard(ctx).Info("stopping the mappings")
	return e.stop() //nolint:contextcheck // what stops has limits of its own, beyond the end of ctx
}

// NeedLeaderElection tells a manager that only the leader may act.
func (e *Engine) NeedLeaderElection() bool { return true }

func (e *Engine) stop() error {
	e.mu.Lock()
	e.stopped = true
	runners := make([]*runner, 0, len(e.runners))
	for _, r := range e.runners {
		runners = append(runners, r)
	}
	plans := slices.Collect(maps.Values(e.plans))
	e.runners, e.plans = map[string]*runner{}, map[string]*planning{}
	e.mu.Unlock()
	errs := make([]error, len(runners))
	var wg sync.WaitGroup
	for _, p := range plans {
		wg.Go(p.stop)
	}
	for i, r := range runners {
		wg.Go(func() { errs[i] = r.stop() })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Apply starts a mapping, or lets a running one go on with a new program. A change of what is watched restarts it.
// It returns without waiting for the watch; State tells how that goes.
func (e *Engine) Apply(spec Spec) error {
	current, fresh, err := e.place(spec)
	switch {
	case err != nil:
		return err
	case current == nil:
		if err := fresh.start(); err != nil {
			return errors.Join(err, e.Remove(spec.Name))
		}
		return nil
	case current.watches(spec):
		current.serve(spec)
		return nil
	}
	if err := e.Remove(spec.Name); err != nil {
		return err
	}
	return e.Apply(spec)
}

// place finds the runner of this mapping, or makes its place.
func (e *Engine) place(spec Spec) (current, fresh *runner, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ctx == nil || e.stopped {
		return nil, nil, fmt.Errorf("mapping %s: %w", spec.Name, ErrNotRunning)
	}
	if found, ok := e.runners[spec.Name]; ok {
		return found, nil, nil
	}
	fresh = newRunner(e, spec)
	e.runners[spec.Name] = fresh
	return nil, fresh, nil
}

// Remove stops a mapping and waits for its passes. Nothing is deleted outside. An unknown name is no error.
func (e *Engine) Remove(name string) error {
	e.EndPlan(name)
	e.mu.Lock()
	found, ok := e.runners[name]
	delete(e.runners, name)
	e.mu.Unlock()
	if !ok {
		return nil
	}
	err := found.stop()
	e.changed(name)
	return err
}

// State tells how a mapping goes; ok is false when it does not run.
func (e *Engine) State(name string) (State, bool) {
	r := e.runner(name)
	if r == nil {
		return State{}, false
	}
	return r.state(), true
}

// Running tells whether a mapping runs, without looking at its custom resources.
func (e *Engine) Running(name string) bool { return e.runner(name) != nil }

// Names gives the mappings that run.
func (e *Engine) Names() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	names := make([]string, 0, len(e.runners))
	for name := range e.runners {
		names = append(names, name)
	}
	return names
}

func (e *Engine) runner(name string) *runner {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.runners[name]
}

func (e *Engine) all() []*runner {
	e.mu.Lock()
	defer e.mu.Unlock()
	runners := make([]*runner, 0, len(e.runners))
	for _, r := range e.runners {
		runners = append(runners, r)
	}
	return runners
}

// EndpointChanged has the custom resources looked at again that use this endpoint, and those that have not said yet which one
// they use.
func (e *Engine) EndpointChanged(kind v1alpha1.EndpointKind, namespace, name string) {
	for _, r := range e.all() {
		if r.program().EndpointKind() == kind {
			r.enqueueWhere(namespace, func(key types.NamespacedName) bool { return r.reconciler.MayUseEndpoint(key, name) })
		}
	}
}

// SecretChanged has the custom resources looked at again that use this Secret, and those that have not said yet which ones
// they use.
func (e *Engine) SecretChanged(namespace, name string) {
	for _, r := range e.all() {
		if len(r.program().SecretNames()) > 0 {
			r.enqueueWhere(namespace, func(key types.NamespacedName) bool { return r.reconciler.MayUseSecret(key, name) })
		}
	}
}

// OutputChanged has the custom resource looked at again whose output somebody else changed or deleted.
func (e *Engine) OutputChanged(namespace string, owner metav1.OwnerReference) {
	name := types.NamespacedName{Namespace: namespace, Name: owner.Name}
	for _, r := range e.all() {
		if len(r.program().Outputs()) == 0 {
			continue
		}
		if obj, ok := r.Get(name); ok && obj.GetUID() == owner.UID {
			r.workers.Add(queue.Options{}, name)
		}
	}
}

// Subscribe has listener called with the name of a mapping whose State may have changed. It must not block.
func (e *Engine) Subscribe(listener func(mapping string)) (unsubscribe func()) {
	key := new(int)
	e.listeners.Store(key, listener)
	return func() { e.listeners.Delete(key) }
}

func (e *Engine) changed(name string) {
	e.listeners.Range(func(_, value any) bool {
		if listener, ok := value.(func(string)); ok {
			listener(name)
		}
		return true
	})
}
