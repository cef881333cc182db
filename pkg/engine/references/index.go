package references

import (
	"cmp"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Object names a custom resource by its resource, whatever the version, so that two mappings mean the same by it.
type Object struct {
	Resource schema.GroupResource
	Key      types.NamespacedName
}

// Edge is one reference of a custom resource.
type Edge struct {
	To Object
	// Blocks tells that the object is not deleted outside before the one that refers to it.
	Blocks bool
}

// Index holds the references of the custom resources of one mapping. Its methods may be called by several goroutines.
type Index struct {
	mu        sync.Mutex
	edges     map[types.NamespacedName][]Edge
	referrers map[Object]map[types.NamespacedName]bool // whether it blocks
}

// NewIndex gives an empty one.
func NewIndex() *Index {
	return &Index{edges: map[types.NamespacedName][]Edge{}, referrers: map[Object]map[types.NamespacedName]bool{}}
}

// Set notes all references of a custom resource. It gives the objects that it referred to and no longer does.
func (x *Index) Set(from types.NamespacedName, edges []Edge) (dropped []Object) {
	x.mu.Lock()
	defer x.mu.Unlock()
	former := x.edges[from]
	x.remove(from)
	for _, edge := range edges {
		if x.referrers[edge.To] == nil {
			x.referrers[edge.To] = map[types.NamespacedName]bool{}
		}
		x.referrers[edge.To][from] = x.referrers[edge.To][from] || edge.Blocks
	}
	if len(edges) > 0 {
		x.edges[from] = edges
	}
	for _, edge := range former {
		if _, still := x.referrers[edge.To][from]; !still {
			dropped = append(dropped, edge.To)
		}
	}
	return dropped
}

// Drop forgets a custom resource that is gone. It gives the objects that it referred to.
func (x *Index) Drop(from types.NamespacedName) []Object { return x.Set(from, nil) }

// remove is called with the lock held.
func (x *Index) remove(from types.NamespacedName) {
	for _, edge := range x.edges[from] {
		delete(x.referrers[edge.To], from)
		if len(x.referrers[edge.To]) == 0 {
			delete(x.referrers, edge.To)
		}
	}
	delete(x.edges, from)
}

// To gives the references of a custom resource.
func (x *Index) To(from types.NamespacedName) []Edge {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.edges[from]
}

// Referrers gives all who refer to an object, in no order.
func (x *Index) Referrers(to Object) []types.NamespacedName { return x.list(to, false) }

// Blocking gives those who keep an object from being deleted, in the order of their names.
func (x *Index) Blocking(to Object) []types.NamespacedName {
	found := x.list(to, true)
	slices.SortFunc(found, func(a, b types.NamespacedName) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return found
}

func (x *Index) list(to Object, blocking bool) []types.NamespacedName {
	x.mu.Lock()
	defer x.mu.Unlock()
	found := make([]types.NamespacedName, 0, len(x.referrers[to]))
	for from, blocks := range x.referrers[to] {
		if blocks || !blocking {
			found = append(found, from)
		}
	}
	return found
}

// Len gives how many custom resources refer to something, and how many objects are referred to.
func (x *Index) Len() (from, to int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.edges), len(x.referrers)
}
