package controlplane

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

const (
	// fieldManager owns what is applied here.
	fieldManager = "restmapping-apply"
	// applyLimit bounds how long one object may wait for its kind to be served, and a CRD to be established.
	applyLimit = 30 * time.Second
	applyPause = 50 * time.Millisecond
)

// ApplyFile applies every object of a YAML file: see ApplyYAML.
func ApplyFile(ctx context.Context, config *rest.Config, path string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := ApplyYAML(ctx, config, content); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// ApplyYAML applies every object of a YAML text with server-side apply, in the order in which they stand there. It
// returns when all CRDs among them are served, so that objects of a new kind may follow in the same text. A namespaced
// object without a namespace goes into "default".
func ApplyYAML(ctx context.Context, config *rest.Config, content []byte) error {
	objects, err := decode(content)
	if err != nil {
		return err
	}
	a, err := newApplier(config)
	if err != nil {
		return err
	}
	for _, object := range objects {
		if err := a.apply(ctx, object); err != nil {
			return fmt.Errorf("apply %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

// decode splits a YAML text into its objects. Empty documents are left out.
func decode(content []byte) ([]*unstructured.Unstructured, error) {
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096)
	var objects []*unstructured.Unstructured
	for {
		var fields map[string]any
		err := decoder.Decode(&fields)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", len(objects)+1, err)
		}
		if len(fields) > 0 {
			objects = append(objects, &unstructured.Unstructured{Object: fields})
		}
	}
}

type applier struct {
	dynamic dynamic.Interface
	mapper  *restmapper.DeferredDiscoveryRESTMapper
}

func newApplier(config *rest.Config) (*applier, error) {
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("dynamic client: %w", err)
	}
	kinds, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("discovery client: %w", err)
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(kinds))
	return &applier{dynamic: objects, mapper: mapper}, nil
}

func (a *applier) apply(ctx context.Context, object *unstructured.Unstructured) error {
	client, err := a.resource(ctx, object)
	if err != nil {
		return err
	}
	applied, err := client.Apply(ctx, object.GetName(), object, metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
	if err != nil {
		return err
	}
	if object.GetKind() == "CustomResourceDefinition" {
		return waitEstablished(ctx, client, applied)
	}
	return nil
}

// resource finds the API path of an object's kind. A kind that is not served is asked for again for a while: the
// discovery documents of a new CRD appear shortly after it is established.
func (a *applier) resource(ctx context.Context, object *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	kind := object.GroupVersionKind()
	var found *meta.RESTMapping
	var last error
	err := wait.PollUntilContextTimeout(ctx, applyPause, applyLimit, true, func(context.Context) (bool, error) {
		if found, last = a.mapper.RESTMapping(kind.GroupKind(), kind.Version); meta.IsNoMatchError(last) {
			a.mapper.Reset()
			return false, nil
		}
		return last == nil, last
	})
	if err != nil {
		return nil, fmt.Errorf("find the API of %s: %w", kind, errors.Join(last, err))
	}
	client := a.dynamic.Resource(found.Resource)
	if found.Scope.Name() != meta.RESTScopeNameNamespace {
		return client, nil
	}
	namespace := object.GetNamespace()
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	return client.Namespace(namespace), nil
}

func waitEstablished(ctx context.Context, client dynamic.ResourceInterface, crd *unstructured.Unstructured) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, applyPause, applyLimit, true, func(ctx context.Context) (bool, error) {
		if last = established(crd); last == nil {
			return true, nil
		}
		var err error
		crd, err = client.Get(ctx, crd.GetName(), metav1.GetOptions{})
		return false, err
	})
	if err != nil {
		return fmt.Errorf("wait until it is established: %w", errors.Join(last, err))
	}
	return nil
}

// established says what a CRD still lacks.
func established(crd *unstructured.Unstructured) error {
	conditions, _, err := unstructured.NestedSlice(crd.Object, "status", "conditions")
	if err != nil {
		return err
	}
	for _, item := range conditions {
		condition, ok := item.(map[string]any)
		if ok && condition["type"] == "Established" && condition["status"] == "True" {
			return nil
		}
	}
	return fmt.Errorf("not established, its conditions are %v", conditions)
}
