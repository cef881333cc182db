package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// hands is how many requests the driver makes at once: as many people applying as there are workers.
const hands = 10

// crew makes, changes and deletes the custom resources of one group.
type crew struct {
	client dynamic.ResourceInterface
	group  string
}

func newCrew(client dynamic.Interface, group string) *crew {
	gvr := schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource}
	return &crew{client: client.Resource(gvr).Namespace(namespace), group: group}
}

func widgetName(i int) string { return fmt.Sprintf("widget-%04d", i) }

func (c *crew) create(ctx context.Context, n, size int) error {
	return each(ctx, n, func(ctx context.Context, i int) error {
		w := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": c.group + "/v1", "kind": "Widget", "metadata": map[string]any{"name": widgetName(i)},
			"spec": map[string]any{
				"size": int64(size), "color": "blue", "note": fmt.Sprintf("number %d of the benchmark, with a note of common length", i),
				"tags": []any{"one", "two", "three"},
			},
		}}
		_, err := c.client.Create(ctx, w, metav1.CreateOptions{})
		return err
	})
}

func (c *crew) resize(ctx context.Context, n, size int) error {
	patch := fmt.Appendf(nil, `{"spec":{"size":%d}}`, size)
	return each(ctx, n, func(ctx context.Context, i int) error {
		_, err := c.client.Patch(ctx, widgetName(i), types.MergePatchType, patch, metav1.PatchOptions{})
		return err
	})
}

func (c *crew) remove(ctx context.Context, n int) error {
	return each(ctx, n, func(ctx context.Context, i int) error {
		err := c.client.Delete(ctx, widgetName(i), metav1.DeleteOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
}

// each calls do for 0 to n-1 with a bounded number of hands, and gives all errors. After the first no more is begun.
func each(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		next int
		errs []error
	)
	take := func() (int, bool) {
		mu.Lock()
		defer mu.Unlock()
		if next == n || ctx.Err() != nil {
			return 0, false
		}
		next++
		return next - 1, true
	}
	for range min(hands, n) {
		wg.Go(func() {
			for i, ok := take(); ok; i, ok = take() {
				if err := do(ctx, i); err != nil {
					cancel()
					mu.Lock()
					errs = append(errs, err)
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	if len(errs) == 0 {
		return ctx.Err()
	}
	return errors.Join(errs...)
}
