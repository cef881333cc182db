package engine

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine/fleet"
)

const (
	// deletionWindow is how close together deletions count as one event.
	deletionWindow = 5 * time.Minute
	// maxGone bounds the deletions that are remembered after they are done. More would hold in any case.
	maxGone = 10_000
)

// deletions holds deletions outside back that look like an accident: of a kind that is itself being deleted, and of many
// custom resources at once. What it holds stays held until a person has acknowledged exactly that, also in another process.
// It implements pass.Deletions.
type deletions struct {
	mapping string
	kind    schema.GroupResource
	clock   clock.PassiveClock
	// objects are the custom resources of the mapping, guard its own guard.
	objects func() []*fleet.Object
	guard   func() *v1alpha1.Guard
	// going asks the API server whether the kind is being deleted; nil for never.
	going func(ctx context.Context) (bool, error)
	// announce tells that it began to hold.
	announce func()

	mu sync.Mutex // guards the fields below
	// since is when it began to hold, why what for; empty while it does not.
	since, why string
	// free are the custom resources whose deletion was acknowledged.
	free map[types.UID]struct{}
	// done are the times of deletions that are over, oldest first.
	done []time.Time
}

func newDeletions(r *runner, spec Spec) *deletions {
	d := &deletions{
		mapping: spec.Name, kind: spec.GVR.GroupResource(), clock: r.cfg.Clock, objects: r.objects,
		guard: func() *v1alpha1.Guard { return r.program().Policy().DeleteGuard }, announce: r.announce,
	}
	if ask := r.cfg.Going; ask != nil {
		d.going = func(ctx context.Context) (bool, error) { return ask(ctx, spec.GVR) }
	}
	d.restore(spec)
	return d
}

// restore goes on holding what an earlier process held, unless a person has acknowledged it meanwhile.
func (d *deletions) restore(spec Spec) {
	if spec.HeldSince != "" && spec.HeldSince != spec.Acknowledged {
		d.since, d.why = spec.HeldSince, d.explain(spec.HeldSince, "deletions were held back before the operator was started again")
	}
}

// Held implements pass.Deletions.
func (d *deletions) Held(ctx context.Context, obj *fleet.Object) (string, error) {
	if why, known := d.known(obj.GetUID()); known {
		return why, nil
	}
	if d.going != nil {
		going, err := d.going(ctx)
		if err != nil {
			return "", err
		}
		if going {
			return d.hold(fmt.Sprintf("CustomResourceDefinition %s is being deleted, and nothing is deleted outside because of that", d.kind)), nil
		}
	}
	some, all := d.count(obj)
	if d.guard().Holds(some, all) {
		return d.hold(fmt.Sprintf("%d of %d custom resources were deleted within %s, which looks like an accident", some, all, deletionWindow)), nil
	}
	return "", nil
}

// known gives what was decided before: held, or acknowledged.
func (d *deletions) known(uid types.UID) (why string, known bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, free := d.free[uid]; free {
		return "", true
	}
	return d.why, d.since != ""
}

// hold begins to hold, and tells the mapping. A time has a resolution of seconds; it is still no other's: a new hold begins
// only after the one before was acknowledged by a person.
func (d *deletions) hold(what string) string {
	d.mu.Lock()
	begins := d.since == ""
	if begins {
		d.since = d.clock.Now().UTC().Format(time.RFC3339)
		d.why = d.explain(d.since, what)
	}
	why := d.why
	d.mu.Unlock()
	if begins {
		d.announce()
	}
	return why
}

func (d *deletions) explain(since, what string) string {
	return fmt.Sprintf("%s; to delete the objects outside: kubectl annotate restmapping %s %s=%s --overwrite; to leave them: set policy.deletion to Orphan on the mapping",
		what, d.mapping, v1alpha1.AcknowledgeDeletionsAnnotation, since)
}

// count gives how many custom resources were deleted about when this one was, and how many there were then.
func (d *deletions) count(obj *fleet.Object) (some, all int) {
	at := d.clock.Now()
	if stamp := obj.GetDeletionTimestamp(); stamp != nil {
		at = stamp.Time
	}
	near := func(t time.Time) bool { return t.Sub(at).Abs() <= deletionWindow }
	d.mu.Lock()
	for _, t := range d.done {
		if near(t) {
			some, all = some+1, all+1
		}
	}
	free := d.free
	d.mu.Unlock()
	for _, other := range d.objects() {
		all++
		if _, acknowledged := free[other.GetUID()]; acknowledged || !held(other) {
			continue
		}
		if stamp := other.GetDeletionTimestamp(); stamp != nil && near(stamp.Time) {
			some++
		}
	}
	return some, all
}

// gone notes that a custom resource is no longer there.
func (d *deletions) gone() {
	now := d.clock.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	for len(d.done) > 0 && (now.Sub(d.done[0]) > deletionWindow || len(d.done) >= maxGone) {
		d.done = d.done[1:]
	}
	d.done = append(d.done, now)
}

// acknowledge lets go on what is held since then, and tells whether there was something.
func (d *deletions) acknowledge(since string) bool {
	if held, _ := d.holding(); held == "" || held != since {
		return false
	}
	free := map[types.UID]struct{}{}
	for _, obj := range d.objects() {
		if obj.GetDeletionTimestamp() != nil {
			free[obj.GetUID()] = struct{}{}
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.since, d.why, d.free, d.done = "", "", free, nil
	return true
}

// end lets go of a hold for which there is nothing left: what was held has been let go in another way.
func (d *deletions) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.since, d.why = "", ""
}

// holding gives since when deletions are held back, and why.
func (d *deletions) holding() (since, why string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.since, d.why
}
