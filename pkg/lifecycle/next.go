package lifecycle

import (
	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/rest"
)

// Next gives the next step of a pass. It is total and pure: the same facts give the same step, and a pass that
// carries out each step and comes back with the new facts ends after a few of them.
func Next(f Facts) Step {
	if f.Deleting {
		return nextDeleting(f)
	}
	if f.Suspended {
		return Step{Action: Finish, Reason: v1alpha1.ReasonSuspended}
	}
	if s, stop := refusedRecord(f); stop && f.Policy.Management != v1alpha1.ManagementObserveOnly {
		return s
	}
	if s, stop := movedAway(f); stop {
		return s
	}
	if f.Replaced {
		return replaced()
	}
	if f.Sent != nil {
		return afterSend(f)
	}
	if f.Underway != nil {
		return underway(f)
	}
	if f.Record == RecordCreating && !f.Intended {
		return recoverCreate(f)
	}
	return converge(f)
}

// refusedRecord stops where the record is not to be believed: on its word an object of somebody else would be changed or
// deleted, and without it one of ours would be made again.
func refusedRecord(f Facts) (Step, bool) {
	switch f.Record {
	case RecordForged:
		return Step{Action: Stall, Reason: v1alpha1.ReasonRecordForged, Message: "annotation " + v1alpha1.RecordAnnotation + " was edited: its signature is not of its content, and nothing is done on its word; put it back as the operator wrote it, or set policy.deletion to Orphan to let the custom resource go without its object"}, true
	case RecordNewer:
		return Step{Action: Stall, Reason: v1alpha1.ReasonRecordNewer, Message: "annotation " + v1alpha1.RecordAnnotation + " was written by a newer operator, and this one does not know what it says, so it does nothing; run the newer operator again"}, true
	case RecordUnverified:
		return Step{Action: Stall, Reason: v1alpha1.ReasonRecordUnverified, Message: "it cannot be told whether annotation " + v1alpha1.RecordAnnotation + " is what the operator wrote, and nothing is done on its word"}, true
	default:
		return Step{}, false
	}
}

// movedAway stops when the record speaks of another server or another name: going on would make a second object.
func movedAway(f Facts) (Step, bool) {
	if f.Record != RecordCreated && f.Record != RecordCreating {
		return Step{}, false
	}
	switch {
	case f.EndpointChanged:
		return Step{Action: Stall, Reason: v1alpha1.ReasonTargetIdentityChanged, Message: "the endpoint's base URL is not the one this object was created at; put it back, or delete the custom resource and create it anew"}, true
	case f.IdentityChanged:
		return Step{Action: Stall, Reason: v1alpha1.ReasonTargetIdentityChanged, Message: "its identifiers are no longer those it was created with; put them back, or delete the custom resource and create it anew"}, true
	default:
		return Step{}, false
	}
}

// converge is the ordinary pass: look, then act on what was seen.
func converge(f Facts) Step {
	if f.Intended {
		return Step{Action: SendCreate}
	}
	switch f.Look {
	case LookNotYet:
		return Step{Action: Observe}
	case LookFailed:
		return Step{Action: Retry, Reason: v1alpha1.ReasonObservationFailed}
	case LookSeveral:
		return Step{Action: Stall, Reason: v1alpha1.ReasonAmbiguousMatch, Message: "more than one object matches; make list.match more exact, or remove the others"}
	case LookFound:
		return found(f)
	case LookAbsent, LookImpossible:
		return absent(f)
	default:
		return internalError("unknown look")
	}
}

func found(f Facts) Step {
	if f.Policy.Management == v1alpha1.ManagementObserveOnly {
		return Step{Action: Finish, Reason: v1alpha1.ReasonObserveOnly}
	}
	if f.Record != RecordCreated {
		return foundUnrecorded(f)
	}
	switch {
	case f.Unmarked:
		return unmarked()
	case !f.Ours():
		return disputed(f)
	case f.Answer == AnswerAdopt:
		return Step{Action: KeepIdentity}
	case f.replaces():
		return replace(f)
	case f.Replacing:
		return Step{Action: EndReplacing}
	case f.Immutable:
		return Step{Action: Stall, Reason: v1alpha1.ReasonImmutableFieldChanged, Message: "a field that cannot be changed after the create was changed; put it back, or delete the custom resource and create it anew"}
	case f.Equal && !f.forces() && f.Rotate:
		return Step{Action: SendRotate, Reason: v1alpha1.ReasonUpdating}
	case f.Equal && !f.forces():
		return Step{Action: Finish, Reason: v1alpha1.ReasonInSync}
	case f.Policy.Drift == v1alpha1.DriftReport:
		return Step{Action: Finish, Reason: v1alpha1.ReasonDriftReported}
	case !f.CanUpdate:
		return Step{Action: Stall, Reason: v1alpha1.ReasonImmutableFieldChanged, Message: "it differs, and the mapping has no update operation; put the field back, or delete the custom resource and create it anew"}
	case f.ineffective() && !f.Rested && !f.Forced:
		return ineffective()
	case f.JustWritten && !f.Forced:
		return Step{Action: Wait, Reason: v1alpha1.ReasonUpdating, Message: "these values were just written, and reads may lag behind", Delay: DelayConsistency}
	default:
		return Step{Action: SendUpdate, Reason: v1alpha1.ReasonUpdating}
	}
}

// disputed: what is there under the key of our create may be of ours, with another specification, or of somebody else.
func disputed(f Facts) Step {
	switch {
	case f.RecordedFirst() && !f.Fenced:
		// A person is asked, and heard, when no create of an earlier process can come any more: what is said before may be
		// untrue afterwards, and a record of None lets the custom resource go at once.
		return Step{Action: Wait, Reason: v1alpha1.ReasonWaitingForSettle, Delay: DelayFence}
	case f.Answer == AnswerAbsent:
		return Step{Action: ForgetIntent}
	}
	return Step{Action: Stall, Reason: v1alpha1.ReasonNotAdoptable, Message: "the answer to the create was lost, and an object with its key is there that is not as it was sent: it is somebody else's, or was made before the last change of the specification; look there, and answer with annotation " + v1alpha1.ResolveAnnotation}
}

// forces tells that a person wants the update sent although nothing differs, and that it may be sent.
func (f Facts) forces() bool {
	return f.Forced && f.CanUpdate && f.Policy.Drift != v1alpha1.DriftReport
}

// unmarked: the object at the recorded identity is perhaps not the one that was made.
func unmarked() Step {
	return Step{Action: Stall, Reason: v1alpha1.ReasonNotAdoptable, Message: "the object with the recorded identity does not carry this custom resource's mark: the server has given the identity to another object, or somebody removed the mark; put the mark back, or delete the custom resource with policy.deletion Orphan"}
}

// foundUnrecorded is for an object that was there before us. With a marker the match itself proves that it is ours.
func foundUnrecorded(f Facts) Step {
	if f.Safety == v1alpha1.SafetyMarker || f.Policy.Adoption == v1alpha1.AdoptByIdentity {
		return Step{Action: KeepIdentity}
	}
	s := Step{Action: Stall, Reason: v1alpha1.ReasonNotAdoptable, Message: "an object with this identity was there before; set policy.adoption to ByIdentity on the mapping to take it over, or choose another identity"}
	switch {
	case f.Record == RecordForeign:
		s.Message = "the object belongs to another custom resource, from which this one's annotations were copied or restored; set policy.adoption to ByIdentity on the mapping to take it over"
	case f.Record == RecordMissing && f.Finalizer:
		s.Reason = v1alpha1.ReasonRecordLost
		s.Message = "the annotation that says which object is ours was removed, and an object with this identity is there; restore the annotation, or set policy.adoption to ByIdentity on the mapping"
	}
	return s
}

func absent(f Facts) Step {
	if f.Policy.Management == v1alpha1.ManagementObserveOnly {
		return Step{Action: Finish, Reason: v1alpha1.ReasonExternalMissing, Message: "the object is not there, and the mapping only observes"}
	}
	if f.Record == RecordMissing && f.Finalizer && f.Safety == v1alpha1.SafetyNone && f.Answer != AnswerAbsent {
		return Step{Action: Stall, Reason: v1alpha1.ReasonRecordLost, Message: "the annotation that says which object is ours was removed, and the API offers nothing to find it by; restore the annotation"}
	}
	if f.Replacing && f.Look == LookAbsent {
		return replaceAbsent(f)
	}
	if f.Record == RecordCreated && f.knownToExist() {
		if s, wait := believeAbsence(f); wait {
			return s
		}
		if f.NeverSeen {
			return neverSeen()
		}
		if f.Policy.OnMissing == v1alpha1.MissingStall {
			return Step{Action: Stall, Reason: v1alpha1.ReasonExternalMissing, Message: "the object was removed outside, and policy.onMissing is Stall; delete the custom resource, or set policy.onMissing to Recreate"}
		}
	}
	if !f.CanCreate {
		return Step{Action: Stall, Reason: v1alpha1.ReasonExternalMissing, Message: "the object is not there, and the mapping has no create operation"}
	}
	return Step{Action: WriteIntent}
}

// neverSeen stops what would make one object after another: what cannot be read after it was made would be made again
// for ever. It is looked for on and on, since a server may take its time.
func neverSeen() Step {
	return Step{Action: Retry, Reason: v1alpha1.ReasonExternalMissing, Message: "the create was accepted, and the object was never found since; check path and query of operations.read (and operations.list). It is not made again"}
}

// believeAbsence holds a not-found back until it can be trusted: outside the consistency window, seen twice, and
// with a probe that shows that the credential still sees anything at all.
func believeAbsence(f Facts) (Step, bool) {
	switch {
	case !f.Quiet:
		return Step{Action: Wait, Reason: v1alpha1.ReasonWaitingForAbsence, Delay: DelayConsistency}, true
	case !f.AbsentBefore:
		return Step{Action: Wait, Reason: v1alpha1.ReasonWaitingForAbsence, Delay: DelayShort}, true
	}
	return probe(f)
}

func probe(f Facts) (Step, bool) {
	switch f.Probe {
	case ProbeNotYet:
		return Step{Action: CheckProbe}, true
	case ProbeFailed:
		return Step{Action: Retry, Reason: v1alpha1.ReasonProbeFailed, Message: "the object is not found, but the endpoint's probe fails too, so that may be a lost permission"}, true
	default:
		return Step{}, false
	}
}

// recoverCreate is for a create of an earlier pass whose outcome was never learned. Nothing is sent before it can no
// longer take effect: even where the server refuses a second object with the same key, a late create makes one as soon
// as the first is deleted, under an identity that nobody knows. What is found by a unique key is kept at once, and what
// an output names needs no look: it was written from the create's own answer.
func recoverCreate(f Facts) Step {
	switch {
	case f.Stored:
		return Step{Action: KeepIdentity}
	case f.Answer == AnswerAdopt:
		return adoptAnswered(f)
	case f.Answer == AnswerAbsent:
		return Step{Action: ForgetIntent}
	}
	if s, ok := resend(f); ok {
		return s
	}
	switch {
	case f.Safety == v1alpha1.SafetyNone && f.Underway == nil:
		return unknownCreate(f)
	case !f.Settled && f.Safety == v1alpha1.SafetyMarker && f.Underway == nil:
		return awaitSettle()
	}
	switch f.Look {
	case LookNotYet:
		return Step{Action: Observe}
	case LookFailed:
		return Step{Action: Retry, Reason: v1alpha1.ReasonObservationFailed}
	case LookSeveral:
		return Step{Action: Stall, Reason: v1alpha1.ReasonAmbiguousMatch, Message: "more than one object matches after a create whose outcome is unknown; remove all but one"}
	case LookFound:
		if !f.Ours() {
			return disputed(f)
		}
		return Step{Action: KeepIdentity}
	case LookAbsent:
		switch {
		case !f.Settled:
			return awaitSettle()
		case !f.AbsentBefore:
			return Step{Action: Wait, Reason: v1alpha1.ReasonWaitingForAbsence, Delay: DelayShort}
		}
		if s, wait := probe(f); wait {
			return s
		}
		return Step{Action: ForgetIntent}
	default:
		return unknownCreate(f)
	}
}

func awaitSettle() Step {
	return Step{Action: Wait, Reason: v1alpha1.ReasonWaitingForSettle, Message: "a create was sent and its answer was lost; what became of it is known once it can no longer take effect", Delay: DelaySettle}
}

// adoptAnswered verifies the object that a person named before it is kept.
func adoptAnswered(f Facts) Step {
	switch f.Look {
	case LookNotYet:
		return Step{Action: Observe}
	case LookFound:
		return Step{Action: KeepIdentity}
	case LookFailed:
		return Step{Action: Retry, Reason: v1alpha1.ReasonObservationFailed}
	default:
		return Step{Action: Stall, Reason: v1alpha1.ReasonCreateOutcomeUnknown, Message: "the object named by annotation " + v1alpha1.ResolveAnnotation + " is not there"}
	}
}

func unknownCreate(f Facts) Step {
	return Step{Action: Stall, Reason: v1alpha1.ReasonCreateOutcomeUnknown, Message: "a create was sent and its answer was lost, " + whyNotAgain(f.Key) + "and the API offers nothing to find the object by; look there, and answer with annotation " + v1alpha1.ResolveAnnotation}
}

func internalError(message string) Step {
	return Step{Action: Retry, Reason: v1alpha1.ReasonInternalError, Message: message}
}

// afterSend goes on after the pass's one mutating request.
func afterSend(f Facts) Step {
	if f.Sent.Outcome == Accepted {
		return afterAccepted(f)
	}
	switch f.Sent.Operation {
	case rest.Create:
		return afterCreate(f)
	case rest.Update:
		return afterUpdate(f)
	case rest.Rotate:
		return afterRotate(f)
	case rest.Delete:
		if f.Replacing {
			return afterReplacingDelete(f)
		}
		return internalError("a delete was sent for an object that is not being deleted")
	default:
		return internalError("a request of an unknown operation was sent")
	}
}
