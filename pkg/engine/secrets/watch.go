package secrets

import (
	"context"
	"errors"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"

	"github.com/restmapping/operator/api/v1alpha1"
)

var errNotStarted = errors.New("the first listing has not come yet")

// secretWatch is the metadata-only informer on the labelled Secrets of one namespace, or of all.
type secretWatch struct {
	informer cache.SharedIndexInformer
	// lastError is the result of the last list or watch request: nil pointer when none was answered, else its error.
	lastError atomic.Pointer[requestResult]
}

type requestResult struct{ err error }

func newSecretWatch(client metadata.Interface, namespace string, onChange func(types.NamespacedName)) (*secretWatch, error) {
	w := &secretWatch{}
	w.informer = cache.NewSharedIndexInformer(w.listWatch(client, namespace), &metav1.PartialObjectMetadata{}, 0, cache.Indexers{})
	if err := w.informer.SetTransform(slim); err != nil {
		return nil, err
	}
	_, err := w.informer.AddEventHandler(changeHandler(onChange))
	return w, err
}

func (w *secretWatch) listWatch(client metadata.Interface, namespace string) cache.ListerWatcher {
	secrets := client.Resource(corev1.SchemeGroupVersion.WithResource("secrets")).Namespace(namespace)
	selector := labels.Set{v1alpha1.AllowReadLabel: "true"}.String()
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.LabelSelector = selector
			list, err := secrets.List(ctx, options)
			w.lastError.Store(&requestResult{err})
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.LabelSelector = selector
			stream, err := secrets.Watch(ctx, options)
			w.lastError.Store(&requestResult{err})
			return stream, err
		},
	}, client)
}

// failure is the error of the newest list or watch request, nil when it was answered.
func (w *secretWatch) failure() error {
	last := w.lastError.Load()
	if last == nil {
		return nil
	}
	return last.err
}

// wait returns when the first listing is complete, or with the reason why it is not.
func (w *secretWatch) wait(ctx context.Context) error {
	synced := w.informer.HasSyncedChecker().Done()
	select {
	case <-synced:
		return nil
	default:
	}
	if err := w.failure(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, syncLimit)
	defer cancel()
	select {
	case <-synced:
		return nil
	case <-ctx.Done():
		return errors.Join(errNotStarted, w.failure(), context.Cause(ctx))
	}
}

// version is the identity of what the watch last saw of a Secret, "" when there is no labelled Secret of that name.
func (w *secretWatch) version(name types.NamespacedName) string {
	item, exists, err := w.informer.GetIndexer().GetByKey(name.String())
	if err != nil || !exists {
		return ""
	}
	meta, ok := item.(*metav1.PartialObjectMetadata)
	if !ok {
		return ""
	}
	return versionOf(&meta.ObjectMeta)
}

func versionOf(meta *metav1.ObjectMeta) string {
	return string(meta.UID) + "/" + meta.ResourceVersion
}

// slim drops everything but the identity, because there may be very many Secrets and none of the rest is used.
func slim(item any) (any, error) {
	meta, ok := item.(*metav1.PartialObjectMetadata)
	if !ok {
		return item, nil
	}
	return &metav1.PartialObjectMetadata{TypeMeta: meta.TypeMeta, ObjectMeta: metav1.ObjectMeta{
		Namespace: meta.Namespace, Name: meta.Name, UID: meta.UID, ResourceVersion: meta.ResourceVersion,
	}}, nil
}

func changeHandler(onChange func(types.NamespacedName)) cache.ResourceEventHandler {
	tell := func(item any) {
		if gone, ok := item.(cache.DeletedFinalStateUnknown); ok {
			item = gone.Obj
		}
		if meta, ok := item.(*metav1.PartialObjectMetadata); ok {
			onChange(types.NamespacedName{Namespace: meta.Namespace, Name: meta.Name})
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: tell,
		UpdateFunc: func(before, after any) {
			was, okBefore := before.(*metav1.PartialObjectMetadata)
			is, okAfter := after.(*metav1.PartialObjectMetadata)
			if okBefore && okAfter && versionOf(&was.ObjectMeta) == versionOf(&is.ObjectMeta) {
				return
			}
			tell(after)
		},
		DeleteFunc: tell,
	}
}
