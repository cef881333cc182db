package pass

import (
	"context"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/lifecycle"
	"github.com/restmapping/operator/pkg/lifecycle/parts"
	"github.com/restmapping/operator/pkg/rest"
)

// Plan finds out what another program would do to the objects outside. It makes the passes that the program would make, up
// to the step that would send or write something, and takes that step for the answer. It reads, through the endpoint and its
// limits, and does nothing else: see planEndpoint and planWriter, which let nothing else through.
type Plan struct {
	before, after *Reconciler
	lists         *reads
}

// Planned is what a program may do with one custom resource, by a difference between two programs.
type Planned struct {
	// Does says what the newer one would do and the older one would not, such as Update; empty for nothing.
	Does []string
	// Fields are the paths of the fields that an update would change.
	Fields []string
	// Unknown is the reason why it could not be found out; empty when it could.
	Unknown string
}

// What a program may do, beside Create, Update and Delete.
const (
	// PlanReplace: the object would be deleted and made anew.
	PlanReplace = "Replace"
	// PlanAdopt: an object that was there before would be taken over.
	PlanAdopt = "Adopt"
	// PlanOtherObject: its requests would be about another object than now.
	PlanOtherObject = "OtherObject"
	// PlanStop: it would stop, and wait for a person.
	PlanStop = "Stop"
	// PlanAbandon: the custom resource would no longer be served.
	PlanAbandon = "Abandon"
)

// NewPlan compares what after would do, in its own surroundings, with what a running Reconciler does; nil for none.
func NewPlan(before, after *Reconciler) *Plan {
	return &Plan{before: before, after: after, lists: newReads()}
}

// Look finds out what would become of one custom resource. Whatever goes wrong on the way is a reason of Planned.
func (p *Plan) Look(ctx context.Context, key types.NamespacedName) (planned Planned) {
	defer func() {
		if value := recover(); value != nil {
			logr.FromContextOrDiscard(ctx).Error(fmt.Errorf("panic: %v", value), "planning panicked", "object", key.String(), "stack", string(debug.Stack()))
			planned = Planned{Unknown: v1alpha1.ReasonInternalError}
		}
	}()
	items := newReads()
	after := foresee(ctx, p.after, key, p.lists, items)
	if p.before == nil {
		return compareProspects(prospect{}, after)
	}
	return compareProspects(foresee(ctx, p.before, key, p.lists, items), after)
}

// prospect is what one program would do with one custom resource.
type prospect struct {
	// gone tells that the program does not serve it.
	gone bool
	// outside tells that there may be an object outside.
	outside bool
	does    []string
	fields  []string
	unknown string
	// places are where its requests lead, by operation.
	places map[rest.Operation]string
}

// foresee makes a pass that looks and does nothing else.
func foresee(ctx context.Context, r *Reconciler, key types.NamespacedName, lists, items *reads) prospect {
	cached, ok := r.Objects.Get(key)
	if !ok {
		return prospect{gone: true}
	}
	quiet := r.Config
	quiet.Writer, quiet.Events, quiet.Claims = planWriter{cached}, noEvents{}, NewClaims()
	quiet.Endpoints, quiet.Deletions, quiet.Observe = planEndpoints{r.Endpoints, lists, items}, nil, nil
	planner := New(quiet, r.Program())
	planner.hashKey = r.hashKey
	u, err := newRun(ctx, planner, key, cached)
	if err != nil {
		return prospect{unknown: v1alpha1.ReasonInternalError}
	}
	u.plans = true
	step := u.loop(ctx)
	found := u.prospect(step)
	found.outside = u.facts.MayBeOutside() || u.facts.Record == lifecycle.RecordCreated || u.facts.Policy.Adoption == v1alpha1.AdoptByIdentity
	found.places = u.places()
	return found
}

// onlyLooks tells which steps a plan takes: they read, and change nothing.
func onlyLooks(a lifecycle.Action) bool {
	return a == lifecycle.Observe || a == lifecycle.CheckProbe || a == lifecycle.CheckGuard
}

// prospect reads out of how the pass ended what it would have done.
func (u *run) prospect(step lifecycle.Step) prospect {
	does := func(what string) prospect { return prospect{does: append(u.foreseen, what)} }
	switch step.Action {
	case lifecycle.WriteIntent, lifecycle.SendCreate, lifecycle.ForgetIntent:
		return does(string(rest.Create))
	case lifecycle.SendUpdate:
		found := does(string(rest.Update))
		found.fields = pathsOf(u.differences)
		return found
	case lifecycle.BeginReplacing:
		return does(PlanReplace)
	case lifecycle.SendDelete, lifecycle.SendStep:
		if !u.facts.Deleting {
			return does(PlanReplace)
		}
		return does(string(rest.Delete))
	case lifecycle.KeepIdentity:
		return does(PlanAdopt)
	case lifecycle.Finish, lifecycle.Release, lifecycle.SendRotate: // what is let go stays outside as it is; secrets rotate by their own time
		return prospect{does: u.foreseen}
	case lifecycle.Stall:
		return u.stopped(step)
	case lifecycle.Wait, lifecycle.Retry:
		return u.waiting(step)
	default: // an operation is under way, or the record is being put in order
		return prospect{unknown: v1alpha1.ReasonWaitingForOperation}
	}
}

// foreseenPart names what would be done with a part. A record of it is only written to create, to take over and to let go.
func foreseenPart(name string, step parts.Step) string {
	what := string(step.Action)
	if step.Action == parts.Write {
		what = PlanAdopt
		if step.Key != "" {
			what = string(rest.Create)
		}
	}
	return what + " of parts." + name
}

func (u *run) stopped(step lifecycle.Step) prospect {
	if step.Reason == v1alpha1.ReasonTargetIdentityChanged {
		return prospect{does: []string{PlanOtherObject}}
	}
	return prospect{does: append(u.foreseen, PlanStop+" ("+u.reason(step)+")")}
}

// waiting: an object that is not found would be made again, once that is believed. Anything else that is waited for says
// nothing about what comes after it.
func (u *run) waiting(step lifecycle.Step) prospect {
	missing := step.Reason == v1alpha1.ReasonWaitingForAbsence || step.Reason == v1alpha1.ReasonExternalMissing
	switch {
	case missing && u.facts.Deleting:
		return prospect{}
	case missing && u.facts.CanCreate && u.facts.Policy.OnMissing != v1alpha1.MissingStall:
		return prospect{does: append(u.foreseen, string(rest.Create))}
	case missing:
		return prospect{does: append(u.foreseen, PlanStop+" ("+v1alpha1.ReasonExternalMissing+")")}
	case len(u.foreseen) > 0:
		return prospect{does: u.foreseen}
	default:
		return prospect{unknown: u.reason(step)}
	}
}

// places are where the requests about a recorded object lead, each with the server.
func (u *run) places() map[rest.Operation]string {
	if u.pass == nil || u.endpoint == nil || !u.hasRecord() {
		return nil
	}
	found := map[rest.Operation]string{}
	for _, operation := range []rest.Operation{rest.Read, rest.Update, rest.Delete} {
		if path, err := u.pass.Path(operation); err == nil && u.program.Supports(operation) {
			found[operation] = u.endpoint.Identity() + " " + path
		}
	}
	return found
}

// compareProspects says what the newer program would do that the older one would not. Requests that lead elsewhere are the worst that
// an edit can do, and count even where nothing is to be sent now. What is not known of the older counts as nothing.
func compareProspects(before, after prospect) Planned {
	switch {
	case after.gone && before.gone:
		return Planned{}
	case after.gone && before.outside:
		return Planned{Does: []string{PlanAbandon}}
	case elsewhere(before.places, after.places):
		return Planned{Does: []string{PlanOtherObject}}
	case after.unknown != "" && after.outside:
		return Planned{Unknown: after.unknown}
	}
	p := Planned{Does: without(after.does, before.does), Fields: after.fields}
	if slices.Contains(before.does, string(rest.Update)) {
		p.Fields = without(after.fields, before.fields)
		if len(p.Fields) > 0 && slices.Contains(after.does, string(rest.Update)) && !slices.Contains(p.Does, string(rest.Update)) {
			p.Does = append(p.Does, string(rest.Update))
		}
	}
	return p
}

func elsewhere(before, after map[rest.Operation]string) bool {
	for operation := range maps.Keys(after) {
		if was, both := before[operation]; both && was != after[operation] {
			return true
		}
	}
	return false
}

func without(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(other, s) })
}
