//go:build crash

package crash_test

import (
	"encoding/base64"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/internal/installation"
	"github.com/restmapping/operator/internal/restfake"
)

// withOutput is of class None, and its create answers with a value that is kept in a Secret.
func withOutput() class {
	return class{
		name: "None, with an output", kind: "Tokened", resource: "tokeneds", unsafe: true,
		mapping: assigned("tokeneds", "safety: None") + `
  outputs:
  - {name: token, kind: Secret, operations: [Create], data: {token: "'value-of-' + response.body.id"}}`,
		collection: restfake.Collection{IDs: restfake.AssignedText},
	}
}

const outputRights = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: crash-outputs}
rules:
- {apiGroups: [""], resources: [secrets], verbs: [get, list, watch, create, update]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: crash-outputs}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: crash-outputs}
subjects: [{kind: ServiceAccount, name: %s, namespace: %s}]
`

// TestKilledBetweenOutputAndRecord ends the operator after the value of a create is stored and before the record is: of a
// class in which nobody could tell what became of the create. The output tells it, so no person is asked, nothing is
// doubled, and the value is that of the object that is there. Deleted instead, the object goes.
func TestKilledBetweenOutputAndRecord(t *testing.T) {
	c := withOutput()
	s := newScene(t)
	t.Cleanup(func() { s.abandon(t.Context(), c) })
	s.apply("%s", c.manifest(installation.Release, installation.Namespace))
	for _, deleted := range []bool{false, true} {
		s.start("RESTMAPPING_CRASH_AT=after-output-before-record")
		s.create(c, "object", 1)
		if !s.killed(arrival) {
			t.Fatal("the operator did not come to the point")
		}
		obj := s.get(c, "object")
		if text := obj.GetAnnotations()[v1alpha1.RecordAnnotation]; !strings.Contains(text, `"Creating"`) {
			t.Errorf("the record says %s", text)
		}
		objects := s.server.of(c, string(obj.GetUID()))
		if len(objects) != 1 {
			t.Fatalf("outside there is %v", objects)
		}
		if deleted {
			s.delete(c, "object")
		}
		s.start()
		s.eventually("at rest after the kill", patience, func() string { return strings.Join(s.one(c, deleted), "\n") })
		if !deleted {
			s.secretHolds(strings.TrimPrefix(objects[0].Path, "/tokeneds/"))
			s.delete(c, "object")
			s.eventually("deleted", patience, func() string { return strings.Join(s.one(c, true), "\n") })
		}
		s.kill()
		s.removeSecret()
	}
	s.report("killed between output and record")
}

// one says what is not yet as it should be with the custom resource of the test.
func (s *scene) one(c class, gone bool) []string {
	obj := s.get(c, "object")
	switch live := s.server.Live(c.path()); {
	case gone && (obj != nil || len(live) > 0):
		return []string{"it is still there"}
	case gone:
		return nil
	case obj == nil:
		return []string{"it is gone"}
	default:
		return s.judge(c, obj)
	}
}

func (s *scene) secretHolds(id string) {
	s.t.Helper()
	secrets := shared.client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "secrets"}).Namespace(s.namespace)
	got, err := secrets.Get(s.t.Context(), "object-token", metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	data, _ := got.Object["data"].(map[string]any)
	if want := base64.StdEncoding.EncodeToString([]byte("value-of-" + id)); data["token"] != want {
		s.t.Errorf("the Secret holds %v, want %s", data, want)
	}
}

// removeSecret does what the garbage collector does, which does not run here.
func (s *scene) removeSecret() {
	s.t.Helper()
	secrets := shared.client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "secrets"}).Namespace(s.namespace)
	if err := secrets.Delete(s.t.Context(), "object-token", metav1.DeleteOptions{}); err != nil {
		s.t.Fatal(err)
	}
}
