package pass

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine/status"
	"github.com/restmapping/operator/pkg/lifecycle"
	"github.com/restmapping/operator/pkg/rest"
)

// answer is a person's word about a create whose outcome is unknown.
type answer struct {
	kind lifecycle.Answer
	id   string
}

// begin gathers the facts that are known before anything is asked.
func (u *run) begin(ctx context.Context) {
	u.openRecord(ctx)
	safety := u.program.Recovery()
	annotations := u.obj.GetAnnotations()
	u.facts = lifecycle.Facts{
		Deleting:  u.obj.GetDeletionTimestamp() != nil,
		Finalizer: slices.Contains(u.obj.GetFinalizers(), v1alpha1.Finalizer),
		Suspended: annotations[v1alpha1.SuspendAnnotation] == "true",
		Policy:    u.program.Policy(),
		Safety:    safety,
		CanCreate: u.program.Supports(rest.Create),
		CanUpdate: u.program.Supports(rest.Update),
		CanDelete: u.program.Supports(rest.Delete),
		AllChosen: !u.program.HasAssignedIdentifiers(), CreatesLater: u.program.Later(rest.Create) > 0,
		// An identifier that only a list shows may have changed since it was recorded.
		// With a marker it is the mark that says whose the object is.
		LookBeforeDelete: u.program.UsesObserved(rest.Delete) || u.program.HasDeleteSteps() || u.deletesPartsFirst() || u.identifiedByList() || safety == v1alpha1.SafetyMarker,
		Record:           u.opened.State,
		Look:             lifecycle.LookNotYet,
		Probe:            lifecycle.ProbeNotYet,
	}
	u.noteDependents()
	if u.facts.Deleting && u.Deletions != nil {
		u.facts.Guard = lifecycle.GuardNotYet
	}
	u.answer = readAnswer(annotations[v1alpha1.ResolveAnnotation], u.record)
	if u.facts.Record == lifecycle.RecordCreated && u.answer.kind == lifecycle.AnswerAdopt && !u.recorded(u.answer.id) {
		u.answer = answer{}
	}
	u.facts.Answer = u.answer.kind
	u.facts.Forced = u.forced()
	u.noteAttempt()
	u.noteRecord()
	u.beginKey()
	u.beginOperation()
	if u.facts.Record == lifecycle.RecordCreated {
		u.facts.Confirmed = u.mem.confirmed || u.record.Seen || u.recordProvesObject() ||
			u.statusNamesObject() && !u.record.Again
		u.mem.confirmed = u.facts.Confirmed
		u.facts.NeverSeen = u.neverSeen()
		u.facts.Edited = u.record.Generation != 0 && u.record.Generation != u.obj.GetGeneration()
		u.facts.Replacing = u.record.Replacing
	}
	u.tick()
}

// recorded tells that an answer names the object by one of the identifiers that stand in the record.
func (u *run) recorded(id string) bool {
	for _, value := range u.record.Identifiers {
		if value == id {
			return true
		}
	}
	return false
}

// neverSeen: the status names the object once it was seen. Where the CRD has no room for that, only this process knows.
func (u *run) neverSeen() bool {
	if u.mem.createdHere && !u.mem.lookedAt {
		return true
	}
	known := u.mem.seenEver || u.record.Seen || u.statusNamesObject()
	return !known && (u.mem.createdHere || u.program.StatusHas(status.FieldIdentifiers))
}

// identifiedByList tells that the server assigns identifiers and only the list shows them.
func (u *run) identifiedByList() bool {
	return !u.program.Supports(rest.Read) && u.program.HasAssignedIdentifiers() && u.program.CanLookUp()
}

// openRecord reads the annotation and what its signature says. One that cannot be read counts as stripped: it proves
// nothing. One whose key is not known is a reason to look whether the keys are there by now.
func (u *run) openRecord(ctx context.Context) {
	u.ring = u.Keys.Ring()
	text, made := u.obj.GetAnnotations()[v1alpha1.RecordAnnotation], u.obj.GetCreationTimestamp().Time
	u.opened = u.ring.Open(text, u.subject(), made)
	if u.opened.State == lifecycle.RecordUnverified {
		u.ring = u.Keys.Again(ctx)
		u.opened = u.ring.Open(text, u.subject(), made)
	}
	u.record = u.opened.Record
}

// subject names the custom resource to its record.
func (u *run) subject() lifecycle.Subject {
	gvk := u.obj.GroupVersionKind()
	return lifecycle.Subject{UID: string(u.obj.GetUID()), Kind: gvk.GroupKind().String(), Namespace: u.key.Namespace, Name: u.key.Name}
}

// recordProvesObject: where the identity is only recorded after the create was answered, the record itself proves that
// the object was there.
func (u *run) recordProvesObject() bool { return !u.facts.RecordedFirst() }

// statusNamesObject: the status mirrors the identity only after the object was seen. It is no proof of ownership,
// which the record alone gives; it only tells a first create from a disappearance.
func (u *run) statusNamesObject() bool {
	ids, ok := u.currentStatus()[status.FieldIdentifiers].(map[string]any)
	return ok && len(ids) > 0
}

func (u *run) currentStatus() map[string]any {
	current, _ := u.self["status"].(map[string]any)
	return current
}

// noteAttempt remembers since when this process knows of the attempt; an earlier process may have sent it just before. An
// attempt that is sent again begins anew.
func (u *run) noteAttempt() {
	attempt := sentAttempt{}
	if u.record != nil {
		attempt = sentAttempt{u.record.Attempt, u.record.Resends}
	}
	if u.mem.attemptSince.IsZero() || u.mem.attempt != attempt {
		u.mem.attempt, u.mem.attemptSince, u.mem.createAnswered = attempt, u.Clock.Now(), false
	}
}

// noteRecord remembers since when this process knows of a record that it did not write: an earlier process may have
// written outside just before, so nothing that was seen before counts.
func (u *run) noteRecord() {
	if text := u.obj.GetAnnotations()[v1alpha1.RecordAnnotation]; text != u.mem.recordText {
		u.mem.recordText, u.mem.foreignSince, u.mem.seenSince = text, u.Clock.Now(), false
	}
}

// tick brings the facts that depend on time up to date. It is called before a look and after what this pass writes or
// sends, never between a look and the decision on it: a slow look that began inside a window must be judged so.
func (u *run) tick() {
	now, t := u.Clock.Now(), u.timing()
	passed := func(at time.Time, d time.Duration) bool { return at.IsZero() || now.Sub(at) >= d }
	m := u.mem
	lifecycle.Elapsed{
		Settled:  passed(m.attemptSince, t.Settle()),
		Window:   passed(m.lastWrite, t.Window) && passed(m.foreignSince, t.Window),
		Seen:     m.seenSince,
		Led:      passed(u.LeaderSince, t.Settle()),
		First:    m.first,
		Answered: m.createAnswered,
		Closed:   !now.Before(m.openUntil),
	}.Apply(&u.facts)
	u.facts.JustWritten = m.acceptedGeneration == u.obj.GetGeneration() && m.acceptedProgram == u.program &&
		!passed(m.lastWrite, t.Window)
	u.tickOperation()
	u.facts.JustStepped = !passed(m.steppedAt, t.Window)
	u.facts.AbsentBefore = !m.absentAt.IsZero() && passed(m.absentAt, shortDelay) && !u.open(m.absentAt)
}

// open tells that the create which is being recovered could still take effect at that time: what was not there then may
// have come since. One whose operation is known to have failed is over, and looks from before that were forgotten.
func (u *run) open(at time.Time) bool {
	if under := u.facts.Underway; under != nil && under.Kept && under.Progress == lifecycle.ProgressFailed {
		return false
	}
	return u.facts.Record == lifecycle.RecordCreating && at.Before(u.mem.attemptSince.Add(u.timing().Settle()))
}

// readAnswer understands "absent@<attempt>" and "adopt=<id>@<attempt>". An answer to another attempt is none.
func readAnswer(text string, record *lifecycle.Record) answer {
	what, attempt, ok := cutLast(text, "@")
	if !ok || record == nil || record.Attempt == "" || attempt != record.Attempt {
		return answer{}
	}
	if what == "absent" {
		return answer{kind: lifecycle.AnswerAbsent}
	}
	if id, adopt := strings.CutPrefix(what, "adopt="); adopt && id != "" {
		return answer{kind: lifecycle.AnswerAdopt, id: id}
	}
	return answer{}
}

func cutLast(text, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(text, sep)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(sep):], true
}
