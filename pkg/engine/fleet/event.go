package fleet

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// EventType says what happened to an object.
type EventType string

// The types of event.
const (
	Added   EventType = "Added"
	Updated EventType = "Updated"
	Deleted EventType = "Deleted"
)

// Event is one change of one object, as one subscriber sees it.
type Event struct {
	Type EventType
	// Object is the state after the change; for Deleted it is the last state that was seen.
	Object *Object
	// Old is the state before an Updated event, otherwise nil.
	Old *Object
	// Initial marks the Added events for objects that existed when the subscriber arrived.
	Initial bool
	// Resync marks an Updated event in which nothing changed. The API server causes one for every object when the
	// watch has to begin anew, for example after the schema of the kind was edited.
	Resync bool
}

// Name returns the namespace and name of the object.
func (e Event) Name() types.NamespacedName {
	return types.NamespacedName{Namespace: e.Object.Namespace, Name: e.Object.Name}
}

// Replaced reports whether an Updated event hides that the object was deleted and another one created in its place
// while the watch was interrupted.
func (e Event) Replaced() bool { return e.Old != nil && e.Old.UID != e.Object.UID }

// Handler is what a subscriber wants to be told. Its functions are called one at a time per function, must only hand
// the news on, and must never block or release the subscription. They may be called before Acquire has returned and
// are never called after Release has returned without an error.
type Handler struct {
	// OnEvent is called for each event, in order per object.
	OnEvent func(Event)
	// OnStateChange, if set, is called after Synced or LastError of the subscription changed. It may come once for
	// several changes, and a change may have been undone when it comes: read the present state.
	OnStateChange func()
}

// dispatcher turns what the informer delivers into events.
type dispatcher func(Event)

var _ cache.ResourceEventHandler = dispatcher(nil)

// OnAdd implements cache.ResourceEventHandler.
func (d dispatcher) OnAdd(object any, initial bool) {
	if object, ok := object.(*Object); ok {
		d(Event{Type: Added, Object: object, Initial: initial})
	}
}

// OnUpdate implements cache.ResourceEventHandler.
func (d dispatcher) OnUpdate(before, after any) {
	previous, ok := before.(*Object)
	if !ok {
		return
	}
	if object, ok := after.(*Object); ok {
		d(Event{Type: Updated, Object: object, Old: previous, Resync: object.sameAs(previous)})
	}
}

// OnDelete implements cache.ResourceEventHandler. A deletion that the watch missed arrives wrapped in a tombstone; its
// subscriber must hear of it all the same.
func (d dispatcher) OnDelete(object any) {
	if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = lastKnown(tombstone)
	}
	if object, ok := object.(*Object); ok {
		d(Event{Type: Deleted, Object: object})
	}
}

// lastKnown returns the state kept in a tombstone, or an object that has nothing but its name.
func lastKnown(tombstone cache.DeletedFinalStateUnknown) any {
	if object, ok := tombstone.Obj.(*Object); ok {
		return object
	}
	namespace, name, err := cache.SplitMetaNamespaceKey(tombstone.Key)
	if err != nil {
		return nil
	}
	return named(namespace, name)
}
