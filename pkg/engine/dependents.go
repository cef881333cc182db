package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/restmapping/operator/pkg/engine/pass"
	"github.com/restmapping/operator/pkg/engine/queue"
	"github.com/restmapping/operator/pkg/engine/references"
	"github.com/restmapping/operator/pkg/lifecycle"
)

// maxNamed is how many dependents a message names.
const maxNamed = 3

// Dependents implements pass.Referents. While a mapping that may refer to this one's kind has not read all its custom
// resources, as after a restart, nothing can be said.
func (r *runner) Dependents(key types.NamespacedName) pass.Dependents {
	if unknown := r.engine.unread(*r.referrers.Load()); len(unknown) > 0 {
		return pass.Dependents{
			State:   lifecycle.DependentsUnknown,
			Message: "the custom resources of RestMapping " + strings.Join(unknown, ", ") + " are not read yet; see its conditions if that lasts",
		}
	}
	me := object(r.spec.GVR, key)
	var names []string
	count := 0
	for _, other := range r.engine.sorted() {
		for _, from := range other.referents.index.Blocking(me) {
			if references.Way(me, object(other.spec.GVR, from), r.engine.edges) != nil {
				continue // each would wait for the other
			}
			count++
			if len(names) < maxNamed {
				names = append(names, other.name(from))
			}
		}
	}
	if count == 0 {
		return pass.Dependents{}
	}
	return pass.Dependents{State: lifecycle.DependentsExist, Message: inWords(names, count)}
}

func inWords(names []string, count int) string {
	text := strings.Join(names, ", ")
	if more := count - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("%d in all: %s; it goes on when they are gone, and those that stay must be deleted by somebody (kubectl delete --cascade=foreground deletes what it owns first)", count, text)
}

// name names a custom resource for people.
func (r *runner) name(key types.NamespacedName) string {
	text := r.program().Kind() + " " + key.Name
	if key.Namespace != "" {
		text = r.program().Kind() + " " + key.String()
	}
	if obj, ok := r.Get(key); ok && obj.GetDeletionTimestamp() == nil {
		text += " (which is not being deleted)"
	}
	return text
}

// Cycle implements pass.Referents.
func (r *runner) Cycle(key types.NamespacedName) string {
	me := object(r.spec.GVR, key)
	way := references.Way(me, me, r.engine.edges)
	words := make([]string, len(way))
	for i, o := range way {
		words[i] = r.engine.describe(o)
	}
	return strings.Join(words, " -> ")
}

// sorted gives the mappings that run in the order of their names.
func (e *Engine) sorted() []*runner {
	runners := e.all()
	slices.SortFunc(runners, func(a, b *runner) int { return cmp.Compare(a.spec.Name, b.spec.Name) })
	return runners
}

// of gives the mappings that serve a resource.
func (e *Engine) of(resource schema.GroupResource) []*runner {
	return slices.DeleteFunc(e.all(), func(r *runner) bool { return r.spec.GVR.GroupResource() != resource })
}

// edges gives what a custom resource refers to.
func (e *Engine) edges(o references.Object) []references.Edge {
	var found []references.Edge
	for _, r := range e.of(o.Resource) {
		found = append(found, r.referents.index.To(o.Key)...)
	}
	return found
}

func (e *Engine) describe(o references.Object) string {
	kind := o.Resource.String()
	if runners := e.of(o.Resource); len(runners) > 0 {
		kind = runners[0].program().Kind()
	}
	if o.Key.Namespace == "" {
		return kind + " " + o.Key.Name
	}
	return kind + " " + o.Key.String()
}

// unread gives those of the mappings whose custom resources are not all known.
func (e *Engine) unread(mappings []string) []string {
	var unread []string
	for _, name := range mappings {
		if r := e.runner(name); r == nil || !r.read() {
			unread = append(unread, name)
		}
	}
	return unread
}

// read tells that every custom resource was seen once, and what it refers to noted.
func (r *runner) read() bool {
	r.mu.Lock()
	complete, subscriptions := r.complete, r.subscriptions
	r.mu.Unlock()
	for _, s := range subscriptions {
		complete = complete && s.HasSynced()
	}
	return complete
}

// freed has an object looked at that is being deleted and that somebody no longer refers to.
func (e *Engine) freed(o references.Object) {
	for _, r := range e.of(o.Resource) {
		if obj, ok := r.Get(o.Key); ok && obj.GetDeletionTimestamp() != nil {
			r.workers.Add(queue.Options{}, o.Key)
		}
	}
}

// resume has everything looked at that is being deleted: who refers to it may be known now.
func (r *runner) resume() {
	for _, s := range r.subscribed() {
		for _, obj := range s.List() {
			if obj.GetDeletionTimestamp() != nil {
				r.workers.Add(queue.Options{}, types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()})
			}
		}
	}
}

// stateChanged tells the mapping's own state, and lets those go on that wait to know who refers to them.
func (r *runner) stateChanged() {
	r.announce()
	r.resumeReferred()
}

func (r *runner) resumeReferred() {
	for _, kind := range r.spec.References {
		for _, other := range r.engine.of(kind.GVR.GroupResource()) {
			other.resume()
		}
	}
}
