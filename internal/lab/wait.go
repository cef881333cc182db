package lab

import (
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/restmapping/operator/internal/charttest"
)

const operatorNamespace = charttest.Namespace

// Patience is how long Eventually waits: long enough for a busy machine, short enough for a person.
const Patience = 60 * time.Second

// Eventually polls until check gives "", and fails with its last words otherwise.
func (l *Lab) Eventually(what string, check func() string) {
	l.tb.Helper()
	l.EventuallyWithin(Patience, what, check)
}

// EventuallyWithin is Eventually with another patience.
func (l *Lab) EventuallyWithin(patience time.Duration, what string, check func() string) {
	l.tb.Helper()
	deadline := time.Now().Add(patience)
	for {
		last := check()
		if last == "" {
			return
		}
		if time.Now().After(deadline) {
			l.tb.Fatalf("%s: not within %s: %s", what, patience, last)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func (l *Lab) get(resource dynamic.ResourceInterface, name string) *unstructured.Unstructured {
	l.tb.Helper()
	got, err := resource.Get(l.tb.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		l.tb.Fatalf("get %s: %v", name, err)
	}
	return got
}

// Ready waits until custom resources are ready at their present generation, and checks their status.
func (k *Kind) Ready(names ...string) {
	k.lab.tb.Helper()
	for _, name := range names {
		k.Condition(name, "Ready", "True", "")
	}
}

// Condition waits until a condition has this status and this reason, each unless empty, at the present generation. It
// gives its message.
func (k *Kind) Condition(name, kind, status, reason string) (message string) {
	k.lab.tb.Helper()
	k.lab.Eventually(fmt.Sprintf("%s %s: %s=%s %s", k.Name, name, kind, status, reason), func() string {
		obj := k.Get(name)
		if obj == nil {
			return "it is gone"
		}
		c := condition(obj, kind)
		if !says(c, status, reason, obj.GetGeneration()) {
			return show(obj)
		}
		message, _ = c["message"].(string)
		return ""
	})
	k.Check(name)
	return message
}

// Gone waits until a custom resource is gone.
func (k *Kind) Gone(names ...string) {
	k.lab.tb.Helper()
	for _, name := range names {
		k.lab.Eventually(name+" gone", func() string {
			if obj := k.Get(name); obj != nil {
				return show(obj)
			}
			return ""
		})
	}
}

func says(c map[string]any, status, reason string, generation int64) bool {
	return c != nil && (status == "" || c["status"] == status) && (reason == "" || c["reason"] == reason) && c["observedGeneration"] == generation
}

// Stalled waits until a custom resource waits for a person with this reason, and gives the message.
func (k *Kind) Stalled(name, reason string) string {
	k.lab.tb.Helper()
	return k.Condition(name, "Stalled", "True", reason)
}

// Unready waits until a custom resource is not ready with this reason, and gives the message.
func (k *Kind) Unready(name, reason string) (message string) {
	k.lab.tb.Helper()
	k.lab.Eventually(fmt.Sprintf("%s %s: not ready with %s", k.Name, name, reason), func() string {
		obj := k.Get(name)
		if obj == nil {
			return "it is gone"
		}
		c := condition(obj, "Ready")
		if !says(c, "", reason, obj.GetGeneration()) || c["status"] == "True" {
			return show(obj)
		}
		message, _ = c["message"].(string)
		return ""
	})
	k.Check(name)
	return message
}

// MappingCondition waits for a condition of the kind's mapping and gives its message.
func (k *Kind) MappingCondition(kind, status, reason string) (message string) {
	k.lab.tb.Helper()
	return k.lab.ObjectCondition(k.lab.Client.Resource(MappingGVR), k.GVR.Resource, kind, status, reason)
}

// EndpointCondition waits for a condition of the endpoint "server" and gives its message.
func (k *Kind) EndpointCondition(kind, status, reason string) (message string) {
	k.lab.tb.Helper()
	return k.lab.ObjectCondition(k.lab.Client.Resource(EndpointGVR).Namespace(k.Namespace), "server", kind, status, reason)
}

// ObjectCondition waits for a condition of any object and gives its message.
func (l *Lab) ObjectCondition(resource dynamic.ResourceInterface, name, kind, status, reason string) (message string) {
	l.tb.Helper()
	l.Eventually(fmt.Sprintf("%s: %s=%s %s", name, kind, status, reason), func() string {
		obj := l.get(resource, name)
		if obj == nil {
			return "it is gone"
		}
		c := condition(obj, kind)
		if !says(c, status, reason, obj.GetGeneration()) {
			return show(obj)
		}
		message, _ = c["message"].(string)
		return ""
	})
	return message
}

func condition(obj *unstructured.Unstructured, kind string) map[string]any {
	list, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	for _, item := range list {
		if c, ok := item.(map[string]any); ok && c["type"] == kind {
			return c
		}
	}
	return nil
}

// show prints an object for a failure.
func show(obj *unstructured.Unstructured) string {
	obj = obj.DeepCopy()
	unstructured.RemoveNestedField(obj.Object, "metadata", "managedFields")
	text, err := yaml.Marshal(obj.Object)
	if err != nil {
		return err.Error()
	}
	return "\n" + strings.TrimSpace(string(text))
}

// MappingSummary gives "ready/total" of the kind's mapping.
func (k *Kind) MappingSummary() string {
	k.lab.tb.Helper()
	obj := k.lab.get(k.lab.Client.Resource(MappingGVR), k.GVR.Resource)
	if obj == nil {
		return ""
	}
	summary, _, _ := unstructured.NestedString(obj.Object, "status", "summary")
	return summary
}
