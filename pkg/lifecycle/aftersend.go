package lifecycle

import (
	"github.com/restmapping/operator/api/v1alpha1"
)

// afterCreate keeps the identity first of all, then verifies what was made.
func afterCreate(f Facts) Step {
	if f.Sent.Again {
		return afterResend(f)
	}
	switch o := f.Sent.Outcome; {
	case o == Success && !f.Sent.Identified:
		return afterAmbiguousCreate(f)
	case o == Success:
		return verifyCreated(f)
	case o == Conflict:
		return afterConflict(f)
	case o == Ambiguous:
		return afterAmbiguousCreate(f)
	default:
		return afterRefusedCreate(f)
	}
}

func verifyCreated(f Facts) Step {
	if !f.RecordedFirst() && !f.Sent.Kept {
		return Step{Action: KeepIdentity}
	}
	return verifyWrite(f, v1alpha1.ReasonCreating)
}

// verifyWrite looks at what a successful write has left.
func verifyWrite(f Facts, reason string) Step {
	switch f.Look {
	case LookNotYet:
		return Step{Action: Observe}
	case LookFound:
		if f.Equal && !f.Immutable {
			return Step{Action: Finish, Reason: v1alpha1.ReasonInSync}
		}
		if f.ineffective() {
			return ineffective()
		}
		return Step{Action: Retry, Reason: reason, Message: "the write was accepted, and these fields still differ"}
	case LookFailed:
		return Step{Action: Retry, Reason: v1alpha1.ReasonObservationFailed}
	case LookSeveral:
		return Step{Action: Stall, Reason: v1alpha1.ReasonAmbiguousMatch, Message: "more than one object matches; make list.match more exact, or remove the others"}
	default:
		return Step{Action: Wait, Reason: reason, Delay: DelayConsistency}
	}
}

// afterAmbiguousCreate: with a key that the server keeps unique it is enough to look again later; otherwise the record
// stays as it is and the next pass recovers.
func afterAmbiguousCreate(f Facts) Step {
	switch {
	case f.Key != KeyNone:
		return Step{Action: Retry, Reason: v1alpha1.ReasonCreating, Message: "the answer to the create was lost; it is sent again with its idempotency key"}
	case f.Safety == v1alpha1.SafetyNone:
		return unknownCreate(f)
	case f.Safety == v1alpha1.SafetyMarker:
		return Step{Action: Wait, Reason: v1alpha1.ReasonWaitingForSettle, Delay: DelaySettle}
	default:
		return Step{Action: Retry, Reason: v1alpha1.ReasonCreating}
	}
}

// afterConflict: the server says that the key is taken. Absence was observed just before, so an object that is as
// sent is the one of an attempt whose answer was lost; any other is somebody else's, or for a person to decide.
func afterConflict(f Facts) Step {
	if f.Safety != v1alpha1.SafetyUniqueKey && f.Safety != v1alpha1.SafetyUpsert {
		return afterRefusedCreate(f)
	}
	if f.Sent.Kept {
		return verifyWrite(f, v1alpha1.ReasonCreating)
	}
	switch f.Look {
	case LookNotYet:
		return Step{Action: Observe}
	case LookFound:
		return takenBy(f)
	case LookFailed:
		// The key is taken and nothing of ours was outside: a record that names it would make it ours at the next look.
		return forgetThen(f, Step{Action: Retry, Reason: v1alpha1.ReasonObservationFailed})
	case LookSeveral:
		return Step{Action: Stall, Reason: v1alpha1.ReasonAmbiguousMatch, Message: "the server says that the key is taken, and more than one object matches; make list.match more exact"}
	default:
		return forgetThen(f, Step{Action: Retry, Reason: v1alpha1.ReasonConflict, Message: "the server says that an object with this key exists, and it cannot be seen: it may be hidden from this credential, or deleted and not yet gone"})
	}
}

// takenBy decides whose the object is that has the key. An upsert that came to nothing is no claim of anybody.
func takenBy(f Facts) Step {
	switch {
	case f.AsSent, f.Policy.Adoption == v1alpha1.AdoptByIdentity, f.Unresolved && f.Safety == v1alpha1.SafetyUpsert:
		return Step{Action: KeepIdentity}
	case f.Unresolved:
		return disputed(f)
	default:
		return notOurs(f)
	}
}

func notOurs(f Facts) Step {
	return forgetThen(f, Step{Action: Stall, Reason: v1alpha1.ReasonNotAdoptable, Message: "an object with this identity was there before; set policy.adoption to ByIdentity on the mapping to take it over, or choose another identity"})
}

// afterRefusedCreate: nothing was applied, and the record must say so before anything else is said.
func afterRefusedCreate(f Facts) Step {
	return forgetThen(f, refused(f.Sent.Outcome))
}

// forgetThen writes down that nothing of ours is outside, unless an earlier attempt may have made something.
func forgetThen(f Facts, then Step) Step {
	if !f.Sent.Forgotten && !f.Unresolved {
		return Step{Action: ForgetIntent}
	}
	return then
}

// refused is how a pass ends after a request that was certainly not applied. The engine fills in the verdict's
// own reason and message.
func refused(o Outcome) Step {
	switch o {
	case Throttled, Waiting:
		return Step{Action: Wait, Delay: DelayServer}
	case Rejected, Conflict:
		return Step{Action: Stall}
	default:
		return Step{Action: Retry}
	}
}

func afterUpdate(f Facts) Step {
	switch f.Sent.Outcome {
	case Success:
		return verifyWrite(f, v1alpha1.ReasonUpdating)
	case Ambiguous:
		return Step{Action: Wait, Reason: v1alpha1.ReasonUpdating, Delay: DelayConsistency}
	case Conflict, Absent:
		return Step{Action: Retry}
	default:
		return refused(f.Sent.Outcome)
	}
}

// afterRotate: a rotation whose answer was lost may have been done, and its value is gone. Then another one is sent, later:
// only the value of the last counts. The value of one that succeeded was stored before this is asked.
func afterRotate(f Facts) Step {
	switch f.Sent.Outcome {
	case Success:
		return verifyWrite(f, v1alpha1.ReasonUpdating)
	case Ambiguous, Absent, Conflict:
		return Step{Action: Retry}
	default:
		return refused(f.Sent.Outcome)
	}
}
