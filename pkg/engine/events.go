package engine

import (
	"maps"
	"slices"
	"time"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine/fleet"
	"github.com/restmapping/operator/pkg/engine/pass"
	"github.com/restmapping/operator/pkg/engine/queue"
)

// onEvent decides how urgent a change of a custom resource is. It only enqueues.
func (r *runner) onEvent(e fleet.Event) {
	r.referents.note(e)
	switch {
	case e.Type == fleet.Deleted:
		r.workers.Add(queue.Options{}, e.Name())
		r.announce()
	case e.Type == fleet.Added && e.Initial:
		r.workers.Add(queue.Options{Priority: queue.PriorityLow, After: r.firstLook(e.Object)}, e.Name())
	case e.Type == fleet.Added || e.Replaced():
		r.workers.Add(queue.Options{}, e.Name())
		r.announce()
	case !e.Resync && matters(e.Old, e.Object):
		r.workers.Add(queue.Options{}, e.Name())
	}
}

// matters tells whether a change asks for a pass. Our own writes change the status, the record and the finalizer, and
// must not.
func matters(before, after *fleet.Object) bool {
	return before.GetGeneration() != after.GetGeneration() ||
		(before.GetDeletionTimestamp() == nil) != (after.GetDeletionTimestamp() == nil) ||
		!maps.Equal(before.GetLabels(), after.GetLabels()) ||
		!maps.Equal(foreign(before), foreign(after)) ||
		stripped(before, after)
}

// foreign are the annotations that others write.
func foreign(obj *fleet.Object) map[string]string {
	annotations := maps.Clone(obj.GetAnnotations())
	delete(annotations, v1alpha1.RecordAnnotation)
	return annotations
}

// stripped tells that somebody removed what only the operator may remove.
func stripped(before, after *fleet.Object) bool {
	_, had := before.GetAnnotations()[v1alpha1.RecordAnnotation]
	_, has := after.GetAnnotations()[v1alpha1.RecordAnnotation]
	return had && !has || held(before) && !held(after)
}

// held tells whether the custom resource carries our finalizer.
func held(obj *fleet.Object) bool {
	return slices.Contains(obj.GetFinalizers(), v1alpha1.Finalizer)
}

// firstLook spreads the first looks after a start over the interval, so that a restart is no burst. Whatever is not
// known to be in sync is looked at right away.
func (r *runner) firstLook(obj *fleet.Object) time.Duration {
	program := r.program()
	if !r.spec.Settled || obj.GetDeletionTimestamp() != nil || !held(obj) || !pass.InSync(obj) {
		return 0
	}
	return time.Duration(r.cfg.Jitter() * float64(max(program.Interval(), r.cfg.MinInterval)))
}
