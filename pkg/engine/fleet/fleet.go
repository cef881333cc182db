package fleet

import (
	"context"
	"fmt"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/client-go/dynamic"
)

// Fleet holds the informers that are needed at the moment. Its methods may be called at any time from any goroutine.
type Fleet struct {
	client dynamic.Interface
	log    logr.Logger

	// mu guards what follows and the subscription sets of the watches. It is never held during I/O or a wait.
	mu      sync.Mutex
	closed  bool
	watches map[Key]*sharedWatch
}

// Option changes how a fleet works.
type Option func(*Fleet)

// WithLogger sets the logger of the informers. Without it they log nothing; their errors are in LastError anyway.
func WithLogger(log logr.Logger) Option { return func(f *Fleet) { f.log = log } }

// New returns an empty fleet. Close ends it.
func New(client dynamic.Interface, options ...Option) *Fleet {
	f := &Fleet{client: client, log: logr.Discard(), watches: map[Key]*sharedWatch{}}
	for _, option := range options {
		option(f)
	}
	return f
}

// Acquire subscribes to the objects of key, starting an informer unless one runs already. It returns at once: whether
// the objects can be listed is told by the subscription later. The owner is a name for people and for Owners; the same
// owner may hold several subscriptions.
func (f *Fleet) Acquire(owner string, key Key, handler Handler) (*Subscription, error) {
	key, err := key.normalised()
	if err != nil {
		return nil, err
	}
	if handler.OnEvent == nil {
		return nil, &KeyError{Key: key, Problem: "a subscriber needs OnEvent"}
	}
	subscription, err := f.claim(owner, key, handler)
	if err != nil {
		return nil, err
	}
	// From here on the watch cannot be stopped by others leaving, because the claim is in its set.
	if err := subscription.register(f.log); err != nil {
		f.disclaim(subscription)
		if f.isClosed() {
			return nil, ErrClosed
		}
		return nil, fmt.Errorf("watch %s: %w", key, err)
	}
	return subscription, nil
}

// Owners returns how many subscriptions there are per key, by owner.
func (f *Fleet) Owners() map[Key]map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	owners := make(map[Key]map[string]int, len(f.watches))
	for key, w := range f.watches {
		owners[key] = map[string]int{}
		for s := range w.subscriptions {
			owners[key][s.owner]++
		}
	}
	return owners
}

// Close stops all informers and waits for them. Nothing can be acquired afterwards. It may be called again to go on
// waiting after its context ended.
func (f *Fleet) Close(ctx context.Context) error {
	watches := f.shut()
	for _, w := range watches {
		w.cancel()
	}
	for _, w := range watches {
		select {
		case <-w.done:
		case <-ctx.Done():
			return &ReleaseError{Key: w.key, Owner: "everyone", Err: ctx.Err()}
		}
	}
	return nil
}

// claim puts a new subscription into the set of the key's watch, creating the watch if there is none. Both happen under
// one lock, as do leaving the set and forgetting the watch in disclaim. So a claim never lands on a watch that stops.
func (f *Fleet) claim(owner string, key Key, handler Handler) (*Subscription, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, ErrClosed
	}
	w, ok := f.watches[key]
	if !ok {
		created, err := newSharedWatch(f.client, key, f.log, f.announce)
		if err != nil {
			return nil, fmt.Errorf("watch %s: %w", key, err)
		}
		w, f.watches[key] = created, created
	}
	subscription := newSubscription(f, w, owner, handler)
	w.subscriptions[subscription] = struct{}{}
	return subscription, nil
}

// disclaim takes a subscription out of its watch's set and stops the watch if it was the last one. It reports whether
// the watch stops. The comparison protects a successor under the same key.
func (f *Fleet) disclaim(s *Subscription) (last bool) {
	f.mu.Lock()
	delete(s.watch.subscriptions, s)
	last = len(s.watch.subscriptions) == 0
	if last && f.watches[s.watch.key] == s.watch {
		delete(f.watches, s.watch.key)
	}
	f.mu.Unlock()
	if last {
		s.watch.cancel()
	}
	return last
}

// announce tells the subscribers of a watch that its health changed.
func (f *Fleet) announce(w *sharedWatch) {
	for _, s := range f.subscribers(w) {
		s.announce()
	}
}

func (f *Fleet) subscribers(w *sharedWatch) []*Subscription {
	f.mu.Lock()
	defer f.mu.Unlock()
	subscribers := make([]*Subscription, 0, len(w.subscriptions))
	for s := range w.subscriptions {
		subscribers = append(subscribers, s)
	}
	return subscribers
}

func (f *Fleet) isClosed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.closed
}

// shut lets nothing new in. The watches stay in the map, so that a second Close finds them.
func (f *Fleet) shut() []*sharedWatch {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	watches := make([]*sharedWatch, 0, len(f.watches))
	for _, w := range f.watches {
		watches = append(watches, w)
	}
	return watches
}
