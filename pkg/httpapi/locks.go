package httpapi

import (
	"context"
	"sync"
	"time"
)

// longestLock bounds the wait for a lock; a write's time counts from its intent, and must not be used up by waiting.
const longestLock = 10 * time.Second

// locks lets one write at a time go for each key. A key lives as long as somebody holds it or waits for it.
//
// A lock is taken before a slot, so that who waits for a lock keeps no slot from others, and who holds a slot waits for no
// lock.
type locks struct {
	mu   sync.Mutex
	keys map[string]*keyLock
}

type keyLock struct {
	turn  chan struct{}
	users int
}

// acquire waits for the key until ctx ends. The returned function gives it back.
func (l *locks) acquire(ctx context.Context, key string) (release func(), err error) {
	if key == "" {
		return func() {}, nil
	}
	lock := l.join(key)
	select {
	case lock.turn <- struct{}{}:
		return func() { <-lock.turn; l.leave(key, lock) }, nil
	case <-ctx.Done():
		l.leave(key, lock)
		return nil, ctx.Err()
	}
}

func (l *locks) join(key string) *keyLock {
	l.mu.Lock()
	defer l.mu.Unlock()
	lock := l.keys[key]
	if lock == nil {
		lock = &keyLock{turn: make(chan struct{}, 1)}
		l.keys[key] = lock
	}
	lock.users++
	return lock
}

func (l *locks) leave(key string, lock *keyLock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if lock.users--; lock.users == 0 {
		delete(l.keys, key)
	}
}
