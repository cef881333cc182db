package outputs

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

	"github.com/restmapping/operator/api/v1alpha1"
)

// syncLimit is how long a question waits for the first listing.
const syncLimit = 5 * time.Second

var errNotListed = errors.New("the first listing has not come yet")

// watch is the metadata-only informer on what the operator wrote, of one kind, in one namespace or in all.
type watch struct {
	informer cache.SharedIndexInformer
	// lastError is the result of the last list or watch request.
	lastError atomic.Pointer[error]
}

func newWatch(client metadata.Interface, at place, changed func(string, metav1.OwnerReference)) (*watch, error) {
	w := &watch{}
	w.informer = cache.NewSharedIndexInformer(w.listWatch(client, at), &metav1.PartialObjectMetadata{}, 0, cache.Indexers{})
	if err := w.informer.SetTransform(slim); err != nil {
		return nil, err
	}
	if changed == nil {
		return w, nil
	}
	_, err := w.informer.AddEventHandler(handler(changed))
	return w, err
}

func (w *watch) listWatch(client metadata.Interface, at place) cache.ListerWatcher {
	resource := "secrets"
	if at.kind == v1alpha1.OutputConfigMap {
		resource = "configmaps"
	}
	objects := client.Resource(corev1.SchemeGroupVersion.WithResource(resource)).Namespace(at.namespace)
	selector := labels.Set{v1alpha1.OutputLabel: "true"}.String()
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
	}, client)
}

func (w *watch) failure() error {
	if last := w.lastError.Load(); last != nil {
		return *last
	}
	return nil
}

// wait returns when the first listing is complete, or with the reason why it is not.
func (w *watch) wait(ctx context.Context) error {
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
		return errors.Join(errNotListed, w.failure())
	}
}

func (w *watch) version(name types.NamespacedName) string {
	item, exists, err := w.informer.GetIndexer().GetByKey(name.String())
	if err != nil || !exists {
		return ""
	}
	meta, ok := item.(*metav1.PartialObjectMetadata)
	if !ok {
		return ""
	}
	return meta.ResourceVersion
}

// slim keeps what is asked for.
func slim(item any) (any, error) {
	meta, ok := item.(*metav1.PartialObjectMetadata)
	if !ok {
		return item, nil
	}
	kept := metav1.ObjectMeta{Namespace: meta.Namespace, Name: meta.Name, UID: meta.UID, ResourceVersion: meta.ResourceVersion}
	if owner := metav1.GetControllerOfNoCopy(meta); owner != nil {
		kept.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	if note, ok := meta.Annotations[v1alpha1.OutputAnnotation]; ok {
		kept.Annotations = map[string]string{v1alpha1.OutputAnnotation: note}
	}
	return &metav1.PartialObjectMetadata{TypeMeta: meta.TypeMeta, ObjectMeta: kept}, nil
}

// handler tells of what somebody else did. Each of our own writes changes the annotation, and none deletes.
func handler(changed func(string, metav1.OwnerReference)) cache.ResourceEventHandler {
	tell := func(item any) {
		if gone, ok := item.(cache.DeletedFinalStateUnknown); ok {
			item = gone.Obj
		}
		if meta, ok := item.(*metav1.PartialObjectMetadata); ok {
			if owner := metav1.GetControllerOfNoCopy(meta); owner != nil {
				changed(meta.Namespace, *owner)
			}
		}
	}
	return cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(before, after any) {
			was, okBefore := before.(*metav1.PartialObjectMetadata)
			is, okAfter := after.(*metav1.PartialObjectMetadata)
			if !okBefore || !okAfter || was.ResourceVersion == is.ResourceVersion {
				return
			}
			if note(was) == note(is) {
				tell(before)
			}
		},
		DeleteFunc: tell,
	}
}

func note(meta *metav1.PartialObjectMetadata) string {
	return meta.Annotations[v1alpha1.OutputAnnotation]
}
