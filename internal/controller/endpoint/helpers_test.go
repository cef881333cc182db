package endpoint

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine/endpoints"
	"github.com/restmapping/operator/pkg/httpapi"
)

const (
	patience = 30 * time.Second
	// token must not be seen anywhere but in the Authorization header.
	token = "s3cret-token-value"
)

// vault gives what a test wants for every Secret.
type vault struct {
	mu       sync.Mutex
	err      error
	version  string
	listener func(namespace, name string)
}

func (v *vault) Get(context.Context, string, string, string) (httpapi.Secret, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return httpapi.NewSecret(token), v.err
}

func (v *vault) Version(context.Context, string, string) (string, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.version, nil
}

func (v *vault) Subscribe(listener func(namespace, name string)) func() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.listener = listener
	return func() {}
}

func (v *vault) set(version string, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.version, v.err = version, err
}

// remote is a server whose answer can be changed.
type remote struct {
	*httptest.Server
	status   atomic.Int32
	requests atomic.Int32
	retry    atomic.Pointer[string]
}

func newRemote(t *testing.T) *remote {
	t.Helper()
	r := &remote{}
	r.status.Store(http.StatusOK)
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		r.requests.Add(1)
		w.Header().Set("Content-Type", "application/json")
		if after := r.retry.Load(); after != nil {
			w.Header().Set("Retry-After", *after)
		}
		w.WriteHeader(int(r.status.Load()))
		_, _ = w.Write([]byte(`{}`))
	}))
	t.Cleanup(r.Close)
	return r
}

// bench is one reconciler with a cluster, a registry and a clock of its own.
type bench struct {
	t          *testing.T
	client     client.Client
	vault      *vault
	registry   *endpoints.Registry
	clock      *testingclock.FakePassiveClock
	reconciler *reconciler[*v1alpha1.RestEndpoint]
	writes     atomic.Int32
	// use and unknown are what is known of the custom resources that use the endpoint.
	use     Use
	unknown error
	told    []string
}

// Of implements Users.
func (b *bench) Of(_ context.Context, _ endpoints.Ref, identity string) (Use, error) {
	if identity == "" {
		b.t.Error("asked without an identity")
	}
	return b.use, b.unknown
}

// Eventf implements eventRecorder.
func (b *bench) Eventf(_, _ runtime.Object, eventtype, reason, _, note string, args ...any) {
	b.told = append(b.told, eventtype+" "+reason+" "+fmt.Sprintf(note, args...))
}

func newBench(t *testing.T) *bench {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, vault: &vault{version: "1"}, clock: testingclock.NewFakePassiveClock(time.Now())}
	b.client = fake.NewClientBuilder().WithScheme(scheme).
		WithStatusSubresource(&v1alpha1.RestEndpoint{}, &v1alpha1.ClusterRestEndpoint{}).
		WithInterceptorFuncs(interceptor.Funcs{
			SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
				b.writes.Add(1)
				return c.SubResource(sub).Patch(ctx, o, p, opts...)
			},
		}).Build()
	b.registry = endpoints.New(endpoints.Config{Reader: b.client, Secrets: b.vault, OperatorNamespace: "system", Addresses: loopback()}, endpoints.WithClock(b.clock))
	b.reconciler = &reconciler[*v1alpha1.RestEndpoint]{kind: namespaced(), client: b.client, registry: b.registry, users: b, events: b, clock: b.clock}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
		defer cancel()
		if err := b.registry.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return b
}

var name = types.NamespacedName{Namespace: "team-a", Name: "gitea"}

func (b *bench) create(spec v1alpha1.EndpointSpec) {
	b.t.Helper()
	e := &v1alpha1.RestEndpoint{Spec: spec}
	e.Namespace, e.Name, e.UID, e.Generation = name.Namespace, name.Name, "uid", 1
	e.Status.ObservedGeneration = -1
	if err := b.client.Create(b.t.Context(), e); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) get() *v1alpha1.RestEndpoint {
	b.t.Helper()
	e := &v1alpha1.RestEndpoint{}
	if err := b.client.Get(b.t.Context(), name, e); err != nil {
		b.t.Fatal(err)
	}
	return e
}

// reconcile runs one pass, and checks of the result what must always hold.
func (b *bench) reconcile() (*v1alpha1.RestEndpoint, reconcile.Result) {
	b.t.Helper()
	result, err := b.reconciler.Reconcile(b.t.Context(), reconcile.Request{NamespacedName: name})
	if err != nil {
		b.t.Fatal(err)
	}
	e := b.get()
	checkStatus(b.t, e, e.Status)
	return e, result
}

// later moves the clock on, past what a probe's result is shared for.
func (b *bench) later() { b.clock.SetTime(b.clock.Now().Add(time.Minute)) }

// checkStatus checks what holds for every status that was written.
func checkStatus(t *testing.T, object client.Object, s v1alpha1.EndpointStatus) {
	t.Helper()
	ready := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady)
	if ready == nil {
		t.Fatalf("no Ready condition: %+v", s)
	}
	if s.ObservedGeneration != object.GetGeneration() {
		t.Errorf("observedGeneration %d at generation %d", s.ObservedGeneration, object.GetGeneration())
	}
	for _, c := range s.Conditions {
		if c.ObservedGeneration != s.ObservedGeneration || c.Reason == "" || c.Message == "" || len(c.Message) > maxMessage {
			t.Errorf("condition %+v", c)
		}
		if strings.Contains(c.Message, token) || strings.Contains(c.Message, "in-query") {
			t.Errorf("condition %s shows what nobody may see: %s", c.Type, c.Message)
		}
	}
	stalled := meta.IsStatusConditionTrue(s.Conditions, v1alpha1.ConditionStalled)
	reconciling := meta.IsStatusConditionTrue(s.Conditions, v1alpha1.ConditionReconciling)
	want := status.CurrentStatus
	switch {
	case stalled:
		want = status.FailedStatus
	case reconciling:
		want = status.InProgressStatus
	case ready.Status != metav1.ConditionTrue:
		t.Errorf("not ready, and neither Stalled nor Reconciling: %+v", s.Conditions)
	}
	if stalled && reconciling || ready.Status == metav1.ConditionTrue && (stalled || reconciling) {
		t.Errorf("conditions that contradict each other: %+v", s.Conditions)
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		t.Fatal(err)
	}
	computed, err := status.Compute(&unstructured.Unstructured{Object: content})
	if err != nil || computed.Status != want {
		t.Errorf("kstatus says %v (%v), want %s", computed, err, want)
	}
}

func readyReason(s v1alpha1.EndpointStatus) string {
	if ready := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady); ready != nil {
		return string(ready.Status) + " " + ready.Reason
	}
	return "none"
}

// loopback lets endpoints reach the servers of tests.
func loopback() httpapi.Addresses {
	return httpapi.Addresses{Allowed: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
}
