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

// GuardMode says whether a guard is there.
type GuardMode string

// The modes of a guard.
const (
	GuardOn  GuardMode = "On"
	GuardOff GuardMode = "Off"
)

// The bounds of a guard that says nothing else.
const (
	DefaultGuardObjects = 10
	DefaultGuardPercent = 50
)

// Guard holds back what would happen to many objects at once, until a person has acknowledged it. It holds when it is more
// objects than MaxObjects and also a larger part of all than MaxPercent.
type Guard struct {
	// +optional
	// +kubebuilder:default=On
	// +kubebuilder:validation:Enum=On;Off
	Mode GuardMode `json:"mode,omitempty"`
	// MaxObjects is how many objects are never too many; 10 by default.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	MaxObjects *int32 `json:"maxObjects,omitempty"`
	// MaxPercent is the part of all objects that is never too much; 50 by default.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	MaxPercent *int32 `json:"maxPercent,omitempty"`
}

// IsOff tells that the guard never holds.
func (g *Guard) IsOff() bool { return g != nil && g.Mode == GuardOff }

// Holds tells whether so many of so many objects are too many.
func (g *Guard) Holds(some, all int) bool {
	objects, percent := DefaultGuardObjects, DefaultGuardPercent
	if g.IsOff() {
		return false
	}
	if g != nil {
		if g.MaxObjects != nil {
			objects = int(*g.MaxObjects)
		}
		if g.MaxPercent != nil {
			percent = int(*g.MaxPercent)
		}
	}
	return some > objects && some*100 > percent*all
}

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
	// ChangeGuard holds a new generation of the mapping back that would change many objects outside.
	// +optional
	ChangeGuard *Guard `json:"changeGuard,omitempty"`
	// DeleteGuard holds deletions outside back when many custom resources are deleted within five minutes.
	// +optional
	DeleteGuard *Guard `json:"deleteGuard,omitempty"`
	// Management: Full, or ObserveOnly, which never sends a mutating request.
	// +optional
	// +kubebuilder:default=Full
	// +kubebuilder:validation:Enum=Full;ObserveOnly
	Management ManagementPolicy `json:"management,omitempty"`
}
