package outputs

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/restmapping/operator/api/v1alpha1"
)

// Ref names one object.
type Ref struct {
	Kind v1alpha1.OutputKind
	types.NamespacedName
}

// String gives "Kind namespace/name".
func (r Ref) String() string { return string(r.Kind) + " " + r.NamespacedName.String() }

// Object is a Secret or ConfigMap as far as outputs are concerned.
type Object struct {
	// Version is the resourceVersion; Controller the UID of what owns it, "" for nothing.
	Version    string
	Controller types.UID
	// Labelled tells that the watch sees it.
	Labelled bool
	// Note is the operator's own annotation.
	Note string
	Data map[string]string
	meta metav1.ObjectMeta
}

// Content is what is to be written.
type Content struct {
	Owner metav1.OwnerReference
	Note  string
	Data  map[string]string
}

// Verbs are the rights that outputs of a kind need.
func Verbs() []string { return []string{"get", "list", "watch", "create", "update"} }

// Resource is the plural of a kind.
func Resource(kind v1alpha1.OutputKind) string { return strings.ToLower(string(kind)) + "s" }

// Rule is the RBAC rule that gives these rights.
func Rule(kind v1alpha1.OutputKind) string {
	return fmt.Sprintf(`{apiGroups: [""], resources: [%q], verbs: ["%s"]}`, Resource(kind), strings.Join(Verbs(), `", "`))
}

// ChartValue is the value of the chart that grants the rule.
func ChartValue(kind v1alpha1.OutputKind) string {
	if kind == v1alpha1.OutputConfigMap {
		return "outputs.configMaps"
	}
	return "outputs.secrets"
}

func fromSecret(s *corev1.Secret) *Object {
	data := make(map[string]string, len(s.Data))
	for key, value := range s.Data {
		data[key] = string(value)
	}
	return fromMeta(s.ObjectMeta, data)
}

func fromConfigMap(c *corev1.ConfigMap) *Object {
	data := maps.Clone(c.Data)
	for key, value := range c.BinaryData {
		if data == nil {
			data = map[string]string{}
		}
		data[key] = string(value)
	}
	return fromMeta(c.ObjectMeta, data)
}

func fromMeta(meta metav1.ObjectMeta, data map[string]string) *Object {
	o := &Object{
		Version: meta.ResourceVersion, Labelled: meta.Labels[v1alpha1.OutputLabel] == "true",
		Note: meta.Annotations[v1alpha1.OutputAnnotation], Data: data, meta: meta,
	}
	if owner := metav1.GetControllerOfNoCopy(&meta); owner != nil {
		o.Controller = owner.UID
	}
	return o
}

// fresh is the metadata of an object that is made.
func fresh(ref Ref, c Content) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: ref.Namespace, Name: ref.Name,
		Labels:          map[string]string{v1alpha1.OutputLabel: "true"},
		Annotations:     map[string]string{v1alpha1.OutputAnnotation: c.Note, v1alpha1.OutputVersionAnnotation: "1"},
		OwnerReferences: []metav1.OwnerReference{c.Owner},
	}
}

// updated is the metadata of an object that is changed: what others wrote stays, and uid and resourceVersion make the
// write fail when anything changed since.
func updated(was *Object, c Content) metav1.ObjectMeta {
	meta := *was.meta.DeepCopy()
	meta.ManagedFields = nil
	if meta.Labels == nil {
		meta.Labels = map[string]string{}
	}
	if meta.Annotations == nil {
		meta.Annotations = map[string]string{}
	}
	meta.Labels[v1alpha1.OutputLabel], meta.Annotations[v1alpha1.OutputAnnotation] = "true", c.Note
	meta.Annotations[v1alpha1.OutputVersionAnnotation] = nextVersion(was, c)
	return meta
}

// nextVersion is a number that grows when the values change.
func nextVersion(was *Object, c Content) string {
	version, err := strconv.Atoi(was.meta.Annotations[v1alpha1.OutputVersionAnnotation])
	if err != nil || version < 1 {
		version = 1 // written by a person, or by a version without it
	}
	if !maps.Equal(was.Data, c.Data) {
		version++
	}
	return strconv.Itoa(version)
}

func bytes(data map[string]string) map[string][]byte {
	out := make(map[string][]byte, len(data))
	for key, value := range data {
		out[key] = []byte(value)
	}
	return out
}
