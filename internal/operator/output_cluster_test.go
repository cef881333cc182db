//go:build cluster

package operator_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/restmapping/operator/internal/lab"
	"github.com/restmapping/operator/internal/restfake"
)

// tokenValue is what only the create answers with.
const tokenValue = "canary-52c1-only-once"

const outputs = `
  outputs:
  - {name: token, kind: Secret, operations: [Create], data: {token: response.body.token}}
  - {name: facts, kind: ConfigMap, data: {size: observed.size}}
`

const outputRights = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: lab-outputs}
rules:
- {apiGroups: [""], resources: [secrets, configmaps], verbs: [get, list, watch, create, update]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: lab-outputs}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: lab-outputs}
subjects: [{kind: ServiceAccount, name: restmapping-operator, namespace: restmapping-system}]
`

var configMapGVR = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// grantOutputs gives the operator the rights that outputs need, until the test has ended: others expect them to be missing.
func grantOutputs(t *testing.T, l *lab.Lab) {
	t.Helper()
	l.Apply("%s", outputRights)
	ctx := context.WithoutCancel(t.Context())
	t.Cleanup(func() {
		for _, resource := range []string{"clusterrolebindings", "clusterroles"} {
			gvr := schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: resource}
			if err := l.Client.Resource(gvr).Delete(ctx, "lab-outputs", metav1.DeleteOptions{}); err != nil {
				t.Errorf("take the rights for outputs away: %v", err)
			}
		}
	})
}

// TestOutputs goes through the life of outputs on a real API server: without the rights nothing is made and the mapping
// names the rule; with them the values are there, are put back where that can be done, cost nothing while nothing changes,
// and are nowhere else.
func TestOutputs(t *testing.T) {
	l := lab.New(t)
	server := l.NewServer([]restfake.Collection{{Path: "/things"}})
	answer := fmt.Sprintf(`{"id":"1","token":%q}`, tokenValue)
	server.AddRule(restfake.Rule{Method: http.MethodPost, Fault: restfake.CommitThenReply(201, "application/json", answer)})
	kind := l.NewKind("")
	kind.Endpoint(server.URL, "  timeout: 2s")
	kind.Mapping(noneMapping + outputs)
	message := kind.MappingCondition("Ready", "False", "RBACMissing")
	for _, says := range []string{"create secrets", `{apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list", "watch", "create", "update"]}`, "outputs.secrets"} {
		if !strings.Contains(message, says) {
			t.Errorf("the mapping does not say %q: %s", says, message)
		}
	}
	kind.Create("one", "{size: 3}")
	grantOutputs(t, l)
	kind.MappingCondition("Ready", "True", "Serving")
	kind.Ready("one")
	o := outputTest{t, l, kind}
	o.holds(lab.SecretGVR, "one-token", "token", tokenValue)
	o.holds(configMapGVR, "one-facts", "size", "3")
	o.free(server)

	o.delete(configMapGVR, "one-facts")
	o.holds(configMapGVR, "one-facts", "size", "3")
	o.patch(configMapGVR, "one-facts", `{"data":{"size":"9"}}`)
	o.holds(configMapGVR, "one-facts", "size", "3")
	o.delete(lab.SecretGVR, "one-token")
	if got := kind.Stalled("one", "OutputLost"); !strings.Contains(got, "one-token") {
		t.Errorf("the message is %s", got)
	}
	o.patch(lab.SecretGVR, "one-token", fmt.Sprintf(`{"stringData":{"token":%q}}`, tokenValue))
	kind.Ready("one")

	kind.ClosedSecret("two-token", "token", "theirs")
	kind.Create("two", "{size: 4}")
	kind.Stalled("two", "OutputConflict")
	o.holds(lab.SecretGVR, "two-token", "token", "theirs")
	if live := server.Live("/things"); len(live) != 1 {
		t.Errorf("outside there is %v", live)
	}
	o.nowhereElse()
}

type outputTest struct {
	*testing.T
	lab  *lab.Lab
	kind *lab.Kind
}

func (o outputTest) get(gvr schema.GroupVersionResource, name string) *unstructured.Unstructured {
	got, err := o.lab.Client.Resource(gvr).Namespace(o.kind.Namespace).Get(o.Context(), name, metav1.GetOptions{})
	if err != nil {
		return nil
	}
	return got
}

func (o outputTest) holds(gvr schema.GroupVersionResource, name, key, want string) {
	o.Helper()
	if gvr == lab.SecretGVR {
		want = base64.StdEncoding.EncodeToString([]byte(want))
	}
	o.lab.Eventually(name+" holds its value", func() string {
		obj := o.get(gvr, name)
		if obj == nil {
			return "it is not there"
		}
		if got, _, _ := unstructured.NestedString(obj.Object, "data", key); got != want {
			return "it holds something else"
		}
		return ""
	})
}

func (o outputTest) delete(gvr schema.GroupVersionResource, name string) {
	o.Helper()
	if err := o.lab.Client.Resource(gvr).Namespace(o.kind.Namespace).Delete(o.Context(), name, metav1.DeleteOptions{}); err != nil {
		o.Fatal(err)
	}
}

func (o outputTest) patch(gvr schema.GroupVersionResource, name, patch string) {
	o.Helper()
	o.lab.Eventually("patch "+name, func() string {
		_, err := o.lab.Client.Resource(gvr).Namespace(o.kind.Namespace).Patch(o.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		if err != nil {
			return err.Error()
		}
		return ""
	})
}

// free: while nothing changes, looks go on outside and nothing is written or read here for them.
func (o outputTest) free(server *lab.Server) {
	o.Helper()
	before, looks := o.lab.Counters(), server.Count("GET", "")
	o.lab.Eventually("some looks", func() string {
		if got := server.Count("GET", "") - looks; got < 4 {
			return fmt.Sprint(got, " looks")
		}
		return ""
	})
	spent := o.lab.Counters().Since(before)
	for _, resource := range []schema.GroupResource{{Resource: "secrets"}, {Resource: "configmaps"}, {Group: o.kind.Group, Resource: o.kind.GVR.Resource}} {
		if n := spent.Reads(resource.Group, resource.Resource) + spent.Writes(resource.Group, resource.Resource); n != 0 {
			o.Errorf("%d requests about %s for looks that found nothing new: %v", n, resource.Resource, spent)
		}
	}
}

// nowhereElse looks for the value in everything that the operator writes, but for the Secrets.
func (o outputTest) nowhereElse() {
	o.Helper()
	text := o.lab.Log()
	for _, gvr := range []schema.GroupVersionResource{
		o.kind.GVR, lab.MappingGVR, lab.EndpointGVR, configMapGVR,
		{Version: "v1", Resource: "events"},
		{Group: "events.k8s.io", Version: "v1", Resource: "events"},
	} {
		list, err := o.lab.Client.Resource(gvr).List(o.Context(), metav1.ListOptions{})
		if err != nil {
			o.Fatal(err)
		}
		for i := range list.Items {
			encoded, err := json.Marshal(list.Items[i].Object)
			if err != nil {
				o.Fatal(err)
			}
			text += string(encoded)
		}
	}
	for _, form := range []string{tokenValue, base64.StdEncoding.EncodeToString([]byte(tokenValue))} {
		if at := strings.Index(text, form); at >= 0 {
			o.Errorf("the value is in: %s", text[max(0, at-300):at])
		}
	}
	meta := o.get(lab.SecretGVR, "one-token").Object["metadata"]
	if encoded, err := json.Marshal(meta); err != nil || strings.Contains(string(encoded), tokenValue) {
		o.Errorf("the value is in the Secret's metadata (%v)", err)
	}
}
