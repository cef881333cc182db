package fleet

import (
	"context"
	"fmt"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// Subscription is one owner's share in a watch.
type Subscription struct {
	fleet   *Fleet
	watch   *sharedWatch
	owner   string
	handler Handler

	registration cache.ResourceEventHandlerRegistration
	ended        <-chan struct{} // closed by the informer when OnEvent will not be called again
	synced       <-chan struct{}

	// voice is held while OnStateChange runs, so that silencing waits for a call under way.
	voice  sync.Mutex
	silent bool

	leave   sync.Once
	leaving chan struct{}
	last    bool // set by leave: nobody else needed the watch
}

func newSubscription(f *Fleet, w *sharedWatch, owner string, handler Handler) *Subscription {
	return &Subscription{fleet: f, watch: w, owner: owner, handler: handler, leaving: make(chan struct{})}
}

// register connects the handler to the informer and begins to wait for the initial list.
func (s *Subscription) register(log logr.Logger) error {
	registration, err := s.watch.informer.AddEventHandlerWithOptions(dispatcher(s.handler.OnEvent),
		cache.HandlerOptions{Logger: &log})
	if err != nil {
		return err
	}
	stopper, ok := registration.(interface{ ShutdownChan() <-chan struct{} })
	if !ok {
		return fmt.Errorf("the informer's registration %T does not tell when it ends", registration)
	}
	s.registration, s.ended, s.synced = registration, stopper.ShutdownChan(), registration.HasSyncedChecker().Done()
	if s.watch.calls.begin() {
		go s.awaitSync()
	}
	return nil
}

// awaitSync announces the end of the initial list. The watch waits for this goroutine when it stops.
func (s *Subscription) awaitSync() {
	defer s.watch.calls.end()
	select {
	case <-s.synced:
		s.announce()
	case <-s.leaving:
	case <-s.watch.stopping:
	}
}

// Key returns what is watched, with the selector in its normal form.
func (s *Subscription) Key() Key { return s.watch.key }

// Synced is closed when all objects of the initial list have been given to OnEvent. It stays closed when the watch
// breaks later; LastError tells that.
func (s *Subscription) Synced() <-chan struct{} { return s.synced }

// HasSynced reports whether Synced is closed.
func (s *Subscription) HasSynced() bool {
	select {
	case <-s.synced:
		return true
	default:
		return false
	}
}

// LastError returns a *WatchError that says why the watch does not work at present, or nil if it does (or has not been
// tried yet: see Synced).
func (s *Subscription) LastError() error { return s.watch.health.last() }

// Get returns the cached object, or false if there is none by that name.
func (s *Subscription) Get(name types.NamespacedName) (*Object, bool) {
	key := cache.ObjectName{Namespace: name.Namespace, Name: name.Name}.String()
	item, exists, err := s.watch.informer.GetStore().GetByKey(key)
	if err != nil || !exists {
		return nil, false
	}
	object, ok := item.(*Object)
	return object, ok
}

// List returns all cached objects in no order. It copies pointers, not objects.
func (s *Subscription) List() []*Object {
	items := s.watch.informer.GetStore().List()
	objects := make([]*Object, 0, len(items))
	for _, item := range items {
		if object, ok := item.(*Object); ok {
			objects = append(objects, object)
		}
	}
	return objects
}

// Len returns how many objects are cached.
func (s *Subscription) Len() int { return len(s.watch.informer.GetStore().ListKeys()) }

// Release ends the subscription and waits until none of its functions runs any more; if it was the last one of its
// watch, it also waits until the informer is gone. It can be called again, and by several goroutines, to go on waiting
// after its context ended. What is cached stays readable, but grows old.
func (s *Subscription) Release(ctx context.Context) error {
	var err error
	s.leave.Do(func() { err = s.end() })
	if err != nil {
		return fmt.Errorf("stop watching %s for %s: %w", s.watch.key, s.owner, err)
	}
	return s.wait(ctx)
}

// end starts the end of the subscription. Only the last subscriber stops the informer, which ends all its handlers.
func (s *Subscription) end() error {
	s.silence()
	close(s.leaving)
	s.last = s.fleet.disclaim(s)
	if s.last {
		return nil
	}
	return s.watch.informer.RemoveEventHandler(s.registration)
}

// wait does what cache.ShutDownEventHandler does, and obeys a context.
func (s *Subscription) wait(ctx context.Context) error {
	ended := s.ended
	if s.last {
		ended = s.watch.done
	}
	select {
	case <-ended:
		return nil
	default:
	}
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return &ReleaseError{Key: s.watch.key, Owner: s.owner, Err: ctx.Err()}
	}
}

// announce calls OnStateChange unless the subscription has ended.
func (s *Subscription) announce() {
	s.voice.Lock()
	defer s.voice.Unlock()
	if !s.silent && s.handler.OnStateChange != nil {
		s.handler.OnStateChange()
	}
}

// silence returns when no OnStateChange runs and none will.
func (s *Subscription) silence() {
	s.voice.Lock()
	defer s.voice.Unlock()
	s.silent = true
}
