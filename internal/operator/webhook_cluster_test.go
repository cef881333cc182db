//go:build cluster

package operator_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/restmapping/operator/internal/admission"
	"github.com/restmapping/operator/internal/chart"
	"github.com/restmapping/operator/internal/charttest"
	"github.com/restmapping/operator/internal/controlplane"
	"github.com/restmapping/operator/internal/lab"
	"github.com/restmapping/operator/internal/operator"
	"github.com/restmapping/operator/internal/process"
	"github.com/restmapping/operator/internal/restfake"
)

const webhookName = charttest.Release + "-webhook"

var webhookGVR = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"}

// TestAdmission has the API server ask the operator about what is written, by the chart's own configuration and with a
// certificate that the operator made. Only the Service is left out, since nothing routes to one here.
func TestAdmission(t *testing.T) {
	ports, err := process.FreePorts(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	certDir := t.TempDir()
	l := lab.New(t, func(o *operator.Options) {
		applyWebhook(t, ports[0])
		o.Webhook = operator.Webhook{Host: "127.0.0.1", Port: ports[0], CertDir: certDir, Rotation: &admission.Rotation{
			Secret: types.NamespacedName{Namespace: charttest.Namespace, Name: webhookName}, Configuration: webhookName, DNSName: "localhost",
		}}
	})
	defer func() { // before the laboratory's own end: without the operator, nothing of its kinds can be written
		if err := l.Client.Resource(webhookGVR).Delete(t.Context(), webhookName, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	}()
	mountCertificate(t, l, certDir)
	a := admissionTest{t, l}
	kind := l.NewKind("")
	fine := kind.MappingYAML(kind.GVR.Resource, "", serverEndpoint, upsertMapping)
	bad := strings.NewReplacer("from: spec.size", "value: self.spec.siz", "self.metadata.name}", "self.metadata.nam}").Replace(fine)
	a.answers()

	a.refused(bad, "unknown field", "spec.fields[0].value", "spec.identifiers[0].value")
	a.accepted(fine)
	kind.MappingCondition("Ready", "True", "Serving")
	a.refused(bad, "spec.fields[0].value")
	undefined := l.NewUndefinedKind()
	a.accepted(undefined.MappingYAML(undefined.GVR.Resource, "", serverEndpoint, upsertMapping))

	endpoint := "apiVersion: restmapping.dev/v1alpha1\nkind: RestEndpoint\nmetadata: {name: server, namespace: %s}\nspec: {baseURL: %q, tls: {caBundle: %q}}\n"
	a.refused(fmt.Sprintf(endpoint, kind.Namespace, "https://api.example.com", "nonsense"), "spec.tls")
	cluster := "apiVersion: restmapping.dev/v1alpha1\nkind: ClusterRestEndpoint\nmetadata: {name: shared}\nspec: {baseURL: %q, tls: {caBundle: nonsense}}\n"
	a.refused(fmt.Sprintf(cluster, "https://api.example.com"), "spec.tls")

	unanswered := a.rules()
	for _, name := range []string{kind.GVR.Resource, undefined.GVR.Resource} {
		if err := l.Client.Resource(lab.MappingGVR).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		l.Eventually("the mapping goes", func() string {
			_, err := l.Client.Resource(lab.MappingGVR).Get(t.Context(), name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return ""
			}
			return "it is still there"
		})
	}
	unanswered()
}

// rules: a custom resource that breaks the rules of its mapping is refused, and whatever the operator or a deletion does to one
// that is stored is not. What it gives is for the end, when nobody answers any more.
func (a admissionTest) rules() (unanswered func()) {
	a.Helper()
	server := a.lab.NewServer([]restfake.Collection{upsertThings})
	kind := a.lab.NewKind("")
	kind.Endpoint(server.URL, "  timeout: 2s")
	kind.Create("before", "{size: 3}") // no mapping has rules for it yet
	ruled := strings.Replace(upsertMapping, "  fields:", "  rules:\n  - {expression: self.spec.size < 5, message: a thing is smaller than five}\n  fields:", 1)
	kind.Mapping(ruled)
	kind.MappingCondition("Ready", "True", "Serving")
	kind.Ready("before")
	thing := func(name string, size int) string {
		return fmt.Sprintf("apiVersion: %s/v1\nkind: %s\nmetadata: {name: %s, namespace: %s}\nspec: {size: %d}\n", kind.Group, kind.Name, name, kind.Namespace, size)
	}
	a.refused(thing("one", 7), "a thing is smaller than five", "RuleViolated")
	a.accepted(thing("one", 4))
	kind.Ready("one") // its status, finalizer and record were written
	a.refused(thing("one", 8), "a thing is smaller than five")
	a.accepted(thing("one", 3))

	// What was stored before a rule came that it breaks can be annotated, and can go.
	kind.Mapping(strings.Replace(ruled, "self.spec.size < 5", "self.spec.size < 3", 1))
	a.lab.Eventually("the rule holds", func() string {
		if err := a.apply(thing("two", 4)); err == nil {
			kind.Delete("two")
			return "it is not refused"
		}
		return ""
	})
	kind.Stalled("one", "RuleViolated")
	kind.Patch("one", `{"metadata":{"annotations":{"example.com/note":"x"}}}`)
	kind.Delete("one")
	kind.Gone("one")
	return func() {
		a.lab.Stop()
		if err := a.apply(thing("three", 1)); err == nil {
			a.Error("nobody answers, and with failurePolicy Fail it is stored")
		}
		kind.Patch("before", `{"metadata":{"finalizers":null}}`)
		kind.Delete("before")
		kind.Gone("before")
	}
}

// applyWebhook applies what the chart has for the webhook, with an address of this process in place of the Service.
func applyWebhook(t *testing.T, port int) {
	t.Helper()
	var objects []*unstructured.Unstructured
	for _, object := range charttest.Objects(t, map[string]any{
		"managedKinds": []any{map[string]any{"group": "lab.example.com", "resources": []any{"things"}}},
		"webhooks":     map[string]any{"enabled": true, "customResources": map[string]any{"enabled": true, "failurePolicy": "Fail"}},
	}) {
		if object.GetName() != webhookName || object.GetKind() == "Service" {
			continue
		}
		if object.GetKind() == "ValidatingWebhookConfiguration" {
			hooks, _, _ := unstructured.NestedSlice(object.Object, "webhooks")
			for _, hook := range hooks {
				h := hook.(map[string]any)
				path, _, _ := unstructured.NestedString(h, "clientConfig", "service", "path")
				if path == admission.CustomResourcePath {
					// Kinds of tests have names of their own.
					rules, _, _ := unstructured.NestedSlice(h, "rules")
					rules[0].(map[string]any)["resources"] = []any{"*"}
					h["rules"] = rules
				}
				h["clientConfig"] = map[string]any{"url": fmt.Sprintf("https://localhost:%d%s", port, path)}
			}
			if len(hooks) != 4 {
				t.Errorf("the chart has %d webhooks", len(hooks))
			}
			if err := unstructured.SetNestedSlice(object.Object, hooks, "webhooks"); err != nil {
				t.Fatal(err)
			}
		}
		objects = append(objects, object)
	}
	manifest, err := chart.Encode(objects)
	if err != nil {
		t.Fatal(err)
	}
	if err := controlplane.ApplyYAML(t.Context(), controlplane.ForTest(t).Admin(), manifest); err != nil {
		t.Fatal(err)
	}
}

// mountCertificate does what a kubelet does with the Secret that is mounted.
func mountCertificate(t *testing.T, l *lab.Lab, dir string) {
	t.Helper()
	l.Eventually("the operator has made a certificate", func() string {
		secret, err := l.Client.Resource(lab.SecretGVR).Namespace(charttest.Namespace).Get(t.Context(), webhookName, metav1.GetOptions{})
		if err != nil {
			return err.Error()
		}
		for _, key := range []string{"tls.key", "tls.crt"} {
			text, _, _ := unstructured.NestedString(secret.Object, "data", key)
			content, err := base64.StdEncoding.DecodeString(text)
			if err != nil || len(content) == 0 {
				return "the Secret has no " + key
			}
			if err := os.WriteFile(filepath.Join(dir, key), content, 0o600); err != nil {
				return err.Error()
			}
		}
		return ""
	})
}

type admissionTest struct {
	*testing.T
	lab *lab.Lab
}

func (a admissionTest) apply(manifest string) error {
	return controlplane.ApplyYAML(a.Context(), a.lab.Admin, []byte(manifest))
}

// answers waits until the operator answers at all.
func (a admissionTest) answers() {
	a.Helper()
	a.lab.Eventually("the operator answers", func() string {
		err := a.apply("apiVersion: restmapping.dev/v1alpha1\nkind: ClusterRestEndpoint\nmetadata: {name: probe}\nspec: {baseURL: \"https://api.example.com\"}\n")
		if err != nil {
			return err.Error()
		}
		return ""
	})
	_ = a.lab.Client.Resource(schema.GroupVersionResource{Group: "restmapping.dev", Version: "v1alpha1", Resource: "clusterrestendpoints"}).
		Delete(a.Context(), "probe", metav1.DeleteOptions{})
}

func (a admissionTest) refused(manifest string, says ...string) {
	a.Helper()
	err := a.apply(manifest)
	if err == nil {
		a.Errorf("not refused: %s", manifest)
		return
	}
	for _, part := range says {
		if !strings.Contains(err.Error(), part) {
			a.Errorf("the refusal does not say %q: %v", part, err)
		}
	}
}

func (a admissionTest) accepted(manifest string) {
	a.Helper()
	if err := a.apply(manifest); err != nil {
		a.Errorf("refused: %v", err)
	}
}
