package pass

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine/status"
	"github.com/restmapping/operator/pkg/lifecycle"
	"github.com/restmapping/operator/pkg/mapping"
)

// readiness is what the mapping's ready rule says of the object as observed.
type readiness struct {
	known, ok bool
	// stalled tells that a person must act before it can be usable.
	stalled bool
	reason  string
	message string
	// projections are what the mapping shows of the object.
	projections []status.Projection
}

// readiness evaluates ready rule and projections. An expression that fails makes it not ready, and says so.
func (u *run) readiness(ctx context.Context) readiness {
	if u.facts.Look != lifecycle.LookFound || u.pass == nil || u.observed == nil {
		return readiness{}
	}
	r := readiness{known: true, reason: v1alpha1.ReasonAvailable}
	projections, err := u.pass.Status(ctx, u.observed)
	if err == nil {
		r.projections = u.projected(projections)
		r.ok, r.message, err = u.pass.Ready(ctx, u.observed)
	}
	switch {
	case err != nil:
		r.ok, r.reason, r.message = false, v1alpha1.ReasonExpressionFailed, err.Error()
	case !r.ok:
		r.reason = v1alpha1.ReasonExternalNotReady
	default:
		r.message = ""
	}
	return r
}

// projected gives each place that the mapping fills with its value, nil where it has none now.
func (u *run) projected(values map[string]any) []status.Projection {
	paths := u.program.StatusPaths()
	out := make([]status.Projection, 0, len(paths))
	for _, path := range paths {
		value, _, err := unstructured.NestedFieldNoCopy(values, path...)
		if err != nil {
			value = nil
		}
		out = append(out, status.Projection{Path: path, Value: u.scrubbed(value)})
	}
	return out
}

// state says in conditions how the pass ended.
func (u *run) state(step lifecycle.Step, ready readiness) status.State {
	s := status.State{
		Identifiers: u.mirroredIdentifiers(), LastError: u.lastError(), Projections: ready.projections,
		Drift: pathsOf(u.drifted), KeepDrift: len(u.drifted) == 0 && u.settledGeneration(),
		Handled: u.obj.GetAnnotations()[v1alpha1.ReconcileAnnotation],
	}
	switch step.Action {
	case lifecycle.Finish:
		u.finished(&s, step, ready)
	case lifecycle.Stall:
		c := u.condition(metav1.ConditionFalse, step)
		s.Ready, s.Synced, s.Observed = &c, &c, true
		s.Stalled = &status.Condition{Status: metav1.ConditionTrue, Reason: c.Reason, Message: c.Message}
	default:
		u.unfinished(&s, step)
	}
	return s
}

// finished is for a pass that has come to its end: nothing is left to do before the next look.
func (u *run) finished(s *status.State, step lifecycle.Step, ready readiness) {
	switch step.Reason {
	case v1alpha1.ReasonSuspended:
		u.suspended(s)
		return
	case v1alpha1.ReasonExternalMissing:
		c := u.condition(metav1.ConditionFalse, step)
		s.Ready, s.Synced, s.Observed = &c, &c, true
		return
	}
	s.Observed = true
	s.Ready = &status.Condition{Status: boolStatus(ready.ok), Reason: ready.reason, Message: ready.message}
	if ready.stalled {
		s.Stalled = &status.Condition{Status: metav1.ConditionTrue, Reason: ready.reason, Message: ready.message}
	}
	s.Synced = &status.Condition{Status: boolStatus(u.facts.Equal), Reason: step.Reason}
	if !u.facts.Equal {
		s.Synced.Reason = v1alpha1.ReasonDriftReported
		s.Synced.Message = "these fields differ from the specification: " + u.described(u.differences)
	}
}

// suspended leaves the conditions as they were, and says why they stay. Of a specification that was changed since,
// nothing is known: it was not applied, and must not read as if it were.
func (u *run) suspended(s *status.State) {
	s.Identifiers, s.KeepDrift = u.statusIdentifiers(), true
	s.Ready = &status.Condition{
		Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonSuspended,
		Message: "annotation " + v1alpha1.SuspendAnnotation + ` is "true"; remove it to go on`,
	}
	if was := status.Find(u.currentStatus(), v1alpha1.ConditionReady); was != nil && u.settledGeneration() {
		if st, ok := was["status"].(string); ok {
			s.Ready.Status = metav1.ConditionStatus(st)
		}
	}
}

// unfinished is for a pass that will be taken up again by itself. A custom resource that was in sync is not reported
// for a look or two that fail: its server is known to be slow before its objects are known to be wrong.
func (u *run) unfinished(s *status.State, step lifecycle.Step) {
	c := u.condition(metav1.ConditionFalse, step)
	s.Reconciling = &status.Condition{Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonProgressing, Message: c.Message}
	switch {
	case step.Action == lifecycle.Retry:
		s.Reconciling.Reason = v1alpha1.ReasonProgressingWithRetry
	case step.Reason == v1alpha1.ReasonWaitingForOperation:
		s.Reconciling.Reason = step.Reason
	}
	if !u.wasReady() || !u.blind(step) {
		s.Ready, s.Synced = &c, &c
		if u.blind(step) || step.Action == lifecycle.Wait {
			s.Ready, s.Synced = unknown(c), unknown(c)
		}
		return
	}
	if u.mem.failures < quietFailures {
		s.Reconciling, s.LastError = nil, u.keptError()
		return
	}
	s.Synced = unknown(c)
	if u.stale() {
		s.Ready = unknown(c)
	}
}

func unknown(c status.Condition) *status.Condition {
	c.Status = metav1.ConditionUnknown
	return &c
}

// blind: the pass ended because nothing could be seen, not because something was seen to be wrong.
func (u *run) blind(step lifecycle.Step) bool {
	return step.Action == lifecycle.Retry && (u.endpoint == nil || u.facts.Look == lifecycle.LookFailed || u.facts.Probe == lifecycle.ProbeFailed || u.pass == nil)
}

func (u *run) stale() bool {
	return u.mem.goodAt.IsZero() || u.Clock.Now().Sub(u.mem.goodAt) > staleIntervals*max(u.program.Interval(), u.MinInterval)
}

func (u *run) wasReady() bool {
	return isTrue(u.currentStatus(), v1alpha1.ConditionReady) && u.settledGeneration() && !u.facts.Deleting
}

// settledGeneration: this generation was dealt with by an earlier pass.
func (u *run) settledGeneration() bool {
	observed, ok := u.currentStatus()["observedGeneration"].(int64)
	return ok && observed == u.obj.GetGeneration()
}

// condition puts together why the pass ended: the step's own reason and words, and what the last request has shown.
func (u *run) condition(st metav1.ConditionStatus, step lifecycle.Step) status.Condition {
	return status.Condition{Status: st, Reason: u.reason(step), Message: u.message(step)}
}

// reason prefers what the failed request says of itself, where the step is only its consequence.
func (u *run) reason(step lifecycle.Step) string {
	consequence := step.Reason == "" || step.Reason == v1alpha1.ReasonObservationFailed
	if consequence && u.failure != nil && u.failure.verdict.Reason != "" {
		return u.failure.verdict.Reason
	}
	if step.Reason == "" {
		return v1alpha1.ReasonProgressing
	}
	return step.Reason
}

func (u *run) message(step lifecycle.Step) string {
	var parts []string
	if step.Message != "" {
		parts = append(parts, step.Message)
	}
	if step.Reason == v1alpha1.ReasonWaitingForDependents {
		parts = append(parts, u.dependents.Message)
	}
	if step.Reason == v1alpha1.ReasonTargetIdentityChanged && u.renamed != "" {
		parts = append(parts, "identifiers: "+u.redact(u.renamed))
	}
	if step.Reason == v1alpha1.ReasonDeletionHeld && u.held != "" {
		parts = append(parts, u.held)
	}
	if u.failure != nil && step.Action != lifecycle.Finish {
		parts = append(parts, u.failure.verdict.Message)
	}
	if fields := u.named(step); len(fields) > 0 && u.facts.Look == lifecycle.LookFound {
		parts = append(parts, "fields: "+u.described(fields))
	}
	asks := step.Reason == v1alpha1.ReasonCreateOutcomeUnknown || step.Reason == v1alpha1.ReasonOperationTimedOut && step.Action == lifecycle.Stall
	if u.record != nil && (asks || u.disputed(step)) {
		parts = append(parts, u.howToAnswer())
	}
	if step.Reason == v1alpha1.ReasonRecordUnverified {
		parts = append(parts, u.howToVerify())
	}
	if len(parts) == 0 {
		return meanwhile(step.Reason)
	}
	return strings.Join(parts, "; ")
}

// named are the fields that the step is about.
func (u *run) named(step lifecycle.Step) []mapping.Difference {
	if step.Reason == v1alpha1.ReasonImmutableFieldChanged && len(u.immutable) > 0 {
		return u.immutable
	}
	return u.differences
}

// meanwhile says what is waited for, where neither the step nor a request has more to tell.
func meanwhile(reason string) string {
	switch reason {
	case v1alpha1.ReasonWaitingForAbsence:
		return "the object is not found; that is believed once it was seen twice, and no answer can be from before a write"
	case v1alpha1.ReasonWaitingForSettle:
		return "a request that was sent before may still take effect; nothing is done until it no longer can"
	case v1alpha1.ReasonWaitingForOperation:
		return "the server has accepted the request and is at work on it; it is asked how far it has come"
	case v1alpha1.ReasonCreating:
		return "the create was accepted, and the object is not seen yet"
	case v1alpha1.ReasonUpdating:
		return "the update was sent, and the object is not seen as specified yet"
	case v1alpha1.ReasonReplacing:
		return "the object is deleted to be made anew, because a field that cannot be changed was changed"
	case v1alpha1.ReasonDeleting:
		return "the delete was sent, and the object is not seen to be gone yet"
	default:
		return ""
	}
}

// disputed: what was found under the key of a create is perhaps not what that create has made.
func (u *run) disputed(step lifecycle.Step) bool {
	return step.Reason == v1alpha1.ReasonNotAdoptable && u.hasRecord() && u.facts.Look == lifecycle.LookFound && !u.facts.Ours()
}

// howToAnswer gives the command for each answer, with the attempt that it is for.
func (u *run) howToAnswer() string {
	return "create of " + u.record.At + ", attempt " + u.record.Attempt + ": " + v1alpha1.ResolveAnnotation + "=absent@" + u.record.Attempt +
		" when it is not there, or is somebody else's, " + v1alpha1.ResolveAnnotation + "=adopt=<id>@" + u.record.Attempt + " when it is"
}

// howToVerify names the key that is not there, and what gives it back or does without it.
func (u *run) howToVerify() string {
	place, problem := u.Keys.Place()
	namespace, name, _ := strings.Cut(place, "/")
	switch {
	case problem != nil && u.opened.Key == "":
		return fmt.Sprintf("the keys of this installation are in Secret %s: %v", place, problem)
	case problem != nil:
		return fmt.Sprintf("it was signed with key %s, and the keys of this installation are in Secret %s: %v; restore that Secret from a backup, "+
			"or, when it is lost for good, make one that says which records are to be believed: kubectl create secret generic %s -n %s --from-literal=key=\"$(openssl rand -hex 32)\" --from-literal=accept=%s",
			u.opened.Key, place, problem, name, namespace, u.opened.Key)
	case u.opened.Key == lifecycle.AcceptUnsigned:
		return fmt.Sprintf("it was not signed; put it back as the operator wrote it, or, to believe unsigned records of custom resources that are older than Secret %s, add the entry accept=%s there", place, u.opened.Key)
	default:
		return fmt.Sprintf("it was signed with key %s, which Secret %s does not hold; add that key there as one more entry, or, when it is lost for good, add its name to the entry accept", u.opened.Key, place)
	}
}

// lastError is what the last request has shown; where this pass sent none, it stays as it is.
func (u *run) lastError() *status.LastError {
	asked := u.facts.Sent != nil || u.facts.Look != lifecycle.LookNotYet && u.facts.Look != lifecycle.LookImpossible
	switch {
	case u.failure == nil && asked:
		return nil
	case u.failure == nil:
		return u.keptError()
	}
	return &status.LastError{Operation: string(u.failure.operation), HTTPStatus: u.failure.status, Message: u.failure.verdict.Message}
}

// keptError leaves the last error as it is in the status.
func (u *run) keptError() *status.LastError {
	was, ok := u.currentStatus()[status.FieldLastError].(map[string]any)
	if !ok {
		return nil
	}
	e := &status.LastError{}
	e.Operation, _ = was["operation"].(string)
	e.Message, _ = was["message"].(string)
	if code, ok := was["httpStatus"].(int64); ok {
		e.HTTPStatus = int(code)
	}
	return e
}

// mirroredIdentifiers are shown once the object was seen. They are a mirror: the record is the truth.
func (u *run) mirroredIdentifiers() map[string]string {
	switch {
	case u.facts.Record == lifecycle.RecordForged, u.facts.Record == lifecycle.RecordNewer, u.facts.Record == lifecycle.RecordUnverified, u.facts.Record == lifecycle.RecordMissing && u.facts.Finalizer:
		return u.statusIdentifiers() // the record may come back, and then the status tells that the object was there
	case u.facts.Record == lifecycle.RecordCreated && u.facts.Confirmed && u.record != nil && (!u.facts.NeverSeen || u.statusNamesObject()):
		return u.record.Identifiers
	case u.facts.Record == lifecycle.RecordCreated:
		return nil
	case u.facts.Policy.Management == v1alpha1.ManagementObserveOnly && u.facts.Look == lifecycle.LookFound:
		return u.ids
	default:
		return nil
	}
}

func (u *run) statusIdentifiers() map[string]string {
	was, _ := u.currentStatus()[status.FieldIdentifiers].(map[string]any)
	ids := make(map[string]string, len(was))
	for name, value := range was {
		if text, ok := value.(string); ok {
			ids[name] = text
		}
	}
	return ids
}

func boolStatus(ok bool) metav1.ConditionStatus {
	if ok {
		return metav1.ConditionTrue
	}
	return metav1.ConditionFalse
}
