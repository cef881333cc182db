package endpoints_test

import (
	"context"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine/endpoints"
	"github.com/restmapping/operator/pkg/engine/secrets"
	"github.com/restmapping/operator/pkg/httpapi"
	"github.com/restmapping/operator/pkg/rest"
)

const (
	patience          = 20 * time.Second
	operatorNamespace = "restmapping-system"
)

// vault is a resolver in memory. Keys are "namespace/name/key".
type vault struct {
	mu        sync.Mutex
	values    map[string]string
	versions  map[string]int
	fail      error
	reads     int
	listeners []func(namespace, name string)
}

func newVault() *vault {
	return &vault{values: map[string]string{}, versions: map[string]int{}}
}

// put changes a Secret and tells those who listen.
func (v *vault) put(namespace, name, key, value string) {
	v.mu.Lock()
	v.values[namespace+"/"+name+"/"+key] = value
	v.versions[namespace+"/"+name]++
	listeners := slices.Clone(v.listeners)
	v.mu.Unlock()
	for _, listener := range listeners {
		listener(namespace, name)
	}
}

func (v *vault) Get(_ context.Context, namespace, name, key string) (httpapi.Secret, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.reads++
	if v.fail != nil {
		return httpapi.Secret{}, v.fail
	}
	value, ok := v.values[namespace+"/"+name+"/"+key]
	if !ok {
		return httpapi.Secret{}, &secrets.NotFoundError{Namespace: namespace, Name: name}
	}
	return httpapi.NewSecret(value), nil
}

func (v *vault) Version(_ context.Context, namespace, name string) (string, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if version := v.versions[namespace+"/"+name]; version > 0 {
		return strconv.Itoa(version), nil
	}
	return "", nil
}

func (v *vault) Subscribe(listener func(namespace, name string)) func() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.listeners = append(v.listeners, listener)
	index := len(v.listeners) - 1
	return func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.listeners[index] = func(string, string) {}
	}
}

func (v *vault) readCount() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.reads
}

// server is a REST server that notes what it is asked.
type server struct {
	*httptest.Server
	mu       sync.Mutex
	requests []*http.Request
	status   int
	// hold, when set, keeps answers back until it is closed.
	hold chan struct{}
	// arrived is told of each request.
	arrived chan struct{}
	header  http.Header
	body    string
	// open tells of each connection that was ever accepted whether it still is.
	open map[net.Conn]bool
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{status: http.StatusOK, arrived: make(chan struct{}, 1000), header: http.Header{}, body: "{}", open: map[net.Conn]bool{}}
	s.Server = httptest.NewUnstartedServer(s)
	s.Config.ConnState = s.note
	s.Start()
	t.Cleanup(s.Close)
	return s
}

func (s *server) note(c net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[c] = state != http.StateClosed
}

// connections counts those accepted so far, and those of them that are open.
func (s *server) connections() (accepted, open int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, isOpen := range s.open {
		if isOpen {
			open++
		}
	}
	return len(s.open), open
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests = append(s.requests, r)
	status, hold, body := s.status, s.hold, s.body
	maps.Copy(w.Header(), s.header)
	s.mu.Unlock()
	s.arrived <- struct{}{}
	if hold != nil {
		select {
		case <-hold:
		case <-r.Context().Done():
			return
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(body))
}

func (s *server) answer(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status = status
}

func (s *server) seen() []*http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// world is a registry with everything around it.
type world struct {
	t        *testing.T
	client   client.Client
	vault    *vault
	tokens   *tokenMaker
	files    *folder
	registry *endpoints.Registry
}

func newWorld(t *testing.T, options ...endpoints.Option) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, client: fake.NewClientBuilder().WithScheme(scheme).Build(), vault: newVault(), tokens: &tokenMaker{}, files: &folder{vault: newVault()}}
	w.registry = endpoints.New(endpoints.Config{
		Reader: w.client, Secrets: w.vault, Tokens: w.tokens, Files: w.files, OperatorNamespace: operatorNamespace,
		Addresses: httpapi.Addresses{Allowed: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}},
	}, options...)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
		defer cancel()
		if err := w.registry.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return w
}

func (w *world) create(object client.Object) {
	w.t.Helper()
	object.SetUID(types.UID("uid-of-" + object.GetName()))
	object.SetGeneration(1)
	if err := w.client.Create(w.t.Context(), object); err != nil {
		w.t.Fatal(err)
	}
}

// edit changes the spec of a RestEndpoint as the API server does: with a new generation.
func (w *world) edit(namespace, name string, change func(*v1alpha1.RestEndpoint)) {
	w.t.Helper()
	object := &v1alpha1.RestEndpoint{}
	if err := w.client.Get(w.t.Context(), types.NamespacedName{Namespace: namespace, Name: name}, object); err != nil {
		w.t.Fatal(err)
	}
	object.Generation++
	change(object)
	if err := w.client.Update(w.t.Context(), object); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) resolve(ref endpoints.Ref) *endpoints.Endpoint {
	w.t.Helper()
	endpoint, err := w.registry.Resolve(w.t.Context(), ref)
	if err != nil {
		w.t.Fatal(err)
	}
	return endpoint
}

// heard collects what the registry tells.
func (w *world) heard() func() []endpoints.Ref {
	var mu sync.Mutex
	var refs []endpoints.Ref
	w.registry.Subscribe(func(ref endpoints.Ref) {
		mu.Lock()
		defer mu.Unlock()
		refs = append(refs, ref)
	})
	return func() []endpoints.Ref {
		mu.Lock()
		defer mu.Unlock()
		got := refs
		refs = nil
		return got
	}
}

var gitea = endpoints.Ref{Kind: endpoints.KindRestEndpoint, Namespace: "team-a", Name: "gitea"}

func restEndpoint(namespace, name, url string, change ...func(*v1alpha1.EndpointSpec)) *v1alpha1.RestEndpoint {
	e := &v1alpha1.RestEndpoint{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       v1alpha1.EndpointSpec{BaseURL: url},
	}
	for _, f := range change {
		f(&e.Spec)
	}
	return e
}

func withBearer(secret string) func(*v1alpha1.EndpointSpec) {
	return func(s *v1alpha1.EndpointSpec) {
		s.Auth = &v1alpha1.Auth{Bearer: &v1alpha1.BearerAuth{TokenRef: v1alpha1.SecretKeyReference{Name: secret, Key: "token"}}}
	}
}

func withProbe(path string) func(*v1alpha1.EndpointSpec) {
	return func(s *v1alpha1.EndpointSpec) { s.Probe = &v1alpha1.Probe{Path: path} }
}

func read(path string) rest.Request {
	return rest.Request{Operation: rest.Read, Method: http.MethodGet, Route: path, Path: path}
}

func mustDo(t *testing.T, e *endpoints.Endpoint, path string) {
	t.Helper()
	if exchange := e.Do(t.Context(), read(path)); exchange.Failure != nil {
		t.Fatal(exchange.Failure)
	}
}

// eventually polls until check gives an empty text, and fails with the last one.
func eventually(t *testing.T, check func() string) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		problem := check()
		if problem == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(problem)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
