package mapping

import (
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine"
	"github.com/restmapping/operator/pkg/engine/fleet"
	"github.com/restmapping/operator/pkg/mapping"
)

// report gathers how far a mapping has come. Each method notes one fact; summarise makes conditions of them.
type report struct {
	m       *v1alpha1.RestMapping
	program *mapping.Program
	errors  []v1alpha1.ExpressionError
	state   *engine.State
	// plan is what the generation would change, while it waits because of that.
	plan *v1alpha1.ChangePlan
	// serves tells that the generation serves from now on.
	serves bool
	// again asks for another look after this time; zero for none.
	again time.Duration

	targetCompatible, accepted, watching metav1.Condition
	// reason and message say what keeps the mapping from being ready; empty when nothing does.
	reason, message string
	// stalled: a person must act. working: it goes on by itself.
	stalled, working bool
}

func newReport(m *v1alpha1.RestMapping) *report {
	open := func(kind string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonProgressing, Message: "not yet known"}
	}
	return &report{
		m: m, targetCompatible: open(v1alpha1.ConditionTargetCompatible), accepted: open(v1alpha1.ConditionAccepted), watching: open(v1alpha1.ConditionWatching),
	}
}

func (r *report) set(c *metav1.Condition, status metav1.ConditionStatus, reason, message string) {
	c.Status, c.Reason, c.Message = status, reason, message
}

// blocked notes what keeps the mapping from being ready, unless something before it does already.
func (r *report) blocked(reason, message string, stalled bool) {
	if r.reason == "" {
		r.reason, r.message, r.stalled, r.working = reason, message, stalled, !stalled
	}
}

func (r *report) conflict(rival string) {
	message := fmt.Sprintf("RestMapping %s is older and serves the same custom resources; delete one of the two, or give both selectors that cannot match the same object", rival)
	r.set(&r.targetCompatible, metav1.ConditionFalse, v1alpha1.ReasonTargetConflict, message)
	r.blocked(v1alpha1.ReasonTargetConflict, message, true)
}

func (r *report) incompatible(p problem) {
	r.set(&r.targetCompatible, metav1.ConditionFalse, p.reason, p.message)
	r.blocked(p.reason, p.message, p.reason != v1alpha1.ReasonCRDTerminating)
}

func (r *report) compatible(t target) {
	r.set(&r.targetCompatible, metav1.ConditionTrue, v1alpha1.ReasonCompatible, fmt.Sprintf("%s of %s/%s", t.gvr.Resource, t.gvr.Group, t.gvr.Version))
}

// compiled notes the result of compiling and tells whether there is a program.
func (r *report) compiled(program *mapping.Program, err error) bool {
	if err == nil {
		r.program = program
		r.set(&r.accepted, metav1.ConditionTrue, v1alpha1.ReasonCompiled, compiledMessage(program))
		return true
	}
	message := err.Error()
	if invalid := (*mapping.InvalidError)(nil); errors.As(err, &invalid) {
		r.errors = invalid.Errors
	}
	r.set(&r.accepted, metav1.ConditionFalse, v1alpha1.ReasonInvalidExpressions, message)
	r.blocked(v1alpha1.ReasonInvalidExpressions, message, true)
	return false
}

func compiledMessage(program *mapping.Program) string {
	if warnings := program.Warnings(); len(warnings) > 0 {
		return "compiled; " + strings.Join(warnings, "; ")
	}
	return "compiled"
}

// accept notes that the generation serves.
func (r *report) accept() { r.serves = true }

// previous notes that the generation that was accepted last goes on serving, or the same one as it was compiled before its
// CRD changed.
func (r *report) previous(state engine.State) {
	r.observe(state)
	what := fmt.Sprintf("generation %d goes on serving", state.Generation)
	if state.Generation == r.m.Generation {
		what = "it goes on serving as it was accepted before its CRD changed"
	}
	r.message = fmt.Sprintf("generation %d is not accepted, and %s: %s", r.m.Generation, what, r.message)
	r.reason = v1alpha1.ReasonServingPrevious
}

// unreferred notes that the program does not compile because a kind that it refers to is not there.
func (r *report) unreferred(ref *reference) {
	if ref != nil {
		r.accepted.Reason, r.reason = ref.problem.reason, ref.problem.reason
	}
}

// waitsFor notes that a kind which the mapping refers to has gone since it was accepted.
func (r *report) waitsFor(ref *reference) {
	if ref != nil {
		r.blocked(ref.problem.reason, fmt.Sprintf("%s: %s", ref.field, ref.problem.message), false)
	}
}

func (r *report) denied(missing []string, grant string) {
	message := fmt.Sprintf("the operator's ServiceAccount may not %s; grant %s", strings.Join(missing, ", "), grant)
	r.set(&r.watching, metav1.ConditionFalse, v1alpha1.ReasonRBACMissing, message)
	r.blocked(v1alpha1.ReasonRBACMissing, message, true)
	r.again = deniedRetry
}

func (r *report) running(state engine.State) {
	r.observe(state)
	if r.watching.Status != metav1.ConditionTrue {
		r.blocked(r.watching.Reason, r.watching.Message, false)
	}
	if state.HeldSince != "" {
		r.blocked(v1alpha1.ReasonDeletionHeld, state.HeldBecause, true)
	}
}

// going notes what a kind waits for that is being deleted.
func (r *report) going(state engine.State) {
	r.observe(state)
	if state.HeldSince != "" {
		r.message, r.stalled, r.working = r.message+"; "+state.HeldBecause, true, false
	}
}

// observe makes the condition Watching of the engine's state.
func (r *report) observe(state engine.State) {
	r.state = &state
	denied := (*fleet.WatchError)(nil)
	switch {
	case errors.As(state.WatchError, &denied) && denied.Denied():
		r.set(&r.watching, metav1.ConditionFalse, v1alpha1.ReasonRBACMissing, state.WatchError.Error())
		r.again = deniedRetry
	case state.WatchError != nil:
		r.set(&r.watching, metav1.ConditionFalse, v1alpha1.ReasonWatchFailed, state.WatchError.Error())
		r.again = deniedRetry
	case !state.Synced:
		r.set(&r.watching, metav1.ConditionUnknown, v1alpha1.ReasonSyncing, "reading the custom resources")
	default:
		r.set(&r.watching, metav1.ConditionTrue, v1alpha1.ReasonWatching, "watching its custom resources")
	}
}
