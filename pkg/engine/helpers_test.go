package engine

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/utils/clock"
	"sigs.k8s.io/yaml"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine/fleet"
	"github.com/restmapping/operator/pkg/engine/pass"
	"github.com/restmapping/operator/pkg/lifecycle"
	"github.com/restmapping/operator/pkg/mapping"
	"github.com/restmapping/operator/pkg/rest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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
  policy: {management: ObserveOnly}
  sync: {interval: 1h}
`

// compile makes a program of thingMapping; each call makes another. more is YAML below spec.
func compile(t *testing.T, more string) *mapping.Program {
	t.Helper()
	m := &v1alpha1.RestMapping{}
	if err := yaml.UnmarshalStrict([]byte(thingMapping+more), m); err != nil {
		t.Fatal(err)
	}
	program, err := mapping.Compile(m, mapping.TargetSchema{Namespaced: true, StatusSubresource: true})
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// thing is a custom resource as the API server gives it.
func thing(namespace, name string, changes ...func(*unstructured.Unstructured)) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "lab.example.com/v1", "kind": "Thing", "spec": map[string]any{"size": int64(3)},
		"status": map[string]any{"observedGeneration": int64(-1)},
	}}
	obj.SetNamespace(namespace)
	obj.SetName(name)
	obj.SetUID(types.UID("uid-" + namespace + "-" + name))
	obj.SetResourceVersion("1")
	obj.SetGeneration(1)
	for _, change := range changes {
		change(obj)
	}
	return obj
}

func compact(t *testing.T, obj *unstructured.Unstructured) *fleet.Object {
	t.Helper()
	out, err := fleet.NewObject(obj)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// outside stands for the endpoint, the Secrets and the events. It notes each look.
type outside struct {
	mu    sync.Mutex
	looks map[string]int
	// methods counts requests by method.
	methods map[string]int
	// hold, when set, keeps each request until it is closed; held tells that one is kept.
	hold chan struct{}
	held chan struct{}
	// fail makes every request end without an answer.
	fail atomic.Bool
	// done counts requests that came to their end with a context that was alive.
	done atomic.Int64
}

func (o *outside) Resolve(context.Context, v1alpha1.EndpointKind, string, string) (pass.Endpoint, error) {
	return o, nil
}

// Do implements pass.Server: nothing is there.
func (o *outside) Do(ctx context.Context, req rest.Request) rest.Exchange {
	o.mu.Lock()
	o.looks[req.Path]++
	o.methods[req.Method]++
	o.mu.Unlock()
	if o.hold != nil {
		select {
		case o.held <- struct{}{}:
		default:
		}
		select {
		case <-o.hold:
		case <-ctx.Done():
		}
	}
	if ctx.Err() == nil {
		o.done.Add(1)
	}
	if o.fail.Load() {
		return rest.Exchange{Failure: &rest.Failure{Kind: rest.TimedOut, Message: "no answer"}}
	}
	return rest.Exchange{Response: &rest.Response{Status: 404}}
}

func (o *outside) Probe(context.Context, time.Time) (bool, error) { return false, nil }
func (o *outside) Redact(text string) string                      { return text }
func (o *outside) Reference(_ rest.Request, reference string) (string, error) {
	return reference, nil
}
func (o *outside) Facts() mapping.EndpointFacts { return mapping.EndpointFacts{Name: "main"} }
func (o *outside) Identity() string             { return "server" }
func (o *outside) Timeout() time.Duration       { return time.Second }

func (o *outside) Value(context.Context, string, string, string) (string, error) {
	return "a value", nil
}

func (o *outside) Normal(*fleet.Object, string, string, string)  {}
func (o *outside) Warning(*fleet.Object, string, string, string) {}

// count is how often an object was looked at.
func (o *outside) count(name string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.looks["/things/"+name]
}

// bench is an engine on an API server in memory.
type bench struct {
	*testing.T
	client  *dynamicfake.FakeDynamicClient
	fleet   *fleet.Fleet
	outside *outside
	engine  *Engine
	// stop ends the engine and gives its error.
	stop func() error
}

func newBench(t *testing.T, objects ...runtime.Object) *bench {
	t.Helper()
	return newBenchWith(t, func(*Config) {}, objects...)
}

func newBenchWith(t *testing.T, change func(*Config), objects ...runtime.Object) *bench {
	t.Helper()
	b := &bench{
		T: t, outside: &outside{looks: map[string]int{}, methods: map[string]int{}, held: make(chan struct{}, 1)},
		client: dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
			thingsGVR: "ThingList", thingsGVR.GroupResource().WithVersion("v2"): "ThingList",
		}, objects...),
	}
	b.fleet = fleet.New(b.client)
	cfg := Config{
		Client: b.client, Fleet: b.fleet, Endpoints: b.outside, Secrets: b.outside, Keys: b.outside, Events: b.outside, Clock: clock.RealClock{},
		Workers: 2, MinInterval: time.Second, DrainTimeout: patience, Jitter: func() float64 { return 0.5 },
	}
	change(&cfg)
	b.engine = New(cfg)
	b.start()
	t.Cleanup(func() {
		if err := b.stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
		defer cancel()
		if err := b.fleet.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return b
}

func (b *bench) start() {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- b.engine.Start(ctx) }()
	b.stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	b.eventually("the engine runs", func() bool {
		b.engine.mu.Lock()
		defer b.engine.mu.Unlock()
		return b.engine.ctx != nil
	})
}

func spec(program *mapping.Program) Spec {
	return Spec{Name: "things", GVR: thingsGVR, Namespaced: true, Incarnation: "crd-1", Program: program}
}

func (b *bench) apply(s Spec) {
	b.Helper()
	if err := b.engine.Apply(s); err != nil {
		b.Fatal(err)
	}
}

// settled waits until every object was looked at, and no worker has anything to do.
func (b *bench) settled(names ...string) {
	b.Helper()
	b.eventually("all was looked at", func() bool {
		for _, name := range names {
			if b.outside.count(name) == 0 {
				return false
			}
		}
		return b.idle()
	})
}

func (b *bench) idle() bool {
	state, ok := b.engine.State("things")
	return ok && state.Synced && state.Queue.Ready == 0 && state.Queue.Running == 0
}

func (b *bench) eventually(what string, done func() bool) {
	b.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-deadline.C:
			b.Fatalf("not in time: %s", what)
		}
	}
}

func (b *bench) update(obj *unstructured.Unstructured) {
	b.Helper()
	if _, err := b.client.Resource(thingsGVR).Namespace(obj.GetNamespace()).Update(b.Context(), obj, metav1.UpdateOptions{}); err != nil {
		b.Fatal(err)
	}
}

// Ring implements pass.Keys.
func (o *outside) Ring() *lifecycle.Ring {
	ring, err := lifecycle.NewRing(map[string][]byte{lifecycle.SigningEntry: make([]byte, 32)}, time.Time{})
	if err != nil {
		panic(err)
	}
	return ring
}

// Again implements pass.Keys.
func (o *outside) Again(context.Context) *lifecycle.Ring { return o.Ring() }

// Place implements pass.Keys.
func (o *outside) Place() (string, error) { return "system/keys", nil }
