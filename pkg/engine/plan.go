package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine/pass"
)

const (
	// planners is how many custom resources of one plan are worked on at once.
	planners = 4
	// maxPlanned is how many custom resources are looked at; of more, so many are taken by chance.
	maxPlanned = 1000
	// planTime bounds a plan, planSync the wait for its watches.
	planTime, planSync = 10 * time.Minute, time.Minute
	// planAgain is after how long a plan that could not see everything is made anew.
	planAgain = time.Minute
	// maxPlanWords bounds the fields and the names that a plan gives.
	maxPlanWords = 5
)

// Plan is what a mapping's new generation would change outside.
type Plan struct {
	// Done tells that it is known.
	Done bool
	// Problem is why nothing could be looked at; empty when it could.
	Problem string
	// Objects is how many custom resources there are, Sample how many of them were to be looked at.
	Objects, Sample int
	// Changes is how many of the sample would be changed, Unknown of how many that could not be found out.
	Changes, Unknown int
	// Does says what would be done to how many, Because why how many are unknown.
	Does, Because []PlanCount
	// Fields are paths of the first fields that would change, Names the first custom resources.
	Fields, Names []string
}

// PlanCount is how many custom resources share something.
type PlanCount struct {
	What  string
	Count int
}

// Of gives how many of all custom resources so many of the sample stand for.
func (p Plan) Of(some int) int {
	if p.Sample == 0 {
		return 0
	}
	return (some*p.Objects + p.Sample - 1) / p.Sample
}

// Held tells whether so much would change that a person has to say that it is meant.
func (p Plan) Held(guard *v1alpha1.Guard) bool { return guard.Holds(p.Of(p.Changes), p.Objects) }

// Unsure tells whether so much is unknown that this could be so.
func (p Plan) Unsure(guard *v1alpha1.Guard) bool {
	return p.Problem != "" || guard.Holds(p.Of(p.Changes+p.Unknown), p.Objects)
}

// planning is one plan that is being made, or was made last, of a mapping.
type planning struct {
	runner *runner // watches, and never works
	before *runner // nil when no generation serves
	cancel context.CancelFunc
	done   chan struct{} // closed when it has ended, and holds no watch any more

	mu     sync.Mutex // guards what follows
	result Plan
	ended  time.Time
}

// Plan gives what a generation would change outside that the one which serves would not, as far as that is known. The first
// question for a program begins to look, and subscribers hear when that has ended. It reads and does nothing else. What could
// not be seen is looked at again by a question a minute later.
func (e *Engine) Plan(spec Spec) (Plan, error) {
	e.mu.Lock()
	former := e.plans[spec.Name]
	e.mu.Unlock()
	var known Plan
	if former != nil && former.of(spec) {
		found, stale := former.known(e.cfg.Clock.Now())
		if !stale {
			return found, nil
		}
		known = found
	}
	return known, e.begin(spec, former, known)
}

// begin begins a plan in the place of the former one, unless somebody else has.
func (e *Engine) begin(spec Spec, former *planning, known Plan) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ctx == nil || e.stopped {
		return fmt.Errorf("mapping %s: %w", spec.Name, ErrNotRunning)
	}
	if e.plans[spec.Name] != former {
		return nil
	}
	ctx, cancel := context.WithTimeout(e.ctx, planTime)
	p := &planning{runner: newRunner(e, spec), before: e.runners[spec.Name], cancel: cancel, done: make(chan struct{}), result: known}
	e.plans[spec.Name] = p
	go p.make(ctx, former)
	return nil
}

// EndPlan forgets the plan of a mapping, and waits for one that is being made.
func (e *Engine) EndPlan(name string) {
	e.mu.Lock()
	p := e.plans[name]
	delete(e.plans, name)
	e.mu.Unlock()
	p.stop()
}

// stop ends a plan and waits for it; nil is none.
func (p *planning) stop() {
	if p != nil {
		p.cancel()
		<-p.done
	}
}

func (p *planning) of(spec Spec) bool {
	return p.runner.program() == spec.Program && p.runner.watches(spec)
}

// known gives the result so far, and whether it is time to look again at what could not be seen.
func (p *planning) known(now time.Time) (result Plan, stale bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	unseen := p.result.Unknown > 0 || p.result.Problem != ""
	return p.result, unseen && !p.ended.IsZero() && now.Sub(p.ended) >= planAgain
}

// make makes the plan. The one before has ended first, so that there is one at a time.
func (p *planning) make(ctx context.Context, former *planning) {
	defer close(p.done)
	defer p.cancel()
	former.stop()
	result := Plan{Done: true}
	if err := p.watch(ctx); err != nil {
		result.Problem = err.Error()
	} else {
		result = p.look(ctx)
	}
	if err := p.runner.stop(); err != nil { //nolint:contextcheck // it has a limit of its own, also when ctx has ended
		logr.FromContextOrDiscard(ctx).Error(err, "a plan did not let go of its watches", "mapping", p.runner.spec.Name)
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return // nobody asks any more
	}
	p.mu.Lock()
	p.result, p.ended = result, p.runner.cfg.Clock.Now()
	p.mu.Unlock()
	p.runner.changed(p.runner.spec.Name)
}

// watch has the custom resources and what they refer to read.
func (p *planning) watch(ctx context.Context) error {
	if err := p.runner.watch(); err != nil { //nolint:contextcheck // a watch may be shared, and ends when it is let go
		return err
	}
	const pause = 20 * time.Millisecond
	err := wait.PollUntilContextTimeout(ctx, pause, planSync, true, func(context.Context) (bool, error) {
		return p.runner.read() && p.runner.referents.read(), nil
	})
	if err == nil {
		return nil
	}
	if state := p.runner.state(); state.WatchError != nil {
		err = state.WatchError
	}
	return fmt.Errorf("the custom resources could not be read: %w", err)
}

// look looks at a sample of all custom resources, a few at once, and no longer than it can still make a difference.
func (p *planning) look(ctx context.Context) Plan {
	names := p.names()
	t := &tally{guard: p.runner.program().Policy().ChangeGuard, result: Plan{Objects: len(names)}, does: map[string]int{}, because: map[string]int{}}
	names = p.sample(names)
	t.result.Sample, t.left = len(names), len(names)
	var before *pass.Reconciler
	if p.before != nil {
		before = p.before.reconciler
	}
	plan := pass.NewPlan(before, p.runner.reconciler)
	next := make(chan types.NamespacedName)
	var wg sync.WaitGroup
	for range planners {
		wg.Go(func() {
			for name := range next {
				t.add(name, plan.Look(ctx, name))
			}
		})
	}
	for _, name := range names {
		if ctx.Err() != nil || t.decided() {
			break
		}
		next <- name
	}
	close(next)
	wg.Wait()
	return t.end(ctx.Err() != nil)
}

// names are all custom resources that the new generation serves, and those that only the running one does.
func (p *planning) names() []types.NamespacedName {
	found := map[types.NamespacedName]struct{}{}
	for _, obj := range p.runner.objects() {
		found[types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}] = struct{}{}
	}
	if p.before != nil {
		for _, obj := range p.before.objects() {
			if held(obj) {
				found[types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}] = struct{}{}
			}
		}
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b types.NamespacedName) int { return cmp.Compare(a.String(), b.String()) })
}

// sample takes some by chance (Fisher and Yates), so that an early end says nothing about a namespace or a name.
func (p *planning) sample(names []types.NamespacedName) []types.NamespacedName {
	n := min(len(names), maxPlanned)
	for i := range n {
		j := i + int(p.runner.cfg.Jitter()*float64(len(names)-i))
		names[i], names[j] = names[j], names[i]
	}
	return names[:n]
}

// tally counts what was found out.
type tally struct {
	guard *v1alpha1.Guard

	mu            sync.Mutex // guards what follows
	result        Plan
	left          int
	does, because map[string]int
}

func (t *tally) add(name types.NamespacedName, found pass.Planned) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.left--
	r := &t.result
	if found.Unknown != "" {
		r.Unknown++
		t.because[found.Unknown]++
	}
	if len(found.Does) == 0 {
		return
	}
	r.Changes++
	for _, what := range found.Does {
		t.does[what]++
	}
	for _, field := range found.Fields {
		if len(r.Fields) < maxPlanWords && !slices.Contains(r.Fields, field) {
			r.Fields = append(r.Fields, field)
		}
	}
	if len(r.Names) < maxPlanWords {
		r.Names = append(r.Names, name.String())
	}
}

// decided tells that what is left cannot make the guard hold any more.
func (t *tally) decided() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.result
	return !t.guard.Holds(r.Of(r.Changes+r.Unknown+t.left), r.Objects)
}

// end gives the plan. What there was no time for is unknown.
func (t *tally) end(early bool) Plan {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.result
	if early && t.left > 0 {
		r.Unknown += t.left
		t.because["no time"] += t.left
	}
	r.Done, r.Does, r.Because = true, counted(t.does), counted(t.because)
	slices.Sort(r.Fields)
	slices.Sort(r.Names)
	return r
}

// counted gives the most frequent first.
func counted(counts map[string]int) []PlanCount {
	list := make([]PlanCount, 0, len(counts))
	for what, count := range counts {
		list = append(list, PlanCount{what, count})
	}
	slices.SortFunc(list, func(a, b PlanCount) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.What, b.What)) })
	return list
}
