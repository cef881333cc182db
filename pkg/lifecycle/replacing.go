package lifecycle

import (
	"github.com/restmapping/operator/api/v1alpha1"
)

// Replacing an object is deleting it, verified, and then making a new one. That it began is written down before the delete
// is sent, so that what is found absent afterwards is known to be our own doing; that nothing is outside any more is written
// down before a new create may be thought of. A kill at any point leaves a record from which the next pass goes on.

// replaces tells that what differs cannot be changed and that the policy is to make the object anew. Only an edit of the
// custom resource asks for that: a server that never gives back what it was sent, or a mapping that was changed, must not
// delete one object after another.
func (f Facts) replaces() bool {
	return f.Policy.Immutable == v1alpha1.ImmutableReplace && f.Policy.Drift != v1alpha1.DriftReport && f.Edited &&
		f.CanCreate && f.CanDelete && (f.Immutable || !f.Equal && !f.CanUpdate)
}

// replace is for an object that was found and has to go. What a read shows inside the consistency window may be the object
// as it was before the last write.
func replace(f Facts) Step {
	switch {
	case f.Dependents != DependentsNone:
		return awaitDependents(f)
	case !f.Steady:
		return Step{Action: Wait, Reason: v1alpha1.ReasonReplacing, Message: "a field that cannot be changed was changed; the object is replaced once no answer can be from before the last write", Delay: DelayConsistency}
	case !f.Replacing:
		return Step{Action: BeginReplacing}
	default:
		return Step{Action: SendDelete, Reason: v1alpha1.ReasonReplacing}
	}
}

// afterReplacingDelete verifies, as every delete is verified.
func afterReplacingDelete(f Facts) Step {
	switch f.Sent.Outcome {
	case Success, Absent, Ambiguous:
	case Conflict:
		return Step{Action: Wait, Delay: DelayServer}
	default:
		return refused(f.Sent.Outcome)
	}
	switch f.Look {
	case LookNotYet:
		return Step{Action: Observe}
	case LookFailed:
		return Step{Action: Retry, Reason: v1alpha1.ReasonObservationFailed}
	case LookAbsent:
		if f.Sent.Outcome != Ambiguous {
			return replaceGone(f)
		}
		return replaceAbsent(f)
	default:
		return Step{Action: Wait, Reason: v1alpha1.ReasonReplacing, Message: stillThere(f.Sent.Outcome), Delay: DelayServer}
	}
}

// replaceAbsent believes that the object is gone when it was seen twice.
func replaceAbsent(f Facts) Step {
	if !f.AbsentBefore {
		return Step{Action: Wait, Reason: v1alpha1.ReasonReplacing, Message: "the object was deleted to be made anew, and its absence is believed once it was seen twice", Delay: DelayShort}
	}
	return replaceGone(f)
}

// replaceGone ends the old object's time once nothing that is under way can bring it back, or take the new one along.
func replaceGone(f Facts) Step {
	switch {
	case !f.Quiet:
		return Step{Action: Wait, Reason: v1alpha1.ReasonReplacing, Delay: DelayConsistency}
	case !f.Fenced:
		return Step{Action: Wait, Reason: v1alpha1.ReasonReplacing, Message: "a request that was sent before may still take effect; the object is made anew when it no longer can", Delay: DelayFence}
	}
	if s, wait := probe(f); wait {
		return s
	}
	return Step{Action: ForgetIntent}
}

// replaced ends the pass, so that the status lets go of the old object before there is a new one.
func replaced() Step {
	return Step{Action: Wait, Reason: v1alpha1.ReasonReplacing, Message: "the object was deleted and is made anew, because a field that cannot be changed was changed", Delay: DelayNone}
}
