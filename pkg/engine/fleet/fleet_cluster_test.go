//go:build cluster

package fleet_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/restmapping/operator/internal/controlplane"
	"github.com/restmapping/operator/pkg/engine/fleet"
)

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]ss.lab.example.com}
spec:
  group: lab.example.com
  scope: Namespaced
  names: {plural: %[1]ss, singular: %[1]s, kind: Kind%[1]s, listKind: Kind%[1]sList}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: integer}, %[2]s}}
`

// lab is a kind of its own on the shared control plane.
type lab struct {
	plane  *controlplane.ControlPlane
	client dynamic.Interface
	kind   string
	gvr    schema.GroupVersionResource
}

func newLab(t *testing.T, kind string) *lab {
	t.Helper()
	plane := controlplane.ForTest(t)
	l := &lab{
		plane: plane, client: dynamicFor(t, plane.Admin()), kind: kind,
		gvr: schema.GroupVersionResource{Group: "lab.example.com", Version: "v1", Resource: kind + "s"},
	}
	l.define(t, "color: {type: string}")
	return l
}

// define creates or changes the kind and returns the UID of its definition.
func (l *lab) define(t *testing.T, property string) string {
	t.Helper()
	if err := controlplane.ApplyYAML(t.Context(), l.plane.Admin(), fmt.Appendf(nil, definition, l.kind, property)); err != nil {
		t.Fatal(err)
	}
	crd, err := l.client.Resource(definitions).Get(t.Context(), l.gvr.GroupResource().String(), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return string(crd.GetUID())
}

func (l *lab) undefine(t *testing.T) {
	t.Helper()
	if err := l.client.Resource(definitions).Delete(t.Context(), l.gvr.GroupResource().String(), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		_, err := l.client.Resource(definitions).Get(t.Context(), l.gvr.GroupResource().String(), metav1.GetOptions{})
		if err == nil {
			return errors.New("the definition is still there")
		}
		return nil
	})
}

func (l *lab) add(t *testing.T, name string, labels map[string]any) {
	t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "lab.example.com/v1", "kind": "Kind" + l.kind,
		"metadata": map[string]any{"name": name, "namespace": "default", "labels": labels},
		"spec":     map[string]any{"size": int64(3)},
	}}
	// A definition is established a moment before its kind can be created.
	eventually(t, func() error {
		_, err := l.client.Resource(l.gvr).Namespace("default").Create(t.Context(), object, metav1.CreateOptions{})
		return err
	})
}

func dynamicFor(t *testing.T, config *rest.Config) dynamic.Interface {
	t.Helper()
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestClusterSelectorAndCompactForm(t *testing.T) {
	t.Parallel()
	l := newLab(t, "chosen")
	l.add(t, "blue", map[string]any{"color": "blue"})
	l.add(t, "red", map[string]any{"color": "red"})
	s, news := acquire(t, fleet.New(l.client), "one", fleet.Key{GVR: l.gvr, LabelSelector: "color=blue"})
	awaitSync(t, s)
	if diff := cmp.Diff([]string{"Added blue (initial)"}, news.seen()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	object, found := s.Get(types.NamespacedName{Namespace: "default", Name: "blue"})
	if !found {
		t.Fatal("the object is not cached")
	}
	content, err := object.Unstructured()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"size": int64(3)}, content["spec"]); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
	if _, kept := content["metadata"].(map[string]any)["managedFields"]; kept {
		t.Error("managedFields are cached")
	}
}

func TestClusterDefinitionDeletedAndMadeAgain(t *testing.T) {
	t.Parallel()
	l := newLab(t, "again")
	l.add(t, "a", nil)
	f := fleet.New(l.client)
	first, news := acquire(t, f, "one", fleet.Key{GVR: l.gvr, Incarnation: l.define(t, "color: {type: string}")})
	awaitSync(t, first)

	l.undefine(t)
	eventually(t, news.has("Deleted a"))
	eventually(t, func() error {
		if e, ok := errors.AsType[*fleet.WatchError](first.LastError()); !ok || !e.NotServed() {
			return fmt.Errorf("got error %w, want that the kind is not served", first.LastError())
		}
		return nil
	})

	second := l.define(t, "color: {type: string}")
	l.add(t, "b", nil)
	// The old informer is still subscribed, and waits for its next attempt; the new one does not share its fate.
	fresh, freshNews := acquire(t, f, "one", fleet.Key{GVR: l.gvr, Incarnation: second})
	awaitSync(t, fresh)
	if diff := cmp.Diff([]string{"Added b (initial)"}, freshNews.seen()); diff != "" {
		t.Errorf("events of the new kind (-want +got):\n%s", diff)
	}
	release(t, first)
}

func TestClusterSchemaChangeResyncsUnlessSomethingChanged(t *testing.T) {
	t.Parallel()
	l := newLab(t, "edited")
	l.add(t, "a", nil)
	s, news := acquire(t, fleet.New(l.client), "one", fleet.Key{GVR: l.gvr})
	awaitSync(t, s)
	l.define(t, "weight: {type: integer}")
	eventually(t, news.has("Updated a (resync)"))
	l.define(t, "weight: {type: integer, default: 7}")
	eventually(t, news.has("Updated a"))
	eventually(t, healthy(s))
}

func TestClusterMissingRBACHurtsOnlyItsKindAndIsNoticedWhenGranted(t *testing.T) {
	t.Parallel()
	allowed, denied := newLab(t, "allowed"), newLab(t, "denied")
	admin, err := kubernetes.NewForConfig(allowed.plane.Admin())
	if err != nil {
		t.Fatal(err)
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "limited", Namespace: "default"}}
	if _, err := admin.CoreV1().ServiceAccounts("default").Create(t.Context(), account, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	grant(t, admin, allowed.gvr.Resource, "list", "watch")
	config, err := allowed.plane.As(t.Context(), "default", "limited")
	if err != nil {
		t.Fatal(err)
	}
	f := fleet.New(dynamicFor(t, config))
	bad, news := acquire(t, f, "bad", fleet.Key{GVR: denied.gvr})
	good, _ := acquire(t, f, "good", fleet.Key{GVR: allowed.gvr})
	eventually(t, healthy(good))
	awaitSync(t, good)
	eventually(t, func() error {
		e, ok := errors.AsType[*fleet.WatchError](bad.LastError())
		if !ok || !e.Denied() || !strings.Contains(e.Error(), "system:serviceaccount:default:limited") || news.stateChanges() == 0 {
			return fmt.Errorf("got error %w and %d announcements, want the refusal announced", bad.LastError(), news.stateChanges())
		}
		return nil
	})
	grant(t, admin, denied.gvr.Resource, "list", "watch")
	awaitSync(t, bad)
	eventually(t, healthy(bad))
}

func grant(t *testing.T, admin kubernetes.Interface, resource string, verbs ...string) {
	t.Helper()
	name := "limited-" + resource
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"lab.example.com"}, Resources: []string{resource}, Verbs: verbs}},
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "default", Name: "limited"}},
	}
	if _, err := admin.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := admin.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func TestClusterKindsThatComeAndGoLeaveNothingBehind(t *testing.T) { //nolint:paralleltest // counts all goroutines
	l := newLab(t, "churned")
	l.add(t, "a", nil)
	if _, err := l.client.Resource(l.gvr).List(t.Context(), metav1.ListOptions{}); err != nil { // opens the connection
		t.Fatal(err)
	}
	before := goleak.IgnoreCurrent()
	f := fleet.New(l.client)
	for round := range 200 {
		s, err := f.Acquire("one", fleet.Key{GVR: l.gvr}, (&subscriber{}).handler())
		if err != nil {
			t.Fatal(err)
		}
		if round%2 == 0 { // stop some in the middle of their first request
			awaitSync(t, s)
		}
		release(t, s)
	}
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
}
