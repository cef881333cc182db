// Package v1alpha1 holds the API of group restmapping.dev: RestMapping, RestEndpoint and ClusterRestEndpoint.
// It is what a person writes. It imports apimachinery and the core types alone, and must not hold behaviour.
//
// +kubebuilder:object:generate=true
// +groupName=restmapping.dev
package v1alpha1
