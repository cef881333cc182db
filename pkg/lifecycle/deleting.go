package lifecycle

import (
	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/rest"
)

// nextDeleting takes the object down with its custom resource. The finalizer goes last, and only when nothing of
// ours is outside, or when the policy says to leave it.
func nextDeleting(f Facts) Step {
	switch {
	case !f.Finalizer:
		return Step{Action: Finish, Reason: v1alpha1.ReasonDeleting}
	case leavesObject(f), f.Record == RecordForeign:
		return Step{Action: Release}
	case f.Sent != nil && f.Sent.Operation == rest.Delete:
		return afterDelete(f)
	case f.Sent != nil && f.Sent.Again:
		return afterSend(f)
	case f.Underway != nil && f.EndpointChanged:
		return deletedElsewhere()
	case f.Underway != nil:
		return underway(f)
	}
	switch f.Record {
	case RecordForged, RecordNewer, RecordUnverified:
		s, _ := refusedRecord(f)
		return s
	case RecordNone:
		return Step{Action: Release}
	case RecordCreating:
		return recoverThenDelete(f)
	case RecordMissing:
		return deleteUnrecorded(f)
	default:
		return deleteCreated(f)
	}
}

func leavesObject(f Facts) bool {
	return f.Policy.Deletion == v1alpha1.DeletionOrphan || f.Policy.Management == v1alpha1.ManagementObserveOnly || !f.CanDelete
}

// recoverThenDelete first learns what became of a create. Once that is kept or forgotten, the record says so and the
// deletion goes on from there.
func recoverThenDelete(f Facts) Step {
	if f.EndpointChanged {
		return deletedElsewhere()
	}
	return recoverCreate(f)
}

func deletedElsewhere() Step {
	return Step{Action: Stall, Reason: v1alpha1.ReasonTargetIdentityChanged, Message: "the endpoint's base URL is not the one this object was created at; put it back so that the object can be deleted, or set policy.deletion to Orphan to leave it"}
}

// deleteUnrecorded: the record was stripped. Only what a marker proves to be ours may be deleted.
func deleteUnrecorded(f Facts) Step {
	switch f.Look {
	case LookNotYet:
		return Step{Action: Observe}
	case LookFailed:
		return Step{Action: Retry, Reason: v1alpha1.ReasonObservationFailed}
	case LookFound:
		if f.Safety == v1alpha1.SafetyMarker || f.Policy.Adoption == v1alpha1.AdoptByIdentity {
			return Step{Action: KeepIdentity}
		}
		return recordLost("an object with its identity is there")
	case LookAbsent:
		return release(f)
	default:
		return recordLost("the API offers nothing to find it by")
	}
}

func recordLost(what string) Step {
	return Step{Action: Stall, Reason: v1alpha1.ReasonRecordLost, Message: "the annotation that says which object is ours was removed, and " + what + "; restore the annotation, or set policy.deletion to Orphan to leave the object"}
}

func deleteCreated(f Facts) Step {
	switch {
	case f.EndpointChanged:
		return deletedElsewhere()
	case f.Dependents != DependentsNone:
		return awaitDependents(f)
	case f.Look == LookNotYet && lookFirst(f):
		return Step{Action: Observe}
	case f.Look == LookFailed:
		return Step{Action: Retry, Reason: v1alpha1.ReasonObservationFailed}
	case f.Look == LookSeveral:
		return Step{Action: Stall, Reason: v1alpha1.ReasonAmbiguousMatch, Message: "more than one object matches; remove all but one"}
	case f.Look == LookAbsent:
		return releaseAbsent(f)
	case f.Look == LookFound && f.Unmarked:
		return unmarked()
	case f.Look == LookFound && !f.Ours():
		return disputed(f)
	case f.Look == LookFound && f.StepDue && f.JustStepped:
		return Step{Action: Wait, Reason: v1alpha1.ReasonDeleting, Message: "a request of operations.delete.before was just sent, and reads may lag behind", Delay: DelayConsistency}
	case f.Look == LookFound && f.StepDue:
		return guarded(f, SendStep)
	default:
		return guarded(f, SendDelete)
	}
}

// guarded sends the delete, or a step towards it, unless so much is deleted at once that it looks like an accident.
func guarded(f Facts, send Action) Step {
	switch f.Guard {
	case GuardNotYet:
		return Step{Action: CheckGuard}
	case GuardHolds:
		return Step{Action: Stall, Reason: v1alpha1.ReasonDeletionHeld, Message: "nothing is deleted outside until a person has said what becomes of it"}
	case GuardFailed:
		return Step{Action: Retry, Reason: v1alpha1.ReasonDeletionHeld, Message: "it could not be found out whether the kind itself is being deleted, and nothing is deleted outside because of that"}
	default:
		return Step{Action: send, Reason: v1alpha1.ReasonDeleting}
	}
}

// awaitDependents holds a delete back, before it costs a look: many servers take what belongs to an object down with it,
// without a word to those who own it, and others refuse. Not to know who refers to it is no better than to know of one.
func awaitDependents(f Facts) Step {
	s := Step{Action: Wait, Reason: v1alpha1.ReasonWaitingForDependents, Delay: DelayEvent, Message: "other custom resources refer to it, and their objects go first"}
	if f.Dependents == DependentsUnknown {
		s.Message = "it is not known yet which custom resources refer to it"
	}
	return s
}

// lookFirst tells when a delete is not sent blindly: the create may never have been sent, or may be under way; the request
// needs the object; or an earlier look found the object gone, so that another delete would only be repeated.
func lookFirst(f Facts) bool { return !f.Confirmed || f.LookBeforeDelete || f.AbsentBefore }

// afterDelete verifies: a server that accepted a delete has not yet done it.
func afterDelete(f Facts) Step {
	switch {
	case f.Sent.Step:
		return afterStep(f)
	case f.Sent.Outcome == Accepted:
		return afterAccepted(f)
	case f.Sent.Outcome == Success, f.Sent.Outcome == Absent, f.Sent.Outcome == Ambiguous:
		return verifyDeleted(f)
	case f.Sent.Earlier:
		return afterFailedDelete(f)
	default:
		return refusedDelete(f.Sent.Outcome)
	}
}

func refusedDelete(o Outcome) Step {
	if o == Conflict {
		return Step{Action: Wait, Delay: DelayServer}
	}
	return refused(o)
}

// afterFailedDelete looks at what a delete has left that the server accepted and then failed: it may have failed because
// there is nothing to delete any more, and would fail so each time that it is sent again.
func afterFailedDelete(f Facts) Step {
	switch f.Look {
	case LookNotYet:
		return Step{Action: Observe}
	case LookFailed:
		return Step{Action: Retry, Reason: v1alpha1.ReasonObservationFailed}
	case LookAbsent:
		return releaseAbsent(f)
	default:
		return refusedDelete(f.Sent.Outcome)
	}
}

// afterStep ends the pass: the next one looks at what the request has done, and goes on from there.
func afterStep(f Facts) Step {
	switch f.Sent.Outcome {
	case Success, Absent, Ambiguous, Accepted:
		return Step{Action: Wait, Reason: v1alpha1.ReasonDeleting, Message: "a request of operations.delete.before was sent; the object is looked at again", Delay: DelayShort}
	case Conflict:
		return Step{Action: Wait, Delay: DelayServer}
	default:
		return refused(f.Sent.Outcome)
	}
}

func verifyDeleted(f Facts) Step {
	switch f.Look {
	case LookNotYet:
		return Step{Action: Observe}
	case LookFailed:
		return Step{Action: Retry, Reason: v1alpha1.ReasonObservationFailed}
	case LookAbsent:
		if f.Sent.Outcome != Ambiguous {
			// The server's own word and the look agree: that is twice.
			return release(f)
		}
		return releaseAbsent(f)
	default:
		return Step{Action: Wait, Reason: v1alpha1.ReasonDeleting, Message: stillThere(f.Sent.Outcome), Delay: DelayServer}
	}
}

func stillThere(o Outcome) string {
	switch o {
	case Absent:
		return "the delete was answered that there is no such object, and the object is still there; check path and query of operations.delete"
	case Ambiguous:
		return "the answer to the delete was lost, and the object is still there"
	default:
		return "the delete was accepted, and the object is still there"
	}
}

func releaseAbsent(f Facts) Step {
	if !f.AbsentBefore {
		return Step{Action: Wait, Reason: v1alpha1.ReasonWaitingForAbsence, Delay: DelayShort}
	}
	return release(f)
}

// release lets the custom resource go once nothing that is still under way can bring the object back.
func release(f Facts) Step {
	switch {
	case !f.Quiet:
		return Step{Action: Wait, Reason: v1alpha1.ReasonWaitingForAbsence, Delay: DelayConsistency}
	case !f.Fenced:
		return Step{Action: Wait, Reason: v1alpha1.ReasonWaitingForSettle, Delay: DelayFence}
	}
	if s, wait := probe(f); wait {
		return s
	}
	return Step{Action: Release}
}
