package engine

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/restmapping/operator/pkg/engine/fleet"
	"github.com/restmapping/operator/pkg/engine/pass"
	"github.com/restmapping/operator/pkg/engine/queue"
	"github.com/restmapping/operator/pkg/engine/references"
	"github.com/restmapping/operator/pkg/mapping"
)

// ReferenceSpec is the kind of one of a mapping's references.
type ReferenceSpec struct {
	// Input is the reference's name, as in refs.<input>.
	Input string
	// GVR is the kind as the API server serves it; empty when there is no such kind at present. Incarnation is as in Spec.
	GVR         schema.GroupVersionResource
	Namespaced  bool
	Incarnation string
}

// referents are the custom resources that those of one mapping refer to: their watches, and who refers to which.
type referents struct {
	runner *runner
	index  *references.Index
	kinds  map[string]*referentKind // by the reference's name

	noting sync.Mutex // one custom resource's references are evaluated and noted at a time
}

// referentKind is one kind that is referred to.
type referentKind struct {
	spec ReferenceSpec
	// hasConditions tells that objects of the kind say by conditions whether they are ready.
	hasConditions bool

	mu            sync.Mutex // guards subscriptions
	subscriptions []*fleet.Subscription
}

func newReferents(r *runner) *referents {
	out := &referents{runner: r, index: references.NewIndex(), kinds: map[string]*referentKind{}}
	conditions := map[string]bool{}
	for _, kind := range r.spec.Program.ReferenceKinds() {
		conditions[kind.Input] = kind.HasConditions
	}
	for _, spec := range r.spec.References {
		out.kinds[spec.Input] = &referentKind{spec: spec, hasConditions: conditions[spec.Input]}
	}
	return out
}

// watch begins to watch the kinds that are referred to, each once.
func (x *referents) watch() error {
	watched := map[fleet.Key]*fleet.Subscription{}
	for _, kind := range x.kinds {
		if kind.spec.GVR.Empty() {
			continue
		}
		for _, namespace := range x.runner.namespacesOf(kind.spec.Namespaced) {
			key := fleet.Key{GVR: kind.spec.GVR, Namespace: namespace, Incarnation: kind.spec.Incarnation}
			if watched[key] == nil {
				handler := fleet.Handler{OnEvent: x.onEvent(kind), OnStateChange: x.runner.announce}
				subscription, err := x.runner.cfg.Fleet.Acquire(x.runner.spec.Name, key, handler)
				if err != nil {
					return err
				}
				watched[key] = subscription
			}
			kind.mu.Lock()
			kind.subscriptions = append(kind.subscriptions, watched[key])
			kind.mu.Unlock()
		}
	}
	return nil
}

// subscribed gives the watches of a kind.
func (k *referentKind) subscribed() []*fleet.Subscription {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.subscriptions
}

// release lets the watches go. A watch of two references is let go twice, which does no harm.
func (x *referents) release(ctx context.Context) []error {
	var errs []error
	for _, kind := range x.kinds {
		for _, s := range kind.subscribed() {
			errs = append(errs, s.Release(ctx))
		}
	}
	return errs
}

// lastError is why a watch does not work, nil when all do.
func (x *referents) lastError() error {
	for _, kind := range x.kinds {
		for _, s := range kind.subscribed() {
			if err := s.LastError(); err != nil {
				return err
			}
		}
	}
	return nil
}

// read tells that all objects of the kinds that are referred to were seen once.
func (x *referents) read() bool {
	for _, kind := range x.kinds {
		for _, s := range kind.subscribed() {
			if !s.HasSynced() {
				return false
			}
		}
	}
	return true
}

// onEvent has those looked at who refer to an object that has become ready, or is ready and has changed. An object that
// goes, or is not ready for a while, is no reason: whoever needs it finds that out when it is time.
func (x *referents) onEvent(kind *referentKind) func(fleet.Event) {
	return func(e fleet.Event) {
		if e.Initial || e.Resync || e.Type == fleet.Deleted {
			return
		}
		now, ready := kind.judge(e.Object)
		if !ready {
			return
		}
		options := queue.Options{}
		if e.Type == fleet.Updated && !e.Replaced() {
			was, wasReady := kind.judge(e.Old)
			if wasReady && !tells(was, now) {
				return
			}
			if wasReady {
				options.Priority = queue.PriorityLow
			}
		}
		x.runner.workers.Add(options, x.index.Referrers(object(kind.spec.GVR, e.Name()))...)
	}
}

func (k *referentKind) judge(obj *fleet.Object) (content map[string]any, ready bool) {
	content, err := obj.Unstructured()
	return content, err == nil && references.NotReady(content, k.hasConditions) == ""
}

// tells reports whether an expression could give something else than before. Conditions, versions and the operator's
// own notes change without that.
func tells(before, after map[string]any) bool {
	return !reflect.DeepEqual(told(before), told(after))
}

func told(content map[string]any) map[string]any {
	out := maps.Clone(content)
	metadata, _ := content["metadata"].(map[string]any)
	out["metadata"] = map[string]any{"labels": metadata["labels"], "uid": metadata["uid"]}
	if current, ok := content["status"].(map[string]any); ok {
		current = maps.Clone(current)
		for _, name := range []string{"conditions", "observedGeneration", "drift", "lastError", "lastHandledReconcileAt"} {
			delete(current, name)
		}
		out["status"] = current
	}
	return out
}

func object(gvr schema.GroupVersionResource, key types.NamespacedName) references.Object {
	return references.Object{Resource: gvr.GroupResource(), Key: key}
}

// note keeps what a custom resource refers to, before any pass over it, and lets those go that it no longer refers to.
func (x *referents) note(e fleet.Event) {
	switch {
	case len(x.kinds) == 0 || e.Type == fleet.Updated && !e.Replaced() && !matters(e.Old, e.Object):
	case e.Type == fleet.Deleted:
		x.keep(e.Name(), func() *fleet.Object { return nil })
	default:
		x.keep(e.Name(), func() *fleet.Object { return e.Object })
	}
}

// keep notes one custom resource at a time, so that what a former program said never comes last. One that is nil is gone.
func (x *referents) keep(key types.NamespacedName, newest func() *fleet.Object) {
	x.noting.Lock()
	dropped := x.index.Set(key, x.edges(newest()))
	x.noting.Unlock()
	for _, o := range dropped {
		x.runner.engine.freed(o)
	}
}

// refreshAll notes everything anew: another program may name other objects.
func (x *referents) refreshAll() {
	if len(x.kinds) == 0 {
		return
	}
	for _, s := range x.runner.subscribed() {
		for _, obj := range s.List() {
			key := types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
			x.keep(key, func() *fleet.Object {
				obj, _ := x.runner.Get(key) // nil when it has gone since
				return obj
			})
		}
	}
}

// edges evaluates the references. One that cannot be told is none: its pass says so, and sends nothing.
func (x *referents) edges(obj *fleet.Object) []references.Edge {
	if obj == nil {
		return nil
	}
	self, err := obj.Unstructured()
	if err != nil {
		return nil
	}
	named, _ := x.runner.program().References(x.runner.ctx, self)
	edges := make([]references.Edge, 0, len(named))
	for _, ref := range named {
		if kind := x.kinds[ref.Input]; kind != nil && !kind.spec.GVR.Empty() {
			key := types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}
			edges = append(edges, references.Edge{To: object(kind.spec.GVR, key), Blocks: ref.Blocks})
		}
	}
	return edges
}

// Referent implements pass.Referents.
func (r *runner) Referent(ref mapping.Reference) (obj *fleet.Object, known bool, problem error) {
	kind := r.referents.kinds[ref.Input]
	if kind == nil || kind.spec.GVR.Empty() {
		return nil, false, fmt.Errorf("no CustomResourceDefinition has group %s and kind %s; apply it", ref.Group, ref.Kind)
	}
	key := types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}
	known = true
	for _, s := range kind.subscribed() {
		if found, ok := s.Get(key); ok {
			return found, true, nil
		}
		known = known && s.HasSynced()
		if err := s.LastError(); err != nil {
			known, problem = false, err
		}
	}
	return nil, known, problem
}

var _ pass.Referents = (*runner)(nil)
