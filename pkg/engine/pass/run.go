package pass

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine/fleet"
	"github.com/restmapping/operator/pkg/lifecycle"
	"github.com/restmapping/operator/pkg/mapping"
	"github.com/restmapping/operator/pkg/rest"
)

// run is one pass: the facts as they grow, and what is needed to carry out steps.
type run struct {
	*Reconciler
	key     types.NamespacedName
	obj     *fleet.Object
	self    map[string]any
	mem     *memory
	program *mapping.Program

	facts  lifecycle.Facts
	ring   *lifecycle.Ring
	opened lifecycle.Opened
	record *lifecycle.Record
	answer answer

	// resolved tells that endpoint, secrets and pass are there.
	resolved bool
	endpoint Endpoint
	secrets  map[string]string
	// referents are the objects that it refers to, by the reference's name; dependents those that refer to it.
	referents  map[string]map[string]any
	dependents Dependents
	pass       *mapping.Pass
	ids        map[string]string

	// intendedAt is when this pass wrote its intent, create the request that was rendered for it.
	intendedAt time.Time
	create     rest.Request
	// searching tells that the list is being asked about an object whose identity is recorded.
	searching bool
	// observed is the object outside as read in this pass; differences are the fields in which it differs.
	observed    any
	differences []mapping.Difference
	// renamed names the identifiers that are not those of the record.
	renamed string
	// digest stands for what is wanted of them.
	digest uint64
	// immutable are those of them that cannot be changed.
	immutable []mapping.Difference
	// secretChanged tells that a write-only value is not what the server was given last; values are all of them, and
	// writeOnly is their hash.
	secretChanged bool
	values        []byte
	writeOnly     string
	// given tells that the server has taken a write with these values in this pass.
	given bool
	// drifted are the fields that somebody changed outside; corrected tells that they were put back.
	drifted   []mapping.Difference
	corrected bool
	// step is the request that must be sent before the delete, when facts.StepDue; stepping tells that it is being sent.
	step     int
	stepping bool
	// handle is where the operation is asked about that the server has just accepted, askAfter when it wants to be asked.
	handle   string
	askAfter time.Duration
	// failure is what the last request that did not succeed has shown.
	failure *requestFailure
	// conflicted tells that somebody else wrote the custom resource during the pass.
	writeErr error
	// elements are what the custom resource asks for in each part, by its name.
	elements map[string][]mapping.Element
	// spentOnPart tells that this pass has sent its mutating request for a part.
	spentOnPart bool
	// comeBack is when a part asks to be looked at again, before the interval; zero for never.
	comeBack time.Duration
	// held says why the delete is held back.
	held string
	// released tells that the finalizer was removed.
	released bool
	// stored are the assigned identifiers that an output of the recorded attempt names.
	stored map[string]string
	// concealed are values of outputs that no message may show.
	concealed []string
	// sensitive are values of answers that the mapping marks as sensitive: no message and no status may show them.
	sensitive []string
	// denied tells that the API server forbade what an output needs.
	denied bool
	// plans tells that the pass ends where it would send or write something; foreseen is what it would do with the parts.
	plans    bool
	foreseen []string
}

// requestFailure is a request that did not succeed, for the status.
type requestFailure struct {
	operation rest.Operation
	status    int
	verdict   lifecycle.Verdict
}

func newRun(ctx context.Context, r *Reconciler, key types.NamespacedName, cached *fleet.Object) (*run, error) {
	mem, former := r.memories.of(key, cached.GetUID())
	if former != "" {
		r.Claims.Drop(former)
	}
	obj := mem.freshest(cached)
	self, err := obj.Unstructured()
	if err != nil {
		return nil, fmt.Errorf("decode %s: %w", key, err)
	}
	u := &run{Reconciler: r, key: key, obj: obj, self: self, mem: mem, program: r.program.Load()}
	u.begin(ctx)
	u.noteChange()
	return u, nil
}

// loop asks for steps and carries them out until one ends the pass.
func (u *run) loop(ctx context.Context) lifecycle.Step {
	if stop := u.recall(ctx); stop != nil {
		return *stop
	}
	for range maxSteps {
		step := lifecycle.Next(u.facts)
		if stop := u.prepare(ctx, step); stop != nil {
			return *stop
		}
		if !u.resolved && needsEndpoint(step) {
			continue // the facts have changed by resolving
		}
		if step.Terminal() {
			return u.thenParts(ctx, step)
		}
		if u.plans && !onlyLooks(step.Action) {
			return step
		}
		if stop := u.partsBefore(ctx, step); stop != nil {
			return *stop
		}
		if stop := u.execute(ctx, step); stop != nil {
			return *stop
		}
		if u.released || u.writeErr != nil {
			return lifecycle.Step{Action: lifecycle.Finish, Reason: v1alpha1.ReasonDeleting}
		}
	}
	return lifecycle.Step{Action: lifecycle.Retry, Reason: v1alpha1.ReasonInternalError, Message: "the pass did not come to an end; please report this"}
}

// needsEndpoint tells which steps can only be decided with the server known. Suspending, waiting and letting go are
// not among them: a custom resource must be able to go when its endpoint is gone.
func needsEndpoint(step lifecycle.Step) bool {
	switch step.Action {
	case lifecycle.Observe, lifecycle.CheckProbe, lifecycle.WriteIntent, lifecycle.SendCreate, lifecycle.CheckKey, lifecycle.ResendCreate,
		lifecycle.SendUpdate, lifecycle.SendRotate, lifecycle.SendDelete, lifecycle.KeepIdentity,
		lifecycle.SendStep, lifecycle.KeepOperation, lifecycle.PollOperation, lifecycle.EndOperation:
		return true
	default:
		return false
	}
}

// prepare resolves what the step needs, once. It gives the step that ends the pass when that fails.
func (u *run) prepare(ctx context.Context, step lifecycle.Step) *lifecycle.Step {
	if u.resolved || !needsEndpoint(step) {
		return nil
	}
	stop := u.resolve(ctx)
	if stop == nil {
		stop = u.compareWriteOnly(ctx)
	}
	if stop != nil {
		u.mem.failures++
		return stop
	}
	u.resolved = true
	u.tick()
	if again := lifecycle.Next(u.facts); again.Terminal() {
		return &again
	}
	return nil
}

func (u *run) execute(ctx context.Context, step lifecycle.Step) *lifecycle.Step {
	traceStep(ctx, step)
	switch step.Action {
	case lifecycle.Observe:
		u.tick()
		return u.observe(ctx)
	case lifecycle.CheckProbe:
		u.checkProbe(ctx)
		return nil
	case lifecycle.CheckGuard:
		u.checkGuard(ctx)
		return nil
	case lifecycle.CheckKey:
		u.facts.Key = u.keyState(ctx)
		return nil
	default:
		defer u.tick()
		return u.change(ctx, step)
	}
}

// change carries out a step that writes or sends.
func (u *run) change(ctx context.Context, step lifecycle.Step) *lifecycle.Step {
	switch step.Action {
	case lifecycle.WriteIntent:
		return u.writeIntent(ctx)
	case lifecycle.SendCreate:
		return u.sendCreate(ctx)
	case lifecycle.ResendCreate:
		return u.resendCreate(ctx)
	case lifecycle.KeepIdentity:
		return u.keepIdentity(ctx)
	case lifecycle.ForgetIntent:
		return u.forgetIntent(ctx)
	case lifecycle.BeginReplacing, lifecycle.EndReplacing:
		return u.noteReplacing(ctx, step.Action == lifecycle.BeginReplacing)
	case lifecycle.SendUpdate:
		return u.sendUpdate(ctx)
	case lifecycle.SendRotate:
		return u.sendRotate(ctx)
	case lifecycle.SendDelete:
		return u.sendDelete(ctx)
	case lifecycle.SendStep:
		return u.sendStep(ctx)
	case lifecycle.KeepOperation:
		return u.keepOperation(ctx)
	case lifecycle.PollOperation:
		return u.pollOperation(ctx)
	case lifecycle.EndOperation:
		return u.endOperation(ctx)
	case lifecycle.Release:
		return u.release(ctx)
	default:
		return stall(v1alpha1.ReasonInternalError, "unknown step "+string(step.Action))
	}
}

func stall(reason, message string) *lifecycle.Step {
	return &lifecycle.Step{Action: lifecycle.Stall, Reason: reason, Message: message}
}

func retry(reason, message string) *lifecycle.Step {
	return &lifecycle.Step{Action: lifecycle.Retry, Reason: reason, Message: message}
}
