package parts

import (
	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/lifecycle"
	"github.com/restmapping/operator/pkg/rest"
)

// Next gives the next step for one part. It is total and pure.
func Next(f Facts) Step {
	switch {
	case f.Sent != nil:
		return afterSend(f)
	case f.Intended != "":
		return Step{Action: Create, Key: f.Intended}
	}
	switch f.Look {
	case lifecycle.LookNotYet:
		return Step{Action: List}
	case lifecycle.LookFound:
		return plan(f)
	default:
		return Step{Action: End, Failed: true}
	}
}

// afterSend ends the pass, or looks at what its last request has left. A create that was certainly not applied leaves no trace in the record: otherwise an object that
// somebody else makes with this key would be taken for ours.
func afterSend(f Facts) Step {
	s := f.Sent
	switch {
	case s.Operation == rest.Create && !s.Outcome.Applied() && !s.Restored:
		return Step{Action: Write, Changes: []Change{{Key: s.Key, Restore: true}}}
	case s.Outcome == lifecycle.Success && s.Last:
		return Step{Action: List}
	default:
		return Step{Action: End, Again: true}
	}
}

// plan judges every key, writes down what was learned, and takes one request: an update before a create before a delete,
// so that nothing is taken away before what stands in for it is there.
func plan(f Facts) Step {
	end := Step{Action: End}
	var changes []Change
	first, requests := map[Action]string{}, 0
	for _, k := range f.Keys {
		v := judge(f, k)
		switch {
		case v.change != nil:
			changes = append(changes, *v.change)
		case v.do != "":
			requests++
			if _, found := first[v.do]; !found {
				first[v.do] = k.Name
			}
		case v.problem != nil:
			end.Problems = append(end.Problems, *v.problem)
		case v.held:
			end.Held = append(end.Held, k.Name)
		case v.wait != "":
			end.Waiting = append(end.Waiting, Waiting{Key: k.Name, Delay: v.wait})
		case v.differs:
			end.Differs = append(end.Differs, k.Name)
		}
	}
	if f.Spent && requests > 0 && len(changes) == 0 {
		return Step{Action: End, Again: true}
	}
	if f.Spent {
		first = nil
	}
	step := choose(end, changes, first)
	step.Last = requests == 1 && step.Key != ""
	return step
}

func choose(end Step, changes []Change, first map[Action]string) Step {
	if key, found := first[Update]; found && len(changes) == 0 {
		return Step{Action: Update, Key: key}
	}
	if _, updates := first[Update]; !updates {
		if key, found := first[Create]; found {
			return Step{Action: Write, Key: key, Changes: append(changes, Change{Key: key, To: Creating})}
		}
	}
	if len(changes) > 0 {
		return Step{Action: Write, Changes: changes}
	}
	if key, found := first[Delete]; found {
		return Step{Action: Delete, Key: key}
	}
	return end
}

// verdict is what one key needs; at most one field is set.
type verdict struct {
	change  *Change
	do      Action
	problem *Problem
	held    bool
	wait    lifecycle.Delay
	differs bool
}

func judge(f Facts, k Key) verdict {
	k.Wanted = k.Wanted && !f.Deleting
	switch {
	case k.State == Creating:
		return judgeCreating(f, k)
	case k.State == Made && k.Own && f.ByKey && k.Others > 0:
		return several(k)
	case k.State == Made && k.Own && k.Wanted:
		return judgeFound(f, k)
	case k.State == Made && k.Own:
		return judgeUnwanted(f, k)
	case k.State == Made && k.Wanted:
		return judgeMissing(f, k)
	case k.State == Made:
		return judgeLeft(f, k)
	case k.Wanted:
		return judgeNew(f, k)
	default:
		return judgeForeign(f, k)
	}
}

func keep(k Key, to State) verdict { return verdict{change: &Change{Key: k.Name, To: to}} }

// send sends a request unless the last one failed a short while ago.
func send(k Key, a Action) verdict {
	if k.Held {
		return verdict{held: true}
	}
	return verdict{do: a}
}

func problem(k Key, reason, message string) verdict {
	return verdict{problem: &Problem{Key: k.Name, Reason: reason, Message: message}}
}

func several(k Key) verdict {
	return problem(k, v1alpha1.ReasonAmbiguousMatch, "more than one object in the list has this key; remove all but one, or make itemKey more exact")
}

// judgeCreating is for a create whose outcome was not written down. Once it can no longer take effect, what has its key is
// ours: the list did not show it when the create was written down. Taking it earlier could take a stranger's, with our own
// still to come. What the server answered counts more than what the list shows.
func judgeCreating(f Facts, k Key) verdict {
	switch {
	case k.Refused:
		return verdict{change: &Change{Key: k.Name, Restore: true}}
	case k.Identified:
		return keep(k, Made)
	case !k.Settled:
		return verdict{wait: lifecycle.DelaySettle}
	case k.Others > 1:
		return several(k)
	case k.Others == 1:
		return keep(k, Made)
	case !k.Quiet:
		return verdict{wait: lifecycle.DelayConsistency}
	case k.Wanted:
		return create(f, k)
	default:
		return keep(k, None)
	}
}

func create(f Facts, k Key) verdict {
	if !f.CanCreate {
		return problem(k, v1alpha1.ReasonExternalMissing, "the object is not there, and the part has no create operation")
	}
	return send(k, Create)
}

// judgeNew is for a key that nothing of ours has.
func judgeNew(f Facts, k Key) verdict {
	if k.Others > 0 {
		return adopt(f, k, "an object with this key was there before; set policy.adoption to ByIdentity on the mapping to take it over, or choose another key")
	}
	return create(f, k)
}

// adopt takes over an object that we did not make, where the policy allows it.
func adopt(f Facts, k Key, refusal string) verdict {
	switch {
	case f.Policy.Adoption != v1alpha1.AdoptByIdentity:
		return problem(k, v1alpha1.ReasonNotAdoptable, refusal)
	case k.Others > 1:
		return several(k)
	default:
		return keep(k, Made)
	}
}

// judgeForeign is for an object that nobody asked for and that we did not make.
func judgeForeign(f Facts, k Key) verdict {
	switch {
	case f.Prune != v1alpha1.PruneAll || k.Others == 0 || !f.CanDelete:
		return verdict{}
	case f.Policy.Drift == v1alpha1.DriftReport && !f.Deleting:
		return verdict{differs: true}
	default:
		return send(k, Delete)
	}
}

// judgeFound is for an object of ours that is there and wanted.
func judgeFound(f Facts, k Key) verdict {
	switch {
	case k.Equal:
		return verdict{}
	case k.Held:
		return verdict{held: true}
	case k.Immutable:
		return problem(k, v1alpha1.ReasonImmutableFieldChanged, "a field that is only sent on create was changed; put it back, or give the element another key")
	case f.Policy.Drift == v1alpha1.DriftReport:
		return verdict{differs: true}
	case !f.CanUpdate:
		return problem(k, v1alpha1.ReasonImmutableFieldChanged, "it differs, and the part has no update operation; put the field back, or give the element another key")
	case k.JustWritten:
		return verdict{wait: lifecycle.DelayConsistency}
	default:
		return send(k, Update)
	}
}

// judgeUnwanted is for an object of ours that is there and that no element asks for.
func judgeUnwanted(f Facts, k Key) verdict {
	if !f.CanDelete || f.Prune == v1alpha1.PruneNone && !f.Deleting {
		return keep(k, None) // it is left in place
	}
	return send(k, Delete)
}

// judgeMissing is for an object of ours that is wanted and not in the list.
func judgeMissing(f Facts, k Key) verdict {
	switch {
	case !k.Quiet:
		return verdict{wait: lifecycle.DelayConsistency}
	case k.NeverSeen:
		return problem(k, v1alpha1.ReasonExternalMissing, "the create was accepted, and no list has shown the object since; check operations.list and its itemKey. It is not made again")
	case !k.AbsentBefore:
		return verdict{wait: lifecycle.DelayShort}
	case f.Policy.OnMissing == v1alpha1.MissingStall:
		return problem(k, v1alpha1.ReasonExternalMissing, "the object was removed outside, and policy.onMissing is Stall; remove the element, or set policy.onMissing to Recreate")
	case k.Others > 0:
		return adopt(f, k, "the object was removed outside, and another one has its key now; set policy.adoption to ByIdentity on the mapping to take it over, or remove it")
	default:
		return create(f, k)
	}
}

// judgeLeft is for an object of ours that no element asks for, and that the list does not show. It is forgotten once it
// cannot come back.
func judgeLeft(f Facts, k Key) verdict {
	switch {
	case k.NeverSeen && !k.Gone && f.CanDelete && (f.Prune != v1alpha1.PruneNone || f.Deleting):
		return send(k, Delete)
	case !k.Gone && !k.AbsentBefore:
		return verdict{wait: lifecycle.DelayShort}
	case !k.Quiet:
		return verdict{wait: lifecycle.DelayConsistency}
	case !k.Settled:
		return verdict{wait: lifecycle.DelaySettle}
	default:
		return keep(k, None)
	}
}
