//go:build cluster

package endpoint

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/internal/controlplane"
	"github.com/restmapping/operator/pkg/engine/endpoints"
	"github.com/restmapping/operator/pkg/engine/secrets"
)

const (
	crds      = "../../../deploy/helm/restmapping-operator/files/crds"
	goodToken = "good-token-value"
)

// guarded is a REST server that knows one token and counts its probes.
type guarded struct {
	*httptest.Server
	probes atomic.Int32
}

func newGuarded(t *testing.T) *guarded {
	t.Helper()
	g := &guarded{}
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.probes.Add(1)
		w.Header().Set("Content-Type", "application/json")
		if r.Header.Get("Authorization") != "Bearer "+goodToken {
			w.WriteHeader(http.StatusUnauthorized)
		}
		_, _ = w.Write([]byte(`{}`))
	}))
	t.Cleanup(g.Close)
	return g
}

// stage is a manager with the endpoint controllers on a real API server.
type stage struct {
	t      *testing.T
	client client.Client
	writes *atomic.Int32
}

func newStage(t *testing.T) *stage {
	t.Helper()
	c := controlplane.ForTest(t)
	for _, file := range []string{"restmapping.dev_restendpoints.yaml", "restmapping.dev_clusterrestendpoints.yaml"} {
		if err := controlplane.ApplyFile(t.Context(), c.Admin(), filepath.Join(crds, file)); err != nil {
			t.Fatal(err)
		}
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, corev1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	plain, err := client.New(c.Admin(), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{t: t, client: plain, writes: &atomic.Int32{}}
	s.start(c, scheme)
	return s
}

type countWrites struct {
	next   http.RoundTripper
	writes *atomic.Int32
}

func (c countWrites) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet {
		c.writes.Add(1)
	}
	return c.next.RoundTrip(r)
}

func (s *stage) start(c *controlplane.ControlPlane, scheme *runtime.Scheme) {
	s.t.Helper()
	config := c.Admin()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return countWrites{next, s.writes} })
	manager, err := ctrl.NewManager(config, ctrl.Options{Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		s.t.Fatal(err)
	}
	resolver, err := secrets.New(secrets.Config{
		Metadata: metadata.NewForConfigOrDie(config), Secrets: kubernetes.NewForConfigOrDie(config).CoreV1(),
	})
	if err != nil {
		s.t.Fatal(err)
	}
	registry := endpoints.New(endpoints.Config{Reader: manager.GetCache(), Secrets: resolver, OperatorNamespace: "operator", Addresses: loopback()})
	if err := manager.Add(resolver); err != nil {
		s.t.Fatal(err)
	}
	if err := SetupWithManager(manager, registry, nobody{}); err != nil {
		s.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(s.t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(ctx) }()
	s.t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			s.t.Error(err)
		}
		closing, cancel := context.WithTimeout(context.WithoutCancel(s.t.Context()), patience)
		defer cancel()
		if err := registry.Close(closing); err != nil {
			s.t.Error(err)
		}
	})
}

func (s *stage) apply(objects ...client.Object) {
	s.t.Helper()
	for _, object := range objects {
		if err := s.client.Create(s.t.Context(), object); err != nil {
			s.t.Fatal(err)
		}
	}
}

// becomes waits until Ready is this, and checks the status then.
func (s *stage) becomes(object client.Object, of func() v1alpha1.EndpointStatus, want string) {
	s.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		if err := s.client.Get(s.t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			s.t.Fatal(err)
		}
		if readyReason(of()) == want {
			checkStatus(s.t, object, of())
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("Ready is %s, want %s; conditions %+v", readyReason(of()), want, of().Conditions)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func namespaceCalled(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func secretWith(namespace, value string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "token", Labels: map[string]string{v1alpha1.AllowReadLabel: "true"}},
		StringData: map[string]string{"token": value},
	}
}

func clusterSpec(url string, interval time.Duration) v1alpha1.EndpointSpec {
	s := spec(url)
	s.Query = nil
	s.Probe.Interval = metav1.Duration{Duration: interval}
	return s
}

// Both kinds, one manager: controller-runtime wants controllers' names to be unique in a process.
func TestOnARealServer(t *testing.T) {
	s, server := newStage(t), newGuarded(t)
	s.apply(namespaceCalled("team-a"), namespaceCalled("operator"))
	e := &v1alpha1.RestEndpoint{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "gitea"}, Spec: clusterSpec(server.URL, time.Hour),
	}
	shared := &v1alpha1.ClusterRestEndpoint{
		ObjectMeta: metav1.ObjectMeta{Name: "shared"},
		Spec:       v1alpha1.ClusterEndpointSpec{EndpointSpec: clusterSpec(server.URL, 10*time.Second)},
	}
	s.apply(e, shared)
	own := func() v1alpha1.EndpointStatus { return e.Status }
	ofShared := func() v1alpha1.EndpointStatus { return shared.Status }

	s.becomes(e, own, "False SecretNotFound")
	s.becomes(shared, ofShared, "False SecretNotFound")
	secret := secretWith("team-a", "wrong")
	s.apply(secret, secretWith("operator", goodToken))
	s.becomes(shared, ofShared, "True ProbeSucceeded")
	s.becomes(e, own, "False Unauthorized")
	secret.StringData = map[string]string{"token": goodToken}
	if err := s.client.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	s.becomes(e, own, "True ProbeSucceeded")

	s.steady(server, shared)

	e.Spec.Probe = nil
	if err := s.client.Update(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	s.becomes(e, own, "True Configured")
	e.Spec.TLS = &v1alpha1.TLS{CABundle: "no certificate"}
	if err := s.client.Update(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	s.becomes(e, own, "False InvalidEndpoint")
}

// steady waits for two more probes and sees that nothing was written for them.
func (s *stage) steady(server *guarded, object client.Object) {
	s.t.Helper()
	writes, probes := s.writes.Load(), server.probes.Load()
	version := object.GetResourceVersion()
	deadline := time.Now().Add(2 * patience)
	for server.probes.Load() < probes+2 {
		if time.Now().After(deadline) {
			s.t.Fatalf("%d probes in %s", server.probes.Load()-probes, 2*patience)
		}
		time.Sleep(50 * time.Millisecond)
	}
	if n := s.writes.Load() - writes; n != 0 {
		s.t.Errorf("%d writes while nothing changed", n)
	}
	if err := s.client.Get(s.t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
		s.t.Fatal(err)
	}
	if object.GetResourceVersion() != version {
		s.t.Error("the object was written while nothing changed")
	}
}

// nobody uses any endpoint.
type nobody struct{}

func (nobody) Of(context.Context, endpoints.Ref, string) (Use, error) { return Use{}, nil }
