package lifecycle

import (
	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/rest"
)

// Progress is how far an operation has come that a server accepted.
type Progress string

// The stages of an operation.
const (
	// ProgressUnknown: it was not asked about in this pass.
	ProgressUnknown Progress = "Unknown"
	// ProgressRunning: the server is at work.
	ProgressRunning Progress = "Running"
	// ProgressDone: the server says that it has done what was asked.
	ProgressDone Progress = "Done"
	// ProgressFailed: the server says that it has given up.
	ProgressFailed Progress = "Failed"
	// ProgressForgotten: the server no longer knows it, or never named it. That says nothing about how it ended.
	ProgressForgotten Progress = "Forgotten"
	// ProgressUnreadable: it could not be asked about.
	ProgressUnreadable Progress = "Unreadable"
)

// Underway is an operation that the server has accepted and that the record names.
type Underway struct {
	// Operation is what was asked for.
	Operation rest.Operation
	Progress  Progress
	// Outcome is what a failure means: Failed where the mapping says nothing about it, in which case something may be
	// half made; every other says that nothing was applied.
	Outcome Outcome
	// Kept tells that the failure is written down.
	Kept bool
	// Named tells that the server's own answers gave every identifier that it assigns, and that there are some: what has
	// them is what the operation makes.
	Named bool
	// Identified tells, of a create, that every identifier is known.
	Identified bool
	// Overdue tells that it is under way for longer than the mapping allows.
	Overdue bool
}

// afterAccepted writes the operation down before it is asked about for the first time: whoever polls without that
// forgets, when it is killed, that something is being made.
func afterAccepted(f Facts) Step {
	if !f.Sent.Kept {
		return Step{Action: KeepOperation}
	}
	return awaitOperation()
}

func awaitOperation() Step {
	return Step{Action: Wait, Reason: v1alpha1.ReasonWaitingForOperation, Delay: DelayOperation}
}

// underway goes on with an operation of an earlier pass. Nothing else is sent before it has come to an end.
func underway(f Facts) Step {
	switch {
	case f.Underway.Operation == rest.Create && f.Answer == AnswerAdopt:
		return adoptAnswered(f)
	case f.Underway.Operation == rest.Create && f.Answer == AnswerAbsent:
		return Step{Action: ForgetIntent}
	case f.Underway.Progress == ProgressUnknown:
		return Step{Action: PollOperation}
	case f.Underway.Operation == rest.Create:
		return createUnderway(f)
	case f.Underway.Overdue:
		return Step{Action: EndOperation}
	}
	switch f.Underway.Progress {
	case ProgressRunning:
		return awaitOperation()
	case ProgressUnreadable:
		return Step{Action: Retry, Reason: v1alpha1.ReasonObservationFailed}
	default:
		return Step{Action: EndOperation}
	}
}

// createUnderway ends in a record that names the object, or in one that says that there is none.
func createUnderway(f Facts) Step {
	switch f.Underway.Progress {
	case ProgressDone:
		if f.Underway.Identified {
			return Step{Action: KeepIdentity}
		}
		return recoverCreate(f)
	case ProgressFailed:
		return createFailed(f)
	case ProgressForgotten:
		return recoverCreate(f)
	default:
		if f.Underway.Overdue {
			return createOverdue(f)
		}
		if f.Underway.Progress == ProgressRunning {
			return awaitOperation()
		}
		return Step{Action: Retry, Reason: v1alpha1.ReasonObservationFailed}
	}
}

// createFailed looks before it decides: a create that failed on the way may have left something. That it failed is
// written down first, because servers forget their operations, and a forgotten one says nothing.
func createFailed(f Facts) Step {
	if !f.Underway.Kept {
		return Step{Action: EndOperation}
	}
	switch f.Look {
	case LookNotYet:
		return Step{Action: Observe}
	case LookFailed:
		return Step{Action: Retry, Reason: v1alpha1.ReasonObservationFailed}
	case LookSeveral:
		return Step{Action: Stall, Reason: v1alpha1.ReasonAmbiguousMatch, Message: "more than one object matches after a create that failed on the way; remove all but one"}
	case LookFound:
		return foundAfterFailure(f)
	case LookAbsent:
		if s, wait := believeAbsence(f); wait {
			return s
		}
		return Step{Action: ForgetIntent}
	default:
		if f.Underway.Outcome == Failed {
			return unknownCreate(f)
		}
		return Step{Action: ForgetIntent}
	}
}

// foundAfterFailure: what was absent before the create, and is there after it failed, is half made or somebody else's.
func foundAfterFailure(f Facts) Step {
	switch {
	case provablyOurs(f), f.AsSent, f.Policy.Adoption == v1alpha1.AdoptByIdentity:
		return Step{Action: KeepIdentity}
	case f.Underway.Outcome != Failed:
		return Step{Action: ForgetIntent}
	default:
		return Step{Action: Stall, Reason: v1alpha1.ReasonCreateOutcomeUnknown, Message: "the server accepted the create and failed on the way, and an object with this identity is there which is not as specified: it may be half made, or somebody else's; look there, and answer with annotation " + v1alpha1.ResolveAnnotation}
	}
}

// provablyOurs tells that what was found can only be what this create makes.
func provablyOurs(f Facts) bool {
	return f.Safety == v1alpha1.SafetyMarker || f.Safety == v1alpha1.SafetyUpsert || f.Underway.Named
}

// createOverdue: the object counts, whatever the operation says; without one nothing may be made or let go as long as
// the server may still be at work.
func createOverdue(f Facts) Step {
	switch f.Look {
	case LookNotYet:
		return Step{Action: Observe}
	case LookFailed:
		return Step{Action: Retry, Reason: v1alpha1.ReasonObservationFailed}
	case LookFound:
		if provablyOurs(f) || f.AsSent {
			return Step{Action: KeepIdentity}
		}
	default:
	}
	return Step{Action: Stall, Reason: v1alpha1.ReasonOperationTimedOut, Message: "the server accepted the create, and its operation has not come to an end within operations.create.async.deadline; it is asked about again; look at the server, or answer with annotation " + v1alpha1.ResolveAnnotation}
}

// Conclude brings the facts up to date after an action has written down how an operation ended.
func Conclude(f *Facts, a Action) {
	u := f.Underway
	switch {
	case u == nil:
		return
	case a == EndOperation && u.Operation == rest.Create:
		u.Kept = true
		return
	case a == EndOperation:
		f.Sent = &Sent{Operation: u.Operation, Outcome: u.ended(), Earlier: true}
		f.Look = LookNotYet
	case a == KeepIdentity && u.Progress == ProgressDone:
		f.Sent = &Sent{Operation: rest.Create, Outcome: Success, Identified: true, Kept: true, Earlier: true}
	case a == ForgetIntent && u.Progress == ProgressFailed:
		f.Sent = &Sent{Operation: rest.Create, Outcome: u.Outcome, Forgotten: true, Earlier: true}
	}
	f.Underway = nil
}

// ended is what an update or a delete has come to. After a delete that is forgotten the look must say twice that the
// object is gone, since the server did not.
func (u *Underway) ended() Outcome {
	switch u.Progress {
	case ProgressDone:
		return Success
	case ProgressForgotten:
		if u.Operation == rest.Delete {
			return Ambiguous
		}
		return Success
	case ProgressFailed:
		return u.Outcome
	default:
		return Failed
	}
}
