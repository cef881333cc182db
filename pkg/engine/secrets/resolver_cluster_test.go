//go:build cluster

package secrets_test

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/restmapping/operator/internal/controlplane"
	"github.com/restmapping/operator/pkg/engine/secrets"
)

// tally counts what goes over the wire.
type tally struct {
	mu    sync.Mutex
	calls map[string]int
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (c *tally) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		c.mu.Lock()
		c.calls[kindOfCall(r)]++
		c.mu.Unlock()
		return next.RoundTrip(r)
	})
}

// kindOfCall tells a watch, a list, a read of metadata by name and a read of a whole Secret by name apart.
func kindOfCall(r *http.Request) string {
	partial := strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadata")
	byName := !strings.HasSuffix(r.URL.Path, "/secrets")
	switch {
	case r.URL.Query().Get("watch") != "":
		return "watch"
	case byName && partial:
		return "get metadata"
	case byName:
		return "get"
	case partial:
		return "list"
	default:
		return "list of whole Secrets"
	}
}

func (c *tally) count(kind string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls[kind]
}

// onCluster starts a resolver on a real API server and counts its requests.
func onCluster(t *testing.T, config *rest.Config, namespaces ...string) (*secrets.Resolver, *tally) {
	t.Helper()
	counter := &tally{calls: map[string]int{}}
	config = rest.CopyConfig(config)
	config.Wrap(counter.wrap)
	r, err := secrets.New(secrets.Config{
		Metadata: metadata.NewForConfigOrDie(config), Secrets: kubernetes.NewForConfigOrDie(config).CoreV1(), Namespaces: namespaces,
	})
	if err != nil {
		t.Fatal(err)
	}
	startResolver(t, r)
	return r, counter
}

// namespaceFor makes a namespace of this test's own.
func namespaceFor(t *testing.T, admin kubernetes.Interface, name string) string {
	t.Helper()
	_, err := admin.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// store creates or replaces a Secret.
func store(t *testing.T, admin kubernetes.Interface, namespace string, labels map[string]string, value string) {
	t.Helper()
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "token", Labels: labels},
		StringData: map[string]string{"password": value},
	}
	client := admin.CoreV1().Secrets(namespace)
	_, err := client.Get(t.Context(), "token", metav1.GetOptions{})
	if err == nil {
		_, err = client.Update(t.Context(), secret, metav1.UpdateOptions{})
	} else {
		_, err = client.Create(t.Context(), secret, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestOnARealServerARotatedSecretIsSeenAndTheSteadyStateIsFree(t *testing.T) {
	t.Parallel()
	c := controlplane.ForTest(t)
	admin := kubernetes.NewForConfigOrDie(c.Admin())
	namespace := namespaceFor(t, admin, "rotate")
	store(t, admin, namespace, open, "one")
	r, wire := onCluster(t, c.Admin())
	heard := make(chan string, 1000)
	defer r.Subscribe(func(ns, name string) {
		if ns == namespace {
			heard <- ns + "/" + name
		}
	})()
	reads(t, r, namespace, "token", "password", "one")
	for range 100 {
		if _, err := r.Get(t.Context(), namespace, "token", "password"); err != nil {
			t.Fatal(err)
		}
	}
	if n := wire.count("get"); n != 1 {
		t.Errorf("%d reads of the Secret while nothing changed", n)
	}
	store(t, admin, namespace, open, "two")
	reads(t, r, namespace, "token", "password", "two")
	if n := wire.count("get"); n != 2 {
		t.Errorf("%d reads of the Secret for two versions", n)
	}
	if got := <-heard; got != namespace+"/token" {
		t.Errorf("heard of %s", got)
	}
	for _, kind := range []string{"get metadata", "list of whole Secrets"} {
		if n := wire.count(kind); n != 0 {
			t.Errorf("%d times: %s", n, kind)
		}
	}
}

func TestOnARealServerTheLabelDecides(t *testing.T) {
	t.Parallel()
	c := controlplane.ForTest(t)
	admin := kubernetes.NewForConfigOrDie(c.Admin())
	namespace := namespaceFor(t, admin, "label")
	store(t, admin, namespace, nil, "hidden")
	r, wire := onCluster(t, c.Admin())
	refused := func() string {
		_, err := r.Get(t.Context(), namespace, "token", "password")
		if e := (*secrets.NotAllowedError)(nil); !errors.As(err, &e) {
			return "a Secret without label gives " + describe(err)
		}
		return ""
	}
	if problem := refused(); problem != "" {
		t.Fatal(problem)
	}
	if n := wire.count("get"); n != 0 {
		t.Errorf("%d reads of a closed Secret", n)
	}
	store(t, admin, namespace, open, "shown")
	reads(t, r, namespace, "token", "password", "shown")
	store(t, admin, namespace, nil, "hidden again")
	eventually(t, refused)
	if err := admin.CoreV1().Secrets(namespace).Delete(t.Context(), "token", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() string {
		_, err := r.Get(t.Context(), namespace, "token", "password")
		if e := (*secrets.NotFoundError)(nil); !errors.As(err, &e) {
			return "a deleted Secret gives " + describe(err)
		}
		return ""
	})
}

func TestOnARealServerARoleInOneNamespaceIsEnough(t *testing.T) {
	t.Parallel()
	c := controlplane.ForTest(t)
	admin := kubernetes.NewForConfigOrDie(c.Admin())
	mine, other := namespaceFor(t, admin, "mine"), namespaceFor(t, admin, "other")
	store(t, admin, mine, open, "mine")
	store(t, admin, other, open, "other")
	err := controlplane.ApplyYAML(t.Context(), c.Admin(), []byte(`
apiVersion: v1
kind: ServiceAccount
metadata: {name: resolver, namespace: mine}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: resolver, namespace: mine}
rules: [{apiGroups: [""], resources: [secrets], verbs: [get, list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: resolver, namespace: mine}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: resolver}
subjects: [{kind: ServiceAccount, name: resolver, namespace: mine}]
`))
	if err != nil {
		t.Fatal(err)
	}
	account, err := c.As(t.Context(), mine, "resolver")
	if err != nil {
		t.Fatal(err)
	}
	r, _ := onCluster(t, account, mine)
	reads(t, r, mine, "token", "password", "mine")
	_, err = r.Get(t.Context(), other, "token", "password")
	if e := (*secrets.NamespaceNotWatchedError)(nil); !errors.As(err, &e) {
		t.Errorf("another namespace gives %v", err)
	}
	everywhere, _ := onCluster(t, account)
	eventually(t, func() string {
		_, err := everywhere.Get(t.Context(), mine, "token", "password")
		if err == nil || !strings.Contains(err.Error(), "get, list and watch on secrets") {
			return "without a ClusterRole the error is " + describe(err)
		}
		return ""
	})
}
