package fleet

import (
	"context"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// sharedWatch is one informer and everything that belongs to it. It runs from its creation until cancel is called.
type sharedWatch struct {
	key      Key
	informer cache.SharedIndexInformer
	health   *health
	calls    *inflight

	// subscriptions is the set of those who need the watch. The fleet's lock guards it. A set of subscriptions cannot
	// miscount, as a counter would when something is released twice.
	subscriptions map[*Subscription]struct{}

	cancel   context.CancelFunc
	stopping <-chan struct{} // closed by cancel
	done     chan struct{}   // closed when no goroutine of the watch is left
}

// newSharedWatch builds a watch and starts it. It does no I/O itself. The watch outlives the request that caused it and
// ends by cancel alone, which is why its context descends from no other.
func newSharedWatch(client dynamic.Interface, key Key, log logr.Logger, onChange func(*sharedWatch)) (*sharedWatch, error) {
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), log))
	w := &sharedWatch{
		key:           key,
		health:        &health{},
		calls:         newInflight(),
		subscriptions: map[*Subscription]struct{}{},
		cancel:        cancel,
		stopping:      ctx.Done(),
		done:          make(chan struct{}),
	}
	w.health.onChange = func() { onChange(w) }
	if err := w.prepare(client); err != nil {
		cancel()
		return nil, err
	}
	go w.run(ctx)
	return w, nil
}

func (w *sharedWatch) prepare(client dynamic.Interface) error {
	source := &source{
		key:    w.key,
		client: client.Resource(w.key.GVR).Namespace(w.key.Namespace),
		health: w.health,
		calls:  w.calls,
	}
	w.informer = cache.NewSharedIndexInformerWithOptions(source.listerWatcher(client), &unstructured.Unstructured{},
		cache.SharedIndexInformerOptions{ObjectDescription: w.key.String()})
	if err := w.informer.SetTransform(compact); err != nil {
		return err
	}
	return w.informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, _ *cache.Reflector, err error) {
		source.failed(ctx, err)
	})
}

// run returns when the informer, its handlers and its calls to the API server have all ended.
func (w *sharedWatch) run(ctx context.Context) {
	defer close(w.done)
	w.informer.RunWithContext(ctx)
	w.calls.closeAndWait()
}
