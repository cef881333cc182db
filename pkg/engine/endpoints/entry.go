package endpoints

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// entry is what the registry remembers of one endpoint that exists.
type entry struct {
	uid string
	// sources are those that the endpoint refers to, also while it cannot be built because one is missing.
	sources map[source]struct{}
	// announced is what the subscribers were last told of, empty until the endpoint's controller has seen it.
	announced string
	shared    *connection
	held      heldBack
	// used tells that a custom resource asked for it.
	used bool
}

// stamp is what a connection depends on: which endpoint in which generation, and the version of each secret value.
func (r *Registry) stamp(ctx context.Context, d definition) (string, error) {
	parts := []string{"", d.uid, fmt.Sprint(d.generation)}
	for _, source := range r.sources(d) {
		version, err := r.version(ctx, source)
		if err != nil {
			return "", fmt.Errorf("%s: %w", d.ref, err)
		}
		parts = append(parts, version)
	}
	return strings.Join(parts, "|"), nil
}

// sources lists where the secret values of an endpoint are, in the order of their references.
func (r *Registry) sources(d definition) []source {
	_, uses := materialOf(d.spec)
	list := make([]source, 0, len(uses))
	for _, use := range uses {
		if use.ref.Vault == nil { // no watch tells of what is there
			list = append(list, r.sourceOf(d.ref, use.ref))
		}
	}
	return list
}

// track notes which sources the endpoint refers to. It comes before their versions are read, so that no change falls
// between the two.
func (r *Registry) track(d definition) {
	sources := map[source]struct{}{}
	for _, s := range r.sources(d) {
		sources[s] = struct{}{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	e := r.entries[d.ref]
	if e == nil {
		e = &entry{}
		r.entries[d.ref] = e
	}
	e.uid, e.sources = d.uid, sources
}

func (r *Registry) current(ref Ref, stamp string) *connection {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.entries[ref]; e != nil && e.shared != nil && e.shared.stamp == stamp {
		return e.shared
	}
	return nil
}

// install makes a connection the shared one and retires the one before. When the endpoint went while the connection
// was built, it serves those who waited for it and nobody else.
func (r *Registry) install(d definition, made *connection) error {
	r.mu.Lock()
	r.draining[made.client] = struct{}{}
	old, closed := made, r.closed
	if e := r.entries[d.ref]; e != nil && e.uid == d.uid {
		old, e.shared = e.shared, made
	}
	r.mu.Unlock()
	if old != nil {
		old.client.retire()
	}
	if closed {
		return ErrClosed
	}
	return nil
}

// announce tells the subscribers of an endpoint whose spec or labels are not those that they were told of. The first
// look after a start is told to nobody, unless somebody asked for this endpoint in vain.
func (r *Registry) announce(d definition) {
	r.track(d)
	state := fmt.Sprint(d.uid, d.generation, d.labels)
	r.mu.Lock()
	e := r.entries[d.ref]
	if e == nil || e.announced == state {
		r.mu.Unlock()
		return
	}
	first := e.announced == ""
	e.announced = state
	r.mu.Unlock()
	if _, wanted := r.absent.Get(d.ref); wanted || !first {
		r.absent.Remove(d.ref)
		r.tell(d.ref)
	}
}

// gone forgets an endpoint that does not exist, notes that it was asked for, and tells the subscribers if it was there.
func (r *Registry) gone(own Ref) {
	r.absent.Add(own, struct{}{})
	r.mu.Lock()
	e := r.entries[own]
	delete(r.entries, own)
	r.mu.Unlock()
	if e == nil {
		return
	}
	if e.shared != nil {
		e.shared.client.retire()
	}
	r.tell(own)
}

// secretChanged tells the subscribers of every endpoint that refers to the Secret.
func (r *Registry) secretChanged(namespace, name string) {
	r.sourceChanged(source{secret: types.NamespacedName{Namespace: namespace, Name: name}})
}

// fileChanged tells the subscribers of every endpoint that refers to the file.
func (r *Registry) fileChanged(name string) { r.sourceChanged(source{file: name}) }

func (r *Registry) sourceChanged(changed source) {
	r.mu.Lock()
	var users []Ref
	for ref, e := range r.entries {
		if _, uses := e.sources[changed]; uses {
			users = append(users, ref)
		}
	}
	r.mu.Unlock()
	for _, ref := range users {
		r.tell(ref)
	}
}

func (r *Registry) tell(ref Ref) { r.tellAll(r.listeners, ref) }

func (r *Registry) tellFlow(ref Ref) { r.tellAll(r.flowListeners, ref) }

func (r *Registry) tellAll(all map[int]func(Ref), ref Ref) {
	r.mu.Lock()
	listeners := slices.Collect(maps.Values(all))
	r.mu.Unlock()
	for _, listener := range listeners {
		listener(ref)
	}
}
