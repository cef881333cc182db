package engine

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/restmapping/operator/pkg/engine/fleet"
	"github.com/restmapping/operator/pkg/engine/pass"
	"github.com/restmapping/operator/pkg/engine/queue"
	"github.com/restmapping/operator/pkg/mapping"
)

// Spec is a mapping as it is to run.
type Spec struct {
	Name string
	// GVR is the target as the API server serves it, Namespaced its scope, Incarnation the CRD and the state of its
	// schema: a watch that began before a change of the schema goes on giving objects as they were pruned then.
	GVR         schema.GroupVersionResource
	Namespaced  bool
	Incarnation string
	// Selector limits the custom resources by label; empty means all.
	Selector string
	Program  *mapping.Program
	// References are the kinds that the mapping refers to. Referrers are the mappings whose custom resources may refer to
	// this one's: nothing is deleted outside before all of those are known.
	References []ReferenceSpec
	Referrers  []string
	// Settled tells that an earlier process served this very program, so that the first looks at custom resources
	// which were in sync may be spread.
	Settled bool
	// HeldSince is when an earlier process began to hold deletions back, and Acknowledged the time of which a person has said
	// that they may go on; both empty for none.
	HeldSince, Acknowledged string
}

// State is how a running mapping goes.
type State struct {
	// Synced tells that all custom resources are known.
	Synced bool
	// WatchError is why the watch does not work, nil when it does.
	WatchError error
	// Denied tells that the API server forbade a write since the mapping was applied last.
	Denied bool
	// Objects, Ready and Stalled count custom resources; Held those that carry our finalizer.
	Objects, Ready, Stalled, Held int
	// Generation is that of the mapping whose program is served.
	Generation int64
	// HeldSince is since when deletions outside are held back, HeldBecause why; empty when none are.
	HeldSince, HeldBecause string
	// Bytes is how much of the custom resources' content is kept, Watches how many informers give them.
	Bytes, Watches int
	// Queued is how many wait for a worker or for their time.
	Queue queue.Stats
}

// runner is one mapping at work.
type runner struct {
	cfg        Config
	spec       Spec
	ctx        context.Context //nolint:containedctx // of the process: it outlives the call that made the runner
	reconciler *pass.Reconciler
	workers    *queue.Workers
	counts     *counts
	changed    func(string)
	denied     atomic.Bool
	engine     *Engine
	referents  *referents
	referrers  atomic.Pointer[[]string]
	deletions  *deletions
	requests   requests

	mu            sync.Mutex // guards the fields below
	subscriptions []*fleet.Subscription
	complete      bool // subscriptions has all namespaces
}

// newRunner makes a runner of the engine, which holds its lock.
func newRunner(e *Engine, spec Spec) *runner {
	cfg := e.cfg
	r := &runner{cfg: cfg, spec: spec, ctx: e.ctx, changed: e.changed, counts: newCounts(), engine: e}
	r.deletions = newDeletions(r, spec)
	r.referents = newReferents(r)
	r.referrers.Store(&spec.Referrers)
	r.reconciler = pass.New(pass.Config{
		Objects: r, Writer: pass.NewDynamicWriter(cfg.Client, spec.GVR), Endpoints: cfg.Endpoints, Secrets: cfg.Secrets, Outputs: cfg.Outputs,
		Keys: cfg.Keys, Referents: r,
		Events: cfg.Events, Claims: e.claims, Deletions: r.deletions, Clock: cfg.Clock, LeaderSince: e.since,
		MinInterval: cfg.MinInterval, Jitter: cfg.Jitter, Observe: r.observe,
		Tracer: cfg.Tracer,
	}, spec.Program)
	r.workers = queue.NewWorkers(spec.Name, r.reconciler, queue.WithWorkers(cfg.Workers))
	return r
}

// start begins to watch and to work. It does not wait for the watch. The workers come last: a custom resource that a
// worker cannot find in the subscriptions counts as gone.
func (r *runner) start() error {
	if err := r.watch(); err != nil {
		return err
	}
	r.workers.Start(r.ctx)
	r.resumeReferred() // the watches may have been in sync before all were there
	return nil
}

// watch begins to watch.
func (r *runner) watch() error {
	if err := r.referents.watch(); err != nil {
		return err
	}
	for _, namespace := range r.namespacesOf(r.spec.Namespaced) {
		key := fleet.Key{GVR: r.spec.GVR, Namespace: namespace, LabelSelector: r.spec.Selector, Incarnation: r.spec.Incarnation}
		subscription, err := r.cfg.Fleet.Acquire(r.spec.Name, key, fleet.Handler{OnEvent: r.onEvent, OnStateChange: r.stateChanged})
		if err != nil {
			return err
		}
		r.mu.Lock()
		r.subscriptions = append(r.subscriptions, subscription)
		r.mu.Unlock()
	}
	r.mu.Lock()
	r.complete = true
	r.mu.Unlock()
	return nil
}

// namespacesOf gives what is watched of a kind: all at once, or each served namespace.
func (r *runner) namespacesOf(namespaced bool) []string {
	if !namespaced || len(r.cfg.Namespaces) == 0 {
		return []string{""}
	}
	return r.cfg.Namespaces
}

// stop lets passes under way end and be recorded, then lets go of the watch. No other order loses nothing: a pass needs
// the cache to the end, and the queue takes nothing in once it is stopped.
func (r *runner) stop() error {
	ctx, cancel := context.WithTimeout(r.ctx, r.cfg.DrainTimeout)
	defer cancel()
	errs := []error{r.workers.Stop(ctx)}
	r.reconciler.Close()
	r.mu.Lock()
	subscriptions := r.subscriptions
	r.subscriptions = nil
	r.mu.Unlock()
	release, end := context.WithTimeout(r.ctx, r.cfg.DrainTimeout)
	defer end()
	for _, s := range subscriptions {
		errs = append(errs, s.Release(release))
	}
	errs = append(errs, r.referents.release(release)...)
	return errors.Join(errs...)
}

// watches tells whether this runner watches what the spec asks for.
func (r *runner) watches(s Spec) bool {
	return r.spec.GVR == s.GVR && r.spec.Namespaced == s.Namespaced && r.spec.Selector == s.Selector && r.spec.Incarnation == s.Incarnation &&
		slices.Equal(r.spec.References, s.References)
}

func (r *runner) program() *mapping.Program { return r.reconciler.Program() }

// serve goes on with another program and has everything looked at again.
func (r *runner) serve(s Spec) {
	r.denied.Store(false) // whoever applies a mapping has made sure of the rights
	if former := r.referrers.Swap(&s.Referrers); !slices.Equal(*former, s.Referrers) {
		r.resume()
	}
	if r.deletions.acknowledge(s.Acknowledged) {
		r.enqueueAll()
	}
	if s.Program == r.program() {
		return
	}
	r.reconciler.Serve(s.Program)
	r.referents.refreshAll()
	r.enqueueAll()
}

// Get implements pass.Objects.
func (r *runner) Get(key types.NamespacedName) (*fleet.Object, bool) {
	for _, s := range r.subscribed() {
		if obj, ok := s.Get(key); ok {
			return obj, true
		}
	}
	return nil, false
}

// objects are all cached custom resources.
func (r *runner) objects() []*fleet.Object {
	var all []*fleet.Object
	for _, s := range r.subscribed() {
		all = append(all, s.List()...)
	}
	return all
}

func (r *runner) subscribed() []*fleet.Subscription {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.subscriptions
}

func (r *runner) enqueueAll() {
	r.enqueueWhere("", func(types.NamespacedName) bool { return true })
}

// enqueueWhere has those custom resources of a namespace, or of all, looked at without haste that a change concerns.
func (r *runner) enqueueWhere(namespace string, concerned func(types.NamespacedName) bool) {
	for _, s := range r.subscribed() {
		for _, obj := range s.List() {
			key := types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
			if (namespace == "" || key.Namespace == namespace) && concerned(key) {
				r.workers.Add(queue.Options{Priority: queue.PriorityLow}, key)
			}
		}
	}
}

func (r *runner) announce() { r.changed(r.spec.Name) }

func (r *runner) observe(s pass.Summary) {
	if s.Gone {
		r.deletions.gone()
	}
	r.requests.answer(s)
	newlyDenied := s.Denied && !r.denied.Swap(true)
	if r.counts.note(s) || newlyDenied {
		r.announce()
	}
	if r.cfg.Observe != nil {
		r.cfg.Observe(r.spec.Name, s)
	}
}

func (r *runner) state() State {
	deleting := false
	st := State{Synced: true, Denied: r.denied.Load(), Generation: r.program().Generation(), Queue: r.workers.Stats()}
	for _, s := range r.subscribed() {
		st.Watches++
		st.Synced = st.Synced && s.HasSynced()
		if err := s.LastError(); err != nil {
			st.WatchError = err
		}
		for _, obj := range s.List() {
			st.Objects++
			st.Bytes += obj.Size()
			if held(obj) {
				st.Held++
				deleting = deleting || obj.GetDeletionTimestamp() != nil
			}
		}
	}
	if err := r.referents.lastError(); err != nil {
		st.WatchError = err
	}
	st.Ready, st.Stalled = r.counts.totals()
	if st.Synced && !deleting {
		r.deletions.end()
	}
	st.HeldSince, st.HeldBecause = r.deletions.holding()
	return st
}
