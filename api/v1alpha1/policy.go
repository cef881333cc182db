package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Sync says how often the object outside is looked at.
type Sync struct {
	// Interval between two looks at one object, with a jitter of a tenth. Never below 30s unless the operator is
	// started with a lower floor.
	// +optional
	// +kubebuilder:default="10m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]{1,5}(\.[0-9]{1,3})?(ms|s|m|h)){1,4}$`
	Interval metav1.Duration `json:"interval,omitempty"`
	// ConsistencyWindow is how long after a write the server may still answer as before it.
	// +optional
	// +kubebuilder:default="10s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]{1,5}(\.[0-9]{1,3})?(ms|s|m|h)){1,4}$`
	ConsistencyWindow metav1.Duration `json:"consistencyWindow,omitempty"`
	// ServerSlack is how long the server may go on working on a request after the client gave it up.
	// +optional
	// +kubebuilder:default="30s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]{1,5}(\.[0-9]{1,3})?(ms|s|m|h)){1,4}$`
	ServerSlack metav1.Duration `json:"serverSlack,omitempty"`
}

// AdoptionPolicy says whether an object that exists already may be taken over.
type AdoptionPolicy string

// DeletionPolicy says what happens outside when the custom resource is deleted.
type DeletionPolicy string

// MissingPolicy says what happens when the object outside has gone.
type MissingPolicy string

// DriftPolicy says what happens when the object outside was changed.
type DriftPolicy string

// ImmutablePolicy says what happens when a field was changed that cannot be changed outside.
type ImmutablePolicy string

// ManagementPolicy says how much the operator may do.
type ManagementPolicy string

// The policies' values.
const (
	AdoptNever      AdoptionPolicy = "Never"
	AdoptByIdentity AdoptionPolicy = "ByIdentity"

	DeletionDelete DeletionPolicy = "Delete"
	DeletionOrphan DeletionPolicy = "Orphan"

	MissingRecreate MissingPolicy = "Recreate"
	MissingStall    MissingPolicy = "Stall"

	DriftCorrect DriftPolicy = "Correct"
	DriftReport  DriftPolicy = "Report"

	ImmutableStall   ImmutablePolicy = "Stall"
	ImmutableReplace ImmutablePolicy = "Replace"

	ManagementFull        ManagementPolicy = "Full"
	ManagementObserveOnly ManagementPolicy = "ObserveOnly"
)

// Policy says what may be done.
type Policy struct {
	// Adoption: Never leaves an object alone that was there before; ByIdentity takes it over.
	// +optional
	// +kubebuilder:default=Never
	// +kubebuilder:validation:Enum=Never;ByIdentity
	Adoption AdoptionPolicy `json:"adoption,omitempty"`
	// Deletion: Delete removes the object with its custom resource; Orphan leaves it.
	// +optional
	// +kubebuilder:default=Delete
	// +kubebuilder:validation:Enum=Delete;Orphan
	Deletion DeletionPolicy `json:"deletion,omitempty"`
	// OnMissing: Recreate makes an object again that was removed outside; Stall waits for a person.
	// +optional
	// +kubebuilder:default=Recreate
	// +kubebuilder:validation:Enum=Recreate;Stall
	OnMissing MissingPolicy `json:"onMissing,omitempty"`
	// Drift: Correct puts back what was changed outside; Report only says so.
	// +optional
	// +kubebuilder:default=Correct
	// +kubebuilder:validation:Enum=Correct;Report
	Drift DriftPolicy `json:"drift,omitempty"`
	// Immutable: Stall waits for a person when a field is edited that cannot be changed outside; Replace deletes the
	// object, verifies that it is gone, and makes it anew.
	// +optional
	// +kubebuilder:default=Stall
	// +kubebuilder:validation:Enum=Stall;Replace
	Immutable ImmutablePolicy `json:"immutable,omitempty"`
	// Management: Full, or ObserveOnly, which never sends a mutating request.
	// +optional
	// +kubebuilder:default=Full
	// +kubebuilder:validation:Enum=Full;ObserveOnly
	Management ManagementPolicy `json:"management,omitempty"`
}
