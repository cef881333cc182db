package engine

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine/fleet"
	"github.com/restmapping/operator/pkg/engine/status"
	"github.com/restmapping/operator/pkg/mapping"
)

// View is a custom resource as people want to see it, from the cache and from the last pass of this process.
type View struct {
	Key types.NamespacedName
	// Ready, Stalled and Deleting are what its status says; Reason and Message are those of the condition that matters
	// most: Stalled while it is true, else Ready.
	Ready, Stalled, Deleting bool
	Reason, Message          string
	// Endpoint is the name of its endpoint, empty when that cannot be told.
	Endpoint string
	// LastPass is when the last pass of this process ended, zero before the first; End is the step that ended it.
	LastPass time.Time
	End      string
}

// Views gives the custom resources of a mapping in no particular order; ok is false when the mapping does not run.
func (e *Engine) Views(ctx context.Context, name string) (views []View, ok bool) {
	r := e.runner(name)
	if r == nil {
		return nil, false
	}
	for _, obj := range r.objects() {
		views = append(views, r.view(ctx, obj))
	}
	return views, true
}

// Program gives the program that serves a mapping, nil when it does not run.
func (e *Engine) Program(name string) *mapping.Program {
	if r := e.runner(name); r != nil {
		return r.program()
	}
	return nil
}

func (r *runner) view(ctx context.Context, obj *fleet.Object) View {
	v := View{Key: types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}, Deleting: obj.GetDeletionTimestamp() != nil}
	if last, ok := r.counts.of(v.Key); ok {
		v.LastPass, v.End = last.at, last.end
	}
	self, err := obj.Unstructured()
	if err != nil {
		v.Reason, v.Message = v1alpha1.ReasonProgressing, err.Error()
		return v
	}
	v.Endpoint, _ = r.program().EndpointName(ctx, self) // empty: what it names cannot be told
	v.judge(self)
	return v
}

// judge reads the conditions.
func (v *View) judge(self map[string]any) {
	current, _ := self["status"].(map[string]any)
	ready, stalled := status.Find(current, v1alpha1.ConditionReady), status.Find(current, v1alpha1.ConditionStalled)
	v.Ready, v.Stalled = ready["status"] == "True", stalled["status"] == "True"
	tells := ready
	if v.Stalled {
		tells = stalled
	}
	v.Reason, _ = tells["reason"].(string)
	v.Message, _ = tells["message"].(string)
}
