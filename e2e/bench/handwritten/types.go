package main

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// groupVersion is this controller's own; the operator's kind of the same shape has another group.
func groupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: "handwritten.bench.example.com", Version: "v1"}
}

// Widget is the kind.
type Widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`

	Spec   WidgetSpec   `json:"spec"`
	Status WidgetStatus `json:"status,omitzero"`
}

// WidgetSpec is what the user wants.
type WidgetSpec struct {
	Size  int64    `json:"size"`
	Color string   `json:"color,omitempty"`
	Note  string   `json:"note,omitempty"`
	Tags  []string `json:"tags,omitempty"`
}

// WidgetStatus is what was found.
type WidgetStatus struct {
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Size               *int64             `json:"size,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

// WidgetList is a list of them.
type WidgetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`

	Items []Widget `json:"items"`
}

// DeepCopy gives a copy that shares nothing.
func (w *Widget) DeepCopy() *Widget {
	c := &Widget{TypeMeta: w.TypeMeta, ObjectMeta: *w.ObjectMeta.DeepCopy(), Spec: w.Spec, Status: w.Status}
	c.Spec.Tags = slices.Clone(w.Spec.Tags)
	c.Status.Conditions = slices.Clone(w.Status.Conditions)
	if w.Status.Size != nil {
		c.Status.Size = new(*w.Status.Size)
	}
	return c
}

// DeepCopyObject implements runtime.Object.
func (w *Widget) DeepCopyObject() runtime.Object { return w.DeepCopy() }

// DeepCopyObject implements runtime.Object.
func (l *WidgetList) DeepCopyObject() runtime.Object {
	c := &WidgetList{TypeMeta: l.TypeMeta, ListMeta: *l.DeepCopy(), Items: make([]Widget, 0, len(l.Items))}
	for i := range l.Items {
		c.Items = append(c.Items, *l.Items[i].DeepCopy())
	}
	return c
}

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(groupVersion(), &Widget{}, &WidgetList{})
	metav1.AddToGroupVersion(scheme, groupVersion())
	return scheme
}
