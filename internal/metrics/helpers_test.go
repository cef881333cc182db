package metrics_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/utils/clock"
	"sigs.k8s.io/yaml"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/internal/metrics"
	"github.com/restmapping/operator/pkg/engine"
	"github.com/restmapping/operator/pkg/engine/fleet"
	"github.com/restmapping/operator/pkg/engine/pass"
	"github.com/restmapping/operator/pkg/lifecycle"
	"github.com/restmapping/operator/pkg/mapping"
)

// patience is how long a test waits for something that must happen.
const patience = 30 * time.Second

var thingsGVR = schema.GroupVersionResource{Group: "lab.example.com", Version: "v1", Resource: "things"}

const thingMapping = `
metadata: {name: things, generation: 1}
spec:
  target: {group: lab.example.com, version: v1, kind: Thing}
  endpoint: {kind: RestEndpoint, name: main}
  identifiers: [{name: id, value: self.metadata.name}]
  operations: {read: {path: "/things/{id}"}}
`

// nothingThere stands for endpoints, Secrets and events: every pass ends with a retry.
type nothingThere struct{}

func (nothingThere) Resolve(context.Context, v1alpha1.EndpointKind, string, string) (pass.Endpoint, error) {
	return nil, &pass.UnavailableError{Reason: v1alpha1.ReasonEndpointNotFound, Err: errors.New("no endpoint")}
}

func (nothingThere) Value(context.Context, string, string, string) (string, error) {
	return "", errors.New("no Secret")
}

func (nothingThere) Ring() *lifecycle.Ring {
	ring, err := lifecycle.NewRing(map[string][]byte{lifecycle.SigningEntry: make([]byte, 32)}, time.Time{})
	if err != nil {
		panic(err)
	}
	return ring
}
func (n nothingThere) Again(context.Context) *lifecycle.Ring       { return n.Ring() }
func (nothingThere) Place() (string, error)                        { return "system/keys", nil }
func (nothingThere) Normal(*fleet.Object, string, string, string)  {}
func (nothingThere) Warning(*fleet.Object, string, string, string) {}

// registry remembers what was registered.
type registry struct {
	*prometheus.Registry
	collectors []prometheus.Collector
}

// MustRegister implements prometheus.Registerer.
func (r *registry) MustRegister(collectors ...prometheus.Collector) {
	r.collectors = append(r.collectors, collectors...)
	r.Registry.MustRegister(collectors...)
}

// bench is a meter on an engine with custom resources that only the API server's memory knows.
type bench struct {
	registry *registry
	meter    *metrics.Meter
	engine   *engine.Engine
}

func newBench(t *testing.T, names ...string) *bench {
	t.Helper()
	var objects []runtime.Object
	for _, name := range names {
		obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "lab.example.com/v1", "kind": "Thing"}}
		obj.SetName(name)
		obj.SetNamespace("team")
		obj.SetUID("uid")
		obj.SetResourceVersion("1")
		obj.SetGeneration(1)
		objects = append(objects, obj)
	}
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{thingsGVR: "ThingList"}, objects...)
	b := &bench{registry: &registry{Registry: prometheus.NewRegistry()}}
	b.meter = metrics.New(b.registry)
	watches := fleet.New(client)
	b.engine = engine.New(engine.Config{
		Client: client, Fleet: watches, Endpoints: nothingThere{}, Secrets: nothingThere{}, Keys: nothingThere{}, Events: nothingThere{}, Clock: clock.RealClock{},
		Workers: 1, MinInterval: time.Second, DrainTimeout: patience, Jitter: func() float64 { return 0 }, Observe: b.meter.Pass,
	})
	b.meter.Watch(b.engine)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- b.engine.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		closing, end := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
		defer end()
		if err := watches.Close(closing); err != nil {
			t.Error(err)
		}
	})
	return b
}

// run applies the mapping, as soon as the engine takes it.
func (b *bench) run(t *testing.T) {
	t.Helper()
	m := &v1alpha1.RestMapping{}
	if err := yaml.UnmarshalStrict([]byte(thingMapping), m); err != nil {
		t.Fatal(err)
	}
	program, err := mapping.Compile(m, mapping.TargetSchema{Namespaced: true, StatusSubresource: true})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the engine runs", func() bool {
		err := b.engine.Apply(engine.Spec{Name: "things", GVR: thingsGVR, Namespaced: true, Incarnation: "1", Program: program})
		return err == nil
	})
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("not in time: %s", what)
		}
	}
}

func (b *bench) families(t *testing.T) []*dto.MetricFamily {
	t.Helper()
	families, err := b.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	return families
}
