package pass_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/yaml"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/internal/lab"
	"github.com/restmapping/operator/internal/restfake"
	"github.com/restmapping/operator/pkg/engine/pass"
	"github.com/restmapping/operator/pkg/engine/queue"
	"github.com/restmapping/operator/pkg/lifecycle"
	"github.com/restmapping/operator/pkg/mapping"
)

const thingSchema = `
type: object
properties:
  apiVersion: {type: string}
  kind: {type: string}
  metadata: {type: object}
  spec:
    type: object
    properties:
      size: {type: integer}
      color: {type: string}
      name: {type: string}
      server: {type: string}
      teams: {type: array, items: {type: object, properties: {name: {type: string}, role: {type: string}}}}
      guests: {type: array, items: {type: object, properties: {name: {type: string}, role: {type: string}}}}
      passwordRef: {type: object, properties: {name: {type: string}, key: {type: string}}}
  status:
    type: object
    properties:
      observedGeneration: {type: integer}
      conditions:
        type: array
        items:
          type: object
          properties:
            type: {type: string}
            status: {type: string}
            reason: {type: string}
            message: {type: string}
            lastTransitionTime: {type: string, format: date-time}
            observedGeneration: {type: integer}
      identifiers: {type: object, additionalProperties: {type: string}}
      lastError: {type: object, properties: {operation: {type: string}, httpStatus: {type: integer}, message: {type: string}}}
      drift: {type: array, items: {type: string}}
      lastHandledReconcileAt: {type: string}
      size: {type: integer}
      hint: {type: string}
`

// timesOfTests makes the settle time a minute: thirty seconds of request, twenty of slack, ten of window.
const timesOfTests = `
  sync: {interval: 10m, consistencyWindow: 10s, serverSlack: 20s}
`

const settleTime = time.Minute

// The mappings of the tests, one for each class of create safety.
const (
	upsertMapping = `
  identifiers: [{name: id, value: self.metadata.name}]
  operations:
    read: {path: "/things/{id}"}
    create: {method: PUT, path: "/things/{id}"}
    update: {method: PUT, path: "/things/{id}"}
    delete: {path: "/things/{id}"}
  fields: [{from: spec.size, to: size}, {from: spec.color, to: color}]
  status: [{to: size, value: observed.size}]
`
	uniqueMapping = `
  identifiers: [{name: id, value: self.metadata.name}]
  operations:
    read: {path: "/things/{id}"}
    create: {path: "/things"}
    update: {method: PATCH, path: "/things/{id}"}
    delete: {path: "/things/{id}"}
  fields:
  - {value: self.metadata.name, to: id, operations: [Create]}
  - {from: spec.size, to: size}
  - {from: spec.color, to: color}
`
	markerMapping = `
  identifiers: [{name: id, assigned: response.body.id}]
  operations:
    read: {path: "/things/{id}"}
    list: {path: "/things", match: item.owner == self.metadata.uid}
    create: {path: "/things"}
    update: {method: PATCH, path: "/things/{id}"}
    delete: {path: "/things/{id}"}
  fields:
  - {value: self.metadata.uid, to: owner, operations: [Create]}
  - {from: spec.size, to: size}
  - {from: spec.color, to: color}
`
	noneMapping = `
  identifiers: [{name: id, assigned: response.body.id}]
  operations:
    read: {path: "/things/{id}"}
    create: {path: "/things"}
    update: {method: PATCH, path: "/things/{id}"}
    delete: {path: "/things/{id}"}
  fields: [{from: spec.size, to: size}, {from: spec.color, to: color}]
`
	// keyedMapping is of things with a unique name and an id that the server gives.
	keyedMapping = `
  identifiers: [{name: id, assigned: response.body.id}]
  operations:
    read: {path: "/things/{id}"}
    list: {path: "/things", match: item.name == self.metadata.name}
    create: {path: "/things", safety: UniqueKey}
    update: {method: PATCH, path: "/things/{id}"}
    delete: {path: "/things/{id}"}
  fields:
  - {value: self.metadata.name, to: name, operations: [Create]}
  - {from: spec.size, to: size}
`
)

// The collections behind them.
func upsertThings() restfake.Collection {
	return restfake.Collection{Path: "/things", IDs: restfake.Chosen, Upsert: true}
}

func uniqueThings() restfake.Collection {
	return restfake.Collection{Path: "/things", IDs: restfake.Chosen}
}

func markedThings() restfake.Collection {
	return restfake.Collection{Path: "/things", DuplicateKey: "owner"}
}

func plainThings() restfake.Collection { return restfake.Collection{Path: "/things"} }

func keyedThings() restfake.Collection {
	return restfake.Collection{Path: "/things", Unique: [][]string{{"name"}}}
}

// bench is a reconciler between an API server and a REST server, both in memory.
type bench struct {
	*testing.T
	clock    *testingclock.FakePassiveClock
	journal  *journal
	store    *store
	server   *server
	vault    *vault
	keys     *keyring
	events   *events
	outputs  *cupboard
	claims   *pass.Claims
	program  *mapping.Program
	jitter   float64
	observed []pass.Summary
	// referents is nil where the mapping refers to nothing.
	referents pass.Referents
	// deletions is the guard that a process has; nil for none.
	deletions pass.Deletions

	// tracer is nil when nothing is traced.
	tracer trace.Tracer

	reconciler *pass.Reconciler
}

// newBench makes a bench for a mapping, given as YAML below spec.
func newBench(t *testing.T, body string, collections ...restfake.Collection) *bench {
	t.Helper()
	b := &bench{
		T: t, clock: testingclock.NewFakePassiveClock(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)), journal: &journal{},
		vault: &vault{values: map[string]string{}}, keys: newKeyring(t, "a"), events: &events{}, claims: pass.NewClaims(), jitter: 0.5,
	}
	b.store = newStore(t, b.journal)
	b.outputs = newCupboard(b.journal)
	b.server = newServer(t, b.journal, b.clock, collections...)
	b.program = compile(t, body)
	b.restart()
	b.advance(settleTime) // whatever an earlier process may have sent has had its time
	return b
}

func compile(t *testing.T, body string) *mapping.Program {
	t.Helper()
	return compileWith(t, body, thingSchema)
}

func compileWith(t *testing.T, body, definition string) *mapping.Program {
	t.Helper()
	m := &v1alpha1.RestMapping{}
	text := "metadata: {name: things, generation: 1}\nspec:\n  target: {group: lab.example.com, version: v1, kind: Thing}\n"
	if !strings.Contains(body, "\n  endpoint:") {
		text += "  endpoint: {kind: RestEndpoint, name: main}\n"
	}
	if !strings.Contains(body, "\n  sync:") {
		body += timesOfTests
	}
	if err := yaml.UnmarshalStrict([]byte(text+body), m); err != nil {
		t.Fatalf("mapping of the test: %v", err)
	}
	schema := &apiextensionsv1.JSONSchemaProps{}
	if err := yaml.UnmarshalStrict([]byte(definition), schema); err != nil {
		t.Fatalf("schema of the test: %v", err)
	}
	program, err := mapping.Compile(m, mapping.TargetSchema{Namespaced: true, StatusSubresource: true, Schema: schema},
		mapping.ReferenceSchema{Name: "folder", Namespaced: true})
	if err != nil {
		t.Fatalf("compile: %v", err)
	}
	return program
}

// restart is another process: all memory is lost.
func (b *bench) restart() {
	b.claims = pass.NewClaims()
	b.reconciler = pass.New(pass.Config{
		Objects: b.store, Writer: b.store, Endpoints: b.server, Secrets: b.vault, Keys: b.keys, Outputs: b.outputs, Events: b.events, Claims: b.claims,
		Referents: b.referents, Deletions: b.deletions,
		Clock: b.clock, LeaderSince: b.clock.Now(), MinInterval: time.Second,
		Jitter:  func() float64 { return b.jitter },
		Observe: func(s pass.Summary) { b.observed = append(b.observed, s) },
		Tracer:  b.tracer,
	}, b.program)
}

func (b *bench) advance(d time.Duration) { b.clock.SetTime(b.clock.Now().Add(d)) }

func named(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "team", Name: name}
}

// create makes a custom resource, with the default that our CRDs have. spec is a YAML flow mapping.
func (b *bench) create(name, spec string) {
	b.Helper()
	var fields any
	text, err := yaml.YAMLToJSON([]byte(spec))
	if err == nil {
		err = utiljson.Unmarshal(text, &fields)
	}
	if err != nil {
		b.Fatalf("spec of %s: %v", name, err)
	}
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "lab.example.com/v1", "kind": "Thing",
		"metadata": map[string]any{"name": name, "namespace": "team", "uid": "uid-" + name, "generation": int64(1)},
		"spec":     fields, "status": map[string]any{"observedGeneration": int64(-1)},
	}}
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	b.store.put(named(name), nil, obj)
}

// edit changes a custom resource as a person does: a change of its spec is a new generation.
func (b *bench) edit(name string, change func(obj *unstructured.Unstructured)) {
	b.Helper()
	_, err := b.store.apply(named(name), func(obj *unstructured.Unstructured) error {
		before := obj.DeepCopy()
		change(obj)
		if diff := cmp.Diff(before.Object["spec"], obj.Object["spec"]); diff != "" {
			obj.SetGeneration(obj.GetGeneration() + 1)
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}

func (b *bench) setSpec(name, field string, value any) {
	b.Helper()
	b.edit(name, func(obj *unstructured.Unstructured) {
		if err := unstructured.SetNestedField(obj.Object, value, "spec", field); err != nil {
			b.Fatal(err)
		}
	})
}

// annotate sets annotations; an empty value removes one.
func (b *bench) annotate(name, annotation, value string) {
	b.Helper()
	b.edit(name, func(obj *unstructured.Unstructured) {
		annotations := obj.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[annotation] = value
		if value == "" {
			delete(annotations, annotation)
		}
		obj.SetAnnotations(annotations)
	})
}

// delete deletes a custom resource as the API server does: finalizers hold it.
func (b *bench) delete(name string) {
	b.Helper()
	b.edit(name, func(obj *unstructured.Unstructured) {
		now := metav1.NewTime(b.clock.Now())
		obj.SetDeletionTimestamp(&now)
		obj.SetGeneration(obj.GetGeneration() + 1)
	})
}

// look makes one pass over a custom resource.
func (b *bench) look(name string) queue.Result {
	b.Helper()
	result := b.reconciler.Handle(b.Context(), named(name))
	if obj := b.store.peek(named(name)); obj != nil && conditionOf(obj, v1alpha1.ConditionReady) != nil {
		if problems := lab.Problems(obj); len(problems) > 0 {
			b.Errorf("status of %s: %s\n%v", name, strings.Join(problems, "; "), obj.Object["status"])
		}
	}
	return result
}

// settled makes a custom resource and passes until it is ready, and forgets what happened on the way.
func (b *bench) settled(name, spec string) {
	b.Helper()
	b.create(name, spec)
	b.look(name)
	b.wantCondition(name, v1alpha1.ConditionReady, "True Available")
	b.journal.take()
	b.events.take()
}

// follow makes passes, and lets the time pass between them that each asks for, until done says so.
func (b *bench) follow(name string, done func() bool) {
	b.Helper()
	for range 20 {
		result := b.look(name)
		if done() {
			return
		}
		switch {
		case result.After > 0:
			b.advance(result.After)
		case result.Err != nil:
			b.advance(2 * time.Second)
		default:
			b.Fatalf("nothing brings %s back; so far: %q", name, b.journal.take())
		}
	}
	b.Fatalf("no end after 20 passes; %s is %v; so far: %q", name, b.obj(name).Object["status"], b.journal.take())
}

func (b *bench) gone(name string) func() bool {
	return func() bool { return b.store.peek(named(name)) == nil }
}

func (b *bench) is(name, kind, want string) func() bool {
	return func() bool { return conditionText(b.obj(name), kind) == want }
}

// obj gives a custom resource, which must be there.
func (b *bench) obj(name string) *unstructured.Unstructured {
	b.Helper()
	obj := b.store.peek(named(name))
	if obj == nil {
		b.Fatalf("%s is gone; so far: %q", name, b.journal.take())
	}
	return obj
}

func (b *bench) status(name string) map[string]any {
	b.Helper()
	status, _ := b.obj(name).Object["status"].(map[string]any)
	return status
}

func (b *bench) record(name string) lifecycle.Record {
	b.Helper()
	record, err := lifecycle.DecodeRecord(b.obj(name).GetAnnotations()[v1alpha1.RecordAnnotation])
	if err != nil || record == nil {
		b.Fatalf("record of %s: %v, %v", name, record, err)
	}
	return *record
}

// happened checks what was written and sent since the last check, in order.
func (b *bench) happened(want ...string) {
	b.Helper()
	if diff := cmp.Diff(want, b.journal.take()); diff != "" {
		b.Errorf("writes and requests (-want +got):\n%s", diff)
	}
}

// nothingSent checks that no mutating request was sent since the last check.
func (b *bench) nothingSent() {
	b.Helper()
	for _, line := range b.journal.take() {
		for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} {
			if strings.HasPrefix(line, method+" ") {
				b.Errorf("sent %s", line)
			}
		}
	}
}

// wantCondition compares a condition, as "status reason".
func (b *bench) wantCondition(name, kind, want string) {
	b.Helper()
	if got := conditionText(b.obj(name), kind); got != want {
		b.Errorf("%s of %s is %q, want %q: %v", kind, name, got, want, b.status(name))
	}
}

// wantConditions compares all conditions, each as "type status reason".
func (b *bench) wantConditions(name string, want ...string) {
	b.Helper()
	got := []string{}
	for _, kind := range []string{"Ready", "Synced", "Reconciling", "Stalled"} {
		if text := conditionText(b.obj(name), kind); text != "" {
			got = append(got, kind+" "+text)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		b.Errorf("conditions (-want +got):\n%s\n%v", diff, b.status(name))
	}
}

// wantMessage checks that the message of a condition says each of these things.
func (b *bench) wantMessage(name, kind string, parts ...string) {
	b.Helper()
	message := fmt.Sprint(conditionOf(b.obj(name), kind)["message"])
	for _, part := range parts {
		if !strings.Contains(message, part) {
			b.Errorf("%s does not say %q: %s", kind, part, message)
		}
	}
}

// wantLive checks how many objects are outside, and that none was ever there twice.
func (b *bench) wantLive(want int) {
	b.Helper()
	if live := b.server.Live("/things"); len(live) != want {
		b.Errorf("outside there are %d objects, want %d: %v", len(live), want, live)
	}
	if twice := b.server.Duplicates(); len(twice) > 0 {
		b.Errorf("doubled outside: %v", twice)
	}
}

func (b *bench) wantEvents(want ...string) {
	b.Helper()
	if diff := cmp.Diff(want, b.events.take()); diff != "" {
		b.Errorf("events (-want +got):\n%s", diff)
	}
}

// failOnce fails the first write whose line in the journal begins so.
func (b *bench) failOnce(prefix string, err error) {
	left := 1
	b.store.before = func(line string) error {
		if left > 0 && strings.HasPrefix(line, prefix) {
			left--
			return err
		}
		return nil
	}
}

var errAPIServer = errors.New("the API server does not answer")
