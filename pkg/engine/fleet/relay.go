package fleet

import (
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// relay passes the events of a stream on and reports the end of the initial list.
type relay struct {
	upstream watch.Interface
	events   chan watch.Event
	stop     chan struct{}
	stopOnce sync.Once
}

var _ watch.Interface = (*relay)(nil)

func newRelay(upstream watch.Interface) *relay {
	return &relay{upstream: upstream, events: make(chan watch.Event), stop: make(chan struct{})}
}

// ResultChan implements watch.Interface.
func (r *relay) ResultChan() <-chan watch.Event { return r.events }

// Stop implements watch.Interface.
func (r *relay) Stop() {
	r.stopOnce.Do(func() {
		close(r.stop)
		r.upstream.Stop()
	})
}

// run passes events on until the stream ends or Stop is called.
func (r *relay) run(listed func()) {
	defer close(r.events)
	for event := range r.upstream.ResultChan() {
		if endsInitialList(event) {
			listed()
		}
		select {
		case r.events <- event:
		case <-r.stop: // nobody reads any more
			return
		}
	}
}

func endsInitialList(event watch.Event) bool {
	if event.Type != watch.Bookmark {
		return false
	}
	object, err := meta.Accessor(event.Object)
	return err == nil && object.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"
}
