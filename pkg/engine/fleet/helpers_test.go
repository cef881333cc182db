package fleet_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"

	"github.com/restmapping/operator/pkg/engine/fleet"
)

// patience is how long a test waits for something that must happen.
const patience = 60 * time.Second

var (
	widgets = schema.GroupVersionResource{Group: "lab.example.com", Version: "v1", Resource: "widgets"}
	gadgets = schema.GroupVersionResource{Group: "lab.example.com", Version: "v1", Resource: "gadgets"}
)

// widget returns a custom resource as an API server would send it.
func widget(name, version string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "lab.example.com/v1",
		"kind":       "Widget",
		"metadata": map[string]any{
			"name":            name,
			"namespace":       "blue",
			"uid":             "uid-" + name,
			"resourceVersion": version,
		},
		"spec": map[string]any{"size": int64(3), "weight": 1.5},
	}}
}

func newFake(objects ...runtime.Object) *dynamicfake.FakeDynamicClient {
	return dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		widgets: "WidgetList", gadgets: "GadgetList",
	}, objects...)
}

func create(t *testing.T, client *dynamicfake.FakeDynamicClient, object *unstructured.Unstructured) {
	t.Helper()
	if _, err := client.Resource(widgets).Namespace("blue").Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func named(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "blue", Name: name}
}

// subscriber remembers what it is told.
type subscriber struct {
	mu      sync.Mutex
	events  []fleet.Event
	changes int
}

func (s *subscriber) handler() fleet.Handler {
	return fleet.Handler{
		OnEvent: func(e fleet.Event) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.events = append(s.events, e)
		},
		OnStateChange: func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.changes++
		},
	}
}

// seen lists the events in short, such as "Added a (initial)".
func (s *subscriber) seen() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	result := make([]string, 0, len(s.events))
	for _, e := range s.events {
		text := fmt.Sprintf("%s %s", e.Type, e.Name().Name)
		if e.Initial {
			text += " (initial)"
		}
		if e.Resync {
			text += " (resync)"
		}
		result = append(result, text)
	}
	return result
}

func (s *subscriber) has(event string) func() error {
	return func() error {
		if seen := s.seen(); !slices.Contains(seen, event) {
			return fmt.Errorf("no event %q in %q", event, seen)
		}
		return nil
	}
}

func (s *subscriber) stateChanges() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changes
}

// acquire subscribes and releases at the end of the test.
func acquire(t *testing.T, f *fleet.Fleet, owner string, key fleet.Key) (*fleet.Subscription, *subscriber) {
	t.Helper()
	s := &subscriber{}
	subscription, err := f.Acquire(owner, key, s.handler())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { release(t, subscription) })
	return subscription, s
}

func release(t *testing.T, s *fleet.Subscription) {
	t.Helper()
	//nolint:usetesting // called in cleanups too, where the test's context has ended
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := s.Release(ctx); err != nil {
		t.Error(err)
	}
}

func closeFleet(t *testing.T, f *fleet.Fleet) {
	t.Helper()
	//nolint:usetesting // called in cleanups too, where the test's context has ended
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := f.Close(ctx); err != nil {
		t.Error(err)
	}
}

func awaitSync(t *testing.T, s *fleet.Subscription) {
	t.Helper()
	select {
	case <-s.Synced():
	case <-time.After(patience):
		t.Fatalf("%s did not sync: %v", s.Key(), s.LastError())
	}
}

// eventually waits until check returns nil, and reports its last error if it never does.
func eventually(t *testing.T, check func() error) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func healthy(s *fleet.Subscription) func() error { return s.LastError }
