package pass

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/lifecycle"
	"github.com/restmapping/operator/pkg/lifecycle/parts"
	"github.com/restmapping/operator/pkg/mapping"
)

// The parts of a custom resource come after its own object: they are looked at once that is in sync, and where they go first,
// before it is deleted. A pass sends one mutating request altogether.

// resolveElements finds out what the custom resource asks for, before any request is sent.
func (u *run) resolveElements(ctx context.Context) *lifecycle.Step {
	if u.facts.Deleting {
		return nil
	}
	u.elements = map[string][]mapping.Element{}
	for _, part := range u.program.Parts() {
		elements, err := u.pass.Elements(ctx, part)
		if twice := (*mapping.DuplicateKeyError)(nil); errors.As(err, &twice) {
			return stall(v1alpha1.ReasonRuleViolated, err.Error())
		}
		if err != nil {
			return stall(v1alpha1.ReasonExpressionFailed, err.Error())
		}
		u.elements[part.Name()] = elements
	}
	return nil
}

// thenParts goes on with the parts where the object itself has come to rest.
func (u *run) thenParts(ctx context.Context, end lifecycle.Step) lifecycle.Step {
	all := u.program.Parts()
	rests := end.Action == lifecycle.Finish && (end.Reason == v1alpha1.ReasonInSync || end.Reason == v1alpha1.ReasonDriftReported)
	if len(all) == 0 || !rests || u.facts.Deleting || u.facts.Look != lifecycle.LookFound || u.ownRecord() == nil {
		return end
	}
	if u.facts.Sent != nil {
		return partsFollow(v1alpha1.ReasonProgressing)
	}
	return u.tour(ctx, all, end)
}

// partsFollow ends a pass that has sent its request; the next follows at once. The words are the same each time, so that
// the status is not written for each of many parts.
func partsFollow(reason string) lifecycle.Step {
	return lifecycle.Step{Action: lifecycle.Wait, Reason: reason, Message: "its parts are brought into line, one after the other", Delay: lifecycle.DelayNone}
}

// partsBefore deletes the parts that go first, before the object itself is deleted.
func (u *run) partsBefore(ctx context.Context, step lifecycle.Step) *lifecycle.Step {
	if step.Action != lifecycle.SendDelete || u.facts.Look != lifecycle.LookFound {
		return nil
	}
	var first []mapping.Part
	for _, part := range u.program.Parts() {
		if u.goesFirst(part) {
			first = append(first, part)
		}
	}
	end := u.tour(ctx, first, step)
	if end.Action == step.Action && u.spentOnPart {
		end = partsFollow(v1alpha1.ReasonDeleting)
	}
	if end.Action == step.Action {
		return nil
	}
	return &end
}

// goesFirst tells that a part holds objects that must be deleted before the object itself.
func (u *run) goesFirst(part mapping.Part) bool {
	if part.Deletion() != v1alpha1.PartsFirst || u.ownRecord() == nil {
		return false
	}
	return len(u.record.Parts[part.Name()]) > 0 || part.Prune() == v1alpha1.PruneAll
}

// deletesPartsFirst tells that the object must be seen before it is deleted: where it is gone, its parts went with it.
func (u *run) deletesPartsFirst() bool {
	return slices.ContainsFunc(u.program.Parts(), u.goesFirst)
}

// tour looks at parts in their order, and gives end when all of them are as they should be. One that has a problem does
// not hold up the others.
func (u *run) tour(ctx context.Context, list []mapping.Part, end lifecycle.Step) lifecycle.Step {
	r := &partsReport{run: u, end: end}
	for _, part := range list {
		if u.idle(part) {
			continue
		}
		p := u.newPart(part)
		step := p.work(ctx)
		switch {
		case u.writeErr != nil:
			return lifecycle.Step{Action: lifecycle.Retry, Reason: v1alpha1.ReasonInternalError, Message: u.writeErr.Error()}
		case step.Again && u.facts.Deleting:
			return partsFollow(v1alpha1.ReasonDeleting)
		case step.Again:
			return partsFollow(v1alpha1.ReasonProgressing)
		}
		r.add(p, step)
	}
	return r.conclude()
}

// idle tells that nothing is asked for, nothing was made, and nothing can be pruned: then the list need not be read.
func (u *run) idle(part mapping.Part) bool {
	return len(u.elements[part.Name()]) == 0 && len(u.record.Parts[part.Name()]) == 0 && part.Prune() != v1alpha1.PruneAll
}

// partsReport puts together how a look at all parts ended.
type partsReport struct {
	*run
	end lifecycle.Step
	// failed tells that a list could not be read.
	failed bool
	// stalled are keys for which a person must act, others those that are tried again, each with its words.
	stalled, others []partTrouble
	differs         []string
}

type partTrouble struct {
	reason, message string
	failure         *requestFailure
}

func (r *partsReport) add(p *partRun, step parts.Step) {
	r.failed = r.failed || step.Failed
	for _, problem := range step.Problems {
		r.stalled = append(r.stalled, partTrouble{reason: problem.Reason, message: p.place(problem.Key) + ": " + problem.Message})
	}
	for _, key := range step.Held {
		m := p.memories[key]
		r.comeBackIn(m.heldUntil.Sub(p.now))
		trouble := partTrouble{reason: m.failure.verdict.Reason, failure: &m.failure}
		if m.failure.verdict.Outcome == lifecycle.Rejected || m.failure.verdict.Outcome == lifecycle.Conflict {
			r.stalled = append(r.stalled, trouble)
		} else {
			r.others = append(r.others, trouble)
		}
	}
	for _, waiting := range step.Waiting {
		r.comeBackIn(p.delay(waiting))
		r.others = append(r.others, p.waits(waiting))
	}
	for _, key := range step.Differs {
		r.differs = append(r.differs, p.differing(key)...)
	}
}

// waits says what a key is waited for.
func (p *partRun) waits(w parts.Waiting) partTrouble {
	place := p.place(w.Key)
	switch {
	case w.Delay == lifecycle.DelaySettle:
		return partTrouble{reason: v1alpha1.ReasonWaitingForSettle, message: place + " is waited for: a create that was sent may still take effect"}
	case len(p.unlike[w.Key]) > 0:
		return partTrouble{reason: v1alpha1.ReasonUpdating, message: place + " was just written, and the list may lag behind; fields: " + strings.Join(p.unlike[w.Key], ", ")}
	default:
		return partTrouble{reason: v1alpha1.ReasonWaitingForAbsence, message: place + " is waited for: the list does not show it yet, or still"}
	}
}

// comeBackIn asks for another look before the interval.
func (u *run) comeBackIn(d time.Duration) {
	d = max(d, shortDelay)
	if u.comeBack == 0 || d < u.comeBack {
		u.comeBack = d
	}
}

func (r *partsReport) conclude() lifecycle.Step {
	m := r.mem
	switch {
	case r.failed:
		m.partFailures++
		m.failures, m.goodAt = m.partFailures, m.partsGoodAt
		r.facts.Look = lifecycle.LookFailed
		return lifecycle.Step{Action: lifecycle.Retry, Reason: v1alpha1.ReasonObservationFailed}
	case len(r.stalled) > 0:
		return r.step(lifecycle.Stall, append(r.stalled, r.others...))
	case len(r.others) > 0:
		return r.step(lifecycle.Wait, r.others)
	}
	m.partFailures, m.partsGoodAt = 0, r.Clock.Now()
	if len(r.differs) > 0 {
		r.differences, r.facts.Equal = append(r.differences, differencesAt(r.differs)...), false
		r.end.Reason = v1alpha1.ReasonDriftReported
	}
	return r.end
}

// maxPartWords bounds how many parts a message speaks of.
const maxPartWords = 5

// step ends the pass with what keeps the parts from being in sync.
func (r *partsReport) step(action lifecycle.Action, troubles []partTrouble) lifecycle.Step {
	r.mem.partFailures, r.mem.partsGoodAt = 0, r.Clock.Now()
	step := lifecycle.Step{Action: action, Reason: troubles[0].reason}
	var words []string
	for i, trouble := range troubles {
		switch {
		case i == maxPartWords:
			words = append(words, fmt.Sprintf("and %d more", len(troubles)-i))
		case i > maxPartWords:
		case trouble.failure != nil && r.failure == nil:
			r.failure = trouble.failure // its words stand in the message and in status.lastError
		case trouble.failure != nil:
			words = append(words, trouble.failure.verdict.Message)
		default:
			words = append(words, trouble.message)
		}
	}
	step.Message = strings.Join(words, "; ")
	return step
}
