package pass

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/restmapping/operator/pkg/engine/queue"
	"github.com/restmapping/operator/pkg/lifecycle"
	"github.com/restmapping/operator/pkg/mapping"
	"github.com/restmapping/operator/pkg/rest"
)

// Reconciler makes passes over the custom resources of one mapping.
type Reconciler struct {
	Config
	program  atomic.Pointer[mapping.Program]
	memories *memories
	usage    *usage
	// hashKey is of this process alone, for hashes that never leave its memory.
	hashKey []byte
}

var _ queue.Handler = (*Reconciler)(nil)

// New gives a Reconciler that serves this program.
func New(config Config, program *mapping.Program) *Reconciler {
	r := &Reconciler{Config: config, memories: newMemories(), usage: newUsage(), hashKey: newHashKey()}
	r.program.Store(program)
	return r
}

// Serve makes passes that begin from now on use another program.
func (r *Reconciler) Serve(program *mapping.Program) { r.program.Store(program) }

// Program gives the program that is served.
func (r *Reconciler) Program() *mapping.Program { return r.program.Load() }

// Handle makes one pass. It implements queue.Handler: an error means backoff, After the time of the next look.
func (r *Reconciler) Handle(ctx context.Context, key types.NamespacedName) (result queue.Result) {
	ctx, traced := r.trace(ctx, key)
	defer func() { traced.end(&result) }()
	return r.handle(ctx, key, traced)
}

func (r *Reconciler) handle(ctx context.Context, key types.NamespacedName, traced traced) queue.Result {
	started := r.Clock.Now()
	cached, ok := r.Objects.Get(key)
	if !ok {
		return r.gone(ctx, key)
	}
	traced.object(cached)
	if err := r.settleDebt(ctx, key, cached.GetUID()); err != nil {
		return queue.Result{Err: err}
	}
	run, err := newRun(ctx, r, key, cached)
	if err != nil {
		return queue.Result{Err: err}
	}
	step, result := lifecycle.Step{}, queue.Result{}
	if err = run.greet(ctx); err == nil {
		step = run.loop(ctx)
		result, err = run.finish(ctx, step)
	}
	if errors.Is(err, errGone) {
		return r.gone(ctx, key)
	}
	run.summarise(ctx, step, started, apierrors.IsForbidden(err))
	return settle(result, err)
}

// Close lets go of the claims that are held for this mapping's custom resources. No pass may be under way.
func (r *Reconciler) Close() { r.memories.each(func(m *memory) { r.Claims.Drop(m.uid) }) }

// settle turns conflicts into another look soon: somebody else wrote, and the informer will say what.
func settle(result queue.Result, err error) queue.Result {
	switch {
	case err == nil:
		return result
	case apierrors.IsConflict(err):
		return queue.Result{After: conflictDelay}
	case apierrors.IsNotFound(err):
		return queue.Result{}
	default:
		return queue.Result{Err: err}
	}
}

// gone forgets a custom resource that is no longer there.
func (r *Reconciler) gone(ctx context.Context, key types.NamespacedName) queue.Result {
	if err := r.settleDebt(ctx, key, ""); err != nil {
		return queue.Result{Err: err}
	}
	if m := r.memories.peek(key); m != nil {
		r.Claims.Drop(m.uid)
		r.memories.forget(key)
	}
	r.usage.forget(key)
	r.tell(Summary{Key: key, Gone: true})
	return queue.Result{}
}

func (r *Reconciler) tell(s Summary) {
	if r.Observe != nil {
		r.Observe(s)
	}
}

// timing gives the waiting times for this mapping at this endpoint. Before the endpoint is resolved it takes the timeout
// of the pass before; every decision to send is made again once it is.
func (u *run) timing() lifecycle.Timing {
	if u.endpoint != nil {
		u.mem.requestTime = u.endpoint.Timeout()
	}
	request := u.mem.requestTime
	if request == 0 {
		request = defaultRequestTime
	}
	return lifecycle.Timing{
		Request: request, Slack: u.program.ServerSlack(), Window: u.program.ConsistencyWindow(),
		Later: max(u.program.Later(rest.Create), u.program.Later(rest.Update)),
	}
}

const (
	// defaultRequestTime stands in while the endpoint is not known.
	defaultRequestTime = 30 * time.Second
	// conflictDelay lets the informer catch up with a write of somebody else.
	conflictDelay = 200 * time.Millisecond
	// shortDelay lies between two looks that must agree on absence.
	shortDelay = time.Second
	// serverDelay is a polite time when a server asks to wait and does not say how long.
	serverDelay = 5 * time.Second
	// maxServerDelay bounds what a server can ask for.
	maxServerDelay = 15 * time.Minute
	// notReadyInterval is how often something is looked at that exists and is not usable yet.
	notReadyInterval = 30 * time.Second
	// maxSteps bounds a pass. The longest sequence of lifecycle.Next takes half of it.
	maxSteps = 24
	// quietFailures is how many looks in a row may fail before a settled custom resource says so.
	quietFailures = 3
	// staleIntervals is after how many intervals without a look that worked Ready becomes Unknown.
	staleIntervals = 3
)
