package pass

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// usage knows which endpoint and which Secrets each custom resource asked for in its last pass that came so far, so that a
// change brings back those who use the thing and nobody else. It is noted before the thing is read: what changes after that
// finds the note, and what changed before is what is read.
type usage struct {
	mu        sync.Mutex
	endpoints map[types.NamespacedName]string
	secrets   map[types.NamespacedName][]string
}

func newUsage() *usage {
	return &usage{endpoints: map[types.NamespacedName]string{}, secrets: map[types.NamespacedName][]string{}}
}

func (u *usage) noteEndpoint(key types.NamespacedName, name string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.endpoints[key] = name
}

func (u *usage) noteSecrets(key types.NamespacedName, names []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.secrets[key] = names
}

func (u *usage) forget(key types.NamespacedName) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.endpoints, key)
	delete(u.secrets, key)
}

// MayUseEndpoint tells whether a custom resource may use the endpoint of this name: it did last, or it is not known.
func (r *Reconciler) MayUseEndpoint(key types.NamespacedName, name string) bool {
	r.usage.mu.Lock()
	defer r.usage.mu.Unlock()
	used, known := r.usage.endpoints[key]
	return !known || used == name
}

// MayUseSecret tells whether a custom resource may use the Secret of this name in its namespace: it did last, or it is not
// known.
func (r *Reconciler) MayUseSecret(key types.NamespacedName, name string) bool {
	r.usage.mu.Lock()
	defer r.usage.mu.Unlock()
	used, known := r.usage.secrets[key]
	return !known || slices.Contains(used, name)
}
