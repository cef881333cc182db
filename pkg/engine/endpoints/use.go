package endpoints

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
)

// Used tells whether a custom resource has asked for the endpoint since the operator started.
func (r *Registry) Used(own Ref) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.entries[own]
	return e != nil && e.used
}

// SubscribeUse tells listener the endpoint's own reference when a custom resource asks for it for the first time. The
// listener must not block. The returned function ends the subscription.
func (r *Registry) SubscribeUse(listener func(Ref)) (unsubscribe func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := r.nextID
	r.nextID++
	r.useListeners[id] = listener
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.useListeners, id)
	}
}

// noteUse remembers the first use.
func (r *Registry) noteUse(own Ref) {
	r.mu.Lock()
	e := r.entries[own]
	if e == nil || e.used {
		r.mu.Unlock()
		return
	}
	e.used = true
	listeners := slices.Collect(maps.Values(r.useListeners))
	r.mu.Unlock()
	for _, listener := range listeners {
		listener(own)
	}
}

// last gives the connection that was good last, for an endpoint that is being deleted. When a namespace is deleted, its
// Secrets go at once, and the custom resources still need them to delete what is outside. It is not given to another endpoint
// of that name, nor after an edit of the spec.
func (r *Registry) last(d definition) *connection {
	if !d.deleting {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.entries[d.ref]
	if e == nil || e.shared == nil || !sameSpec(e.shared.of, d) {
		return nil
	}
	return e.shared
}

// sameSpec tells whether nothing was edited between two states of one endpoint.
func sameSpec(a, b definition) bool {
	return a.uid == b.uid && equality.Semantic.DeepEqual(a.spec, b.spec) && slices.Equal(a.allowedCIDRs, b.allowedCIDRs)
}
