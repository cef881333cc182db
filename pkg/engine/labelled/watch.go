package labelled

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
)

// syncLimit is how long a question waits for the first listing.
const syncLimit = 5 * time.Second

var errNotListed = errors.New("the first listing has not come yet")

// Config is what a Watch needs.
type Config struct {
	Client metadata.Interface
	// Resource is that of a core object, in the plural: "secrets".
	Resource string
	// Namespace is the one that is watched, all when empty.
	Namespace string
	// Label must be "true".
	Label string
	// Keep gives what is kept of the metadata, besides the identity. Nil keeps the identity alone.
	Keep func(from metav1.ObjectMeta, kept *metav1.ObjectMeta)
	// Handler hears of changes, when it is not nil.
	Handler cache.ResourceEventHandler
}

// Watch is the metadata-only informer on the labelled objects of one resource.
type Watch struct {
	informer cache.SharedIndexInformer
	// lastError is the result of the last list or watch request, a nil pointer when none was answered yet.
	lastError atomic.Pointer[error]
}

// New makes a watch that requests nothing before Run.
func New(cfg Config) (*Watch, error) {
	w := &Watch{}
	w.informer = cache.NewSharedIndexInformer(w.listWatch(cfg), &metav1.PartialObjectMetadata{}, 0, cache.Indexers{})
	if err := w.informer.SetTransform(slim(cfg.Keep)); err != nil {
		return nil, err
	}
	if cfg.Handler == nil {
		return w, nil
	}
	_, err := w.informer.AddEventHandler(cfg.Handler)
	return w, err
}

func (w *Watch) listWatch(cfg Config) cache.ListerWatcher {
	objects := cfg.Client.Resource(corev1.SchemeGroupVersion.WithResource(cfg.Resource)).Namespace(cfg.Namespace)
	selector := labels.Set{cfg.Label: "true"}.String()
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.LabelSelector = selector
			list, err := objects.List(ctx, options)
			w.lastError.Store(&err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (apiwatch.Interface, error) {
			options.LabelSelector = selector
			stream, err := objects.Watch(ctx, options)
			w.lastError.Store(&err)
			return stream, err
		},
	}, cfg.Client)
}

// Run watches until ctx ends.
func (w *Watch) Run(ctx context.Context) { w.informer.RunWithContext(ctx) }

// Synced tells whether the first listing is complete.
func (w *Watch) Synced() bool { return w.informer.HasSynced() }

// Failure is the error of the newest list or watch request, nil when it was answered.
func (w *Watch) Failure() error {
	if last := w.lastError.Load(); last != nil {
		return *last
	}
	return nil
}

// Wait returns when the first listing is complete, or with the reason why it is not: at once when the API server refuses it,
// after some seconds when it does not answer.
func (w *Watch) Wait(ctx context.Context) error {
	synced := w.informer.HasSyncedChecker().Done()
	select {
	case <-synced:
		return nil
	default:
	}
	if err := w.Failure(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, syncLimit)
	defer cancel()
	select {
	case <-synced:
		return nil
	case <-ctx.Done():
		return errors.Join(errNotListed, w.Failure(), context.Cause(ctx))
	}
}

// Get is what the watch last saw of an object, nil when there is no labelled one of that name. It must not be changed.
func (w *Watch) Get(name types.NamespacedName) *metav1.PartialObjectMetadata {
	item, exists, err := w.informer.GetIndexer().GetByKey(name.String())
	if err != nil || !exists {
		return nil
	}
	return Metadata(item)
}

// Metadata is what a handler was told of, also where a deletion was missed; nil for anything else.
func Metadata(item any) *metav1.PartialObjectMetadata {
	if gone, ok := item.(cache.DeletedFinalStateUnknown); ok {
		item = gone.Obj
	}
	meta, _ := item.(*metav1.PartialObjectMetadata)
	return meta
}

// slim drops everything but the identity and what is asked for: there may be very many objects, with large annotations.
func slim(keep func(from metav1.ObjectMeta, kept *metav1.ObjectMeta)) cache.TransformFunc {
	return func(item any) (any, error) {
		meta, ok := item.(*metav1.PartialObjectMetadata)
		if !ok {
			return item, nil
		}
		kept := metav1.ObjectMeta{Namespace: meta.Namespace, Name: meta.Name, UID: meta.UID, ResourceVersion: meta.ResourceVersion}
		if keep != nil {
			keep(meta.ObjectMeta, &kept)
		}
		return &metav1.PartialObjectMetadata{TypeMeta: meta.TypeMeta, ObjectMeta: kept}, nil
	}
}
