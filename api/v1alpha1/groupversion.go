package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group is the API group of the operator's own kinds and the prefix of its annotations and labels.
const Group = "restmapping.dev"

// GroupVersion is the group and version of the kinds in this package.
var GroupVersion = schema.GroupVersion{Group: Group, Version: "v1alpha1"}

// AddToScheme registers the kinds of this package with a scheme.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion,
		&RestMapping{}, &RestMappingList{},
		&RestEndpoint{}, &RestEndpointList{},
		&ClusterRestEndpoint{}, &ClusterRestEndpointList{},
	)
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
