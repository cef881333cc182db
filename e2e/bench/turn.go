package main

import (
	"context"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/restmapping/operator/internal/controlplane"
)

// turn is one contender with n objects, from an empty server to an empty server.
type turn struct {
	plane     *controlplane.ControlPlane
	contender contender
	n         int
	server    *remote
	crew      *crew
	view      *view
}

// play lets a contender run through the scenarios with a fresh REST server and a fresh process.
func play(ctx context.Context, t turn, dir string, list []string, out io.Writer) ([]result, error) {
	client, err := dynamic.NewForConfig(t.plane.Admin())
	if err != nil {
		return nil, err
	}
	if t.server, err = startRemote(ctx, dir); err != nil {
		return nil, err
	}
	defer t.server.stop()
	t.crew = newCrew(client, t.contender.group())
	if t.view, err = newView(ctx, client, t.contender.group()); err != nil {
		return nil, err
	}
	defer t.view.close()
	if err := t.contender.prepare(ctx, t.server.URL); err != nil {
		return nil, err
	}
	defer t.contender.stop()
	if err := t.contender.start(ctx); err != nil {
		return nil, err
	}
	if err := t.serving(ctx, client); err != nil {
		return nil, err
	}
	var results []result
	for _, name := range list {
		r, err := t.run(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("%s with %d objects: %w", t.contender.name(), t.n, err)
		}
		fmt.Fprintln(out, progress(r))
		results = append(results, r)
	}
	return results, nil
}

// serving waits until the operator serves the mapping; the other contender needs none.
func (t *turn) serving(ctx context.Context, client dynamic.Interface) error {
	if t.contender.group() != mappedGroup {
		return nil
	}
	mappings := client.Resource(schema.GroupVersionResource{Group: "restmapping.dev", Version: "v1alpha1", Resource: "restmappings"})
	return await(ctx, "mapping", func(ctx context.Context) (string, error) {
		got, err := mappings.Get(ctx, resource, metav1.GetOptions{})
		if err != nil || isReady(got.Object) {
			return "", err
		}
		status, _, _ := unstructured.NestedFieldNoCopy(got.Object, "status")
		return fmt.Sprintf("its status is %v", status), nil
	})
}
