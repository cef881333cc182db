package fleet

import (
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Key names what one informer watches. Subscribers with the same key share an informer.
type Key struct {
	// GVR is the resource as the API server serves it. It is taken from the CustomResourceDefinition, not from a
	// REST mapper, because a mapper remembers kinds that have changed since.
	GVR schema.GroupVersionResource
	// Namespace limits the watch to one namespace; empty means the whole cluster.
	Namespace string
	// LabelSelector limits the watch to matching objects; empty means all. The order of its terms does not matter.
	LabelSelector string
	// Incarnation tells a re-created kind from its predecessor: the UID of the CustomResourceDefinition. The informer
	// of the old definition waits longer and longer between its attempts, so a new definition must never share it.
	Incarnation string
}

// String describes the key for people: "widgets.v1.lab.example.com in namespace blue with labels color=blue".
func (k Key) String() string {
	var b strings.Builder
	b.WriteString(k.GVR.Resource + "." + k.GVR.Version)
	if k.GVR.Group != "" {
		b.WriteString("." + k.GVR.Group)
	}
	if k.Namespace != "" {
		b.WriteString(" in namespace " + k.Namespace)
	}
	if k.LabelSelector != "" {
		b.WriteString(" with labels " + k.LabelSelector)
	}
	return b.String()
}

// normalised checks the key and brings its selector into one form, so that two spellings share an informer.
func (k Key) normalised() (Key, error) {
	if k.GVR.Version == "" || k.GVR.Resource == "" {
		return Key{}, &KeyError{Key: k, Problem: "version and resource must be set"}
	}
	selector, err := labels.Parse(k.LabelSelector)
	if err != nil {
		return Key{}, &KeyError{Key: k, Problem: "the label selector cannot be read: " + err.Error()}
	}
	k.LabelSelector = selector.String()
	return k, nil
}
