package pass

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Claims keeps two custom resources from managing one object outside. A claim is on an endpoint and an item path,
// is taken before the first request for it, and is held until the custom resource is gone.
type Claims struct {
	mu     sync.Mutex
	owners map[string]claim
	held   map[types.UID]string
}

type claim struct {
	uid      types.UID
	name     string
	recorded bool
}

// NewClaims gives an empty table.
func NewClaims() *Claims {
	return &Claims{owners: map[string]claim{}, held: map[types.UID]string{}}
}

// Take claims an identity for a custom resource. When another holds it, its name is given back and ok is false.
// A custom resource holds one claim at a time; taking another lets the former go. One whose record names the object
// (recorded) comes before one that only wants it.
func (c *Claims) Take(identity string, uid types.UID, name string, recorded bool) (holder string, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if owner, taken := c.owners[identity]; taken && owner.uid != uid {
		if owner.recorded || !recorded {
			return owner.name, false
		}
		delete(c.held, owner.uid)
	}
	if former, holds := c.held[uid]; holds && former != identity {
		delete(c.owners, former)
	}
	c.owners[identity] = claim{uid: uid, name: name, recorded: recorded}
	c.held[uid] = identity
	return "", true
}

// Drop lets go of what a custom resource holds.
func (c *Claims) Drop(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if identity, holds := c.held[uid]; holds {
		delete(c.owners, identity)
		delete(c.held, uid)
	}
}
