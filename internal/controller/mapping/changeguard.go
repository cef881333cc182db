package mapping

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine"
)

// planRetry is how often a generation that waits is asked about again, where not enough could be seen.
const planRetry = time.Minute

// passesGuard tells whether a new generation may begin to serve. One that would change many objects outside waits for a
// person, and one of which that is not known waits until it is; the generation before goes on serving.
func (r *Reconciler) passesGuard(ctx context.Context, c candidate, rep *report) (bool, error) {
	m, before := c.m, former(c.m)
	state, running := r.Engine.State(m.Name)
	switch {
	case needsNoPlan(m, before):
		return true, nil
	case running && !state.Synced:
		rep.planning(state)
		return false, nil
	case running && before != nil && tooFew(m, before, state.Objects):
		return true, nil
	}
	spec, err := r.specOf(ctx, c)
	if err != nil {
		return false, err
	}
	plan, err := r.Engine.Plan(spec)
	if err != nil {
		return false, fmt.Errorf("plan generation %d of RestMapping %s: %w", m.Generation, m.Name, err)
	}
	return rep.judge(state, plan), nil
}

// needsNoPlan tells that the generation is not a new one, that a person wants it as it is, or that it sends what the one
// before it sends.
func needsNoPlan(m, before *v1alpha1.RestMapping) bool {
	accepted := m.Status.AcceptedGeneration
	return accepted == 0 || accepted == m.Generation || m.Spec.Policy.ChangeGuard.IsOff() ||
		m.Annotations[v1alpha1.AcknowledgeChangeAnnotation] == strconv.FormatInt(m.Generation, 10) ||
		before != nil && sendsTheSame(before.Spec, m.Spec)
}

// tooFew tells that there are so few objects that no change of them is too much.
func tooFew(m, before *v1alpha1.RestMapping, objects int) bool {
	return equality.Semantic.DeepEqual(before.Spec.Target, m.Spec.Target) && !m.Spec.Policy.ChangeGuard.Holds(objects, objects)
}

// judge notes what a plan says, and tells whether the generation may serve.
func (r *report) judge(state engine.State, plan engine.Plan) bool {
	guard := r.m.Spec.Policy.ChangeGuard
	switch {
	case !plan.Done:
		r.planning(state)
	case plan.Held(guard):
		r.changeHeld(state, plan)
	case plan.Unsure(guard):
		r.changeUnknown(state, plan)
	default:
		return true
	}
	return false
}

// sendsTheSame tells that two specifications differ at most in what is shown and when it is looked at.
func sendsTheSame(before, after v1alpha1.RestMappingSpec) bool {
	for _, s := range []*v1alpha1.RestMappingSpec{&before, &after} {
		s.Status, s.Ready, s.Rules, s.Sync = nil, nil, nil, v1alpha1.Sync{}
		s.Policy.ChangeGuard, s.Policy.DeleteGuard = nil, nil
	}
	return equality.Semantic.DeepEqual(before, after)
}

// planning notes that it is being found out what the new generation would change.
func (r *report) planning(state engine.State) {
	r.waitsBeside(state, v1alpha1.ReasonPlanPending, "it is being found out what generation "+r.number()+" would change outside", false)
}

// changeHeld notes that a person has to say that so much is meant.
func (r *report) changeHeld(state engine.State, plan engine.Plan) {
	r.plan = changePlan(r.m.Generation, plan)
	message := fmt.Sprintf("generation %s would change %s", r.number(), inWords(plan))
	if plan.Unknown > 0 {
		message += fmt.Sprintf("; %d could not be looked at (%s)", plan.Of(plan.Unknown), counts(plan.Because))
	}
	r.waitsBeside(state, v1alpha1.ReasonChangeHeld, message, true)
}

// changeUnknown notes that it cannot be found out now whether a person has to be asked.
func (r *report) changeUnknown(state engine.State, plan engine.Plan) {
	r.plan = changePlan(r.m.Generation, plan)
	message := "it cannot be found out what generation " + r.number() + " would change outside: " + plan.Problem
	if plan.Problem == "" {
		message = fmt.Sprintf("what generation %s would change at %d of %d objects outside cannot be found out now (%s)",
			r.number(), plan.Of(plan.Unknown), plan.Objects, counts(plan.Because))
		if plan.Changes > 0 {
			message += "; it would change " + inWords(plan)
		}
	}
	r.waitsBeside(state, v1alpha1.ReasonChangeUnknown, message+"; it is tried again", false)
	r.again = planRetry
}

// waitsBeside notes why the newest generation waits, and that the one before it serves.
func (r *report) waitsBeside(state engine.State, reason, message string, stalled bool) {
	if state.Generation > 0 {
		r.observe(state)
		message += fmt.Sprintf("; generation %d goes on serving", state.Generation)
	}
	if reason != v1alpha1.ReasonPlanPending {
		message += fmt.Sprintf(". To let generation %s serve as it is: kubectl annotate restmapping %s %s=%s --overwrite",
			r.number(), r.m.Name, v1alpha1.AcknowledgeChangeAnnotation, r.number())
	}
	r.program = nil // what it says of itself is not in force
	r.set(&r.accepted, metav1.ConditionFalse, reason, message)
	r.reason = "" // whatever else there is to say comes after this
	r.blocked(reason, message, stalled)
}

func (r *report) number() string { return strconv.FormatInt(r.m.Generation, 10) }

// inWords says what would be changed: how many, how, in which fields, and which first.
func inWords(plan engine.Plan) string {
	about := ""
	if plan.Sample < plan.Objects {
		about = "about "
	}
	text := fmt.Sprintf("%s%d of %d objects outside (%s", about, plan.Of(plan.Changes), plan.Objects, counts(plan.Does))
	if about != "" {
		text += fmt.Sprintf("; %d were looked at", plan.Sample)
	}
	if len(plan.Fields) > 0 {
		text += "; fields " + strings.Join(plan.Fields, ", ")
	}
	return text + "; among them " + strings.Join(plan.Names, ", ") + ")"
}

func counts(list []engine.PlanCount) string {
	words := make([]string, len(list))
	for i, one := range list {
		words[i] = fmt.Sprintf("%d %s", one.Count, one.What)
	}
	return strings.Join(words, ", ")
}

// changePlan is the plan as the status has it, for programs.
func changePlan(generation int64, plan engine.Plan) *v1alpha1.ChangePlan {
	out := &v1alpha1.ChangePlan{
		Generation: generation, Objects: count32(plan.Objects), Changes: count32(plan.Of(plan.Changes)), Unknown: count32(plan.Of(plan.Unknown)),
		Fields: plan.Fields, Names: plan.Names,
	}
	for _, one := range plan.Does {
		out.Operations = append(out.Operations, one.What)
	}
	return out
}
