package main

import (
	"context"
	"errors"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
)

// view follows the custom resources of one group by a watch, so that looking costs the API server nothing.
type view struct {
	stop context.CancelFunc
	wg   sync.WaitGroup

	mu    sync.Mutex
	ready map[string]bool // by name: Ready at the present generation
}

func newView(ctx context.Context, client dynamic.Interface, group string) (*view, error) {
	ctx, stop := context.WithCancel(ctx)
	v := &view{stop: stop, ready: map[string]bool{}}
	gvr := schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource}
	informer := dynamicinformer.NewFilteredDynamicInformer(client, gvr, namespace, 0, cache.Indexers{}, nil).Informer()
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    v.keep,
		UpdateFunc: func(_, obj any) { v.keep(obj) },
		DeleteFunc: v.drop,
	})
	if err != nil {
		stop()
		return nil, err
	}
	v.wg.Go(func() { informer.RunWithContext(ctx) })
	if !cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
		v.close()
		return nil, errors.New("the driver's watch did not begin")
	}
	return v, nil
}

func (v *view) close() {
	v.stop()
	v.wg.Wait()
}

func (v *view) keep(obj any) {
	if w, ok := obj.(*unstructured.Unstructured); ok {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.ready[w.GetName()] = isReady(w.Object)
	}
}

func (v *view) drop(obj any) {
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = tombstone.Obj
	}
	if w, ok := obj.(*unstructured.Unstructured); ok {
		v.mu.Lock()
		defer v.mu.Unlock()
		delete(v.ready, w.GetName())
	}
}

// counts gives how many there are, and how many of them are ready at their present generation.
func (v *view) counts() (total, ready int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, ok := range v.ready {
		if ok {
			ready++
		}
	}
	return len(v.ready), ready
}

// isReady looks for Ready=True that was found for the present generation.
func isReady(object map[string]any) bool {
	generation, _, _ := unstructured.NestedInt64(object, "metadata", "generation")
	observed, _, _ := unstructured.NestedInt64(object, "status", "observedGeneration")
	list, _, _ := unstructured.NestedFieldNoCopy(object, "status", "conditions")
	conditions, _ := list.([]any)
	for _, item := range conditions {
		if c, ok := item.(map[string]any); ok && c["type"] == "Ready" {
			return c["status"] == "True" && c["observedGeneration"] == generation && observed == generation
		}
	}
	return false
}
