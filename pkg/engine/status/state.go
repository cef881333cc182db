package status

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Condition is one condition without what Build fills in.
type Condition struct {
	Status  metav1.ConditionStatus
	Reason  string
	Message string
}

// LastError is what the last failed request has shown.
type LastError struct {
	Operation  string
	HTTPStatus int
	Message    string
}

// Field names of the status that the operator writes, beside conditions and observedGeneration. They are optional
// in the target's schema and written where it has them.
const (
	FieldIdentifiers = "identifiers"
	FieldLastError   = "lastError"
	FieldDrift       = "drift"
	FieldHandled     = "lastHandledReconcileAt"
)

// Projection is one value below status. A nil value removes what is there.
type Projection struct {
	Path  []string
	Value any
}

// State is what a pass says about a custom resource.
type State struct {
	// Ready and Synced are always written; a nil one stays as it is, or becomes Unknown when it was never set.
	Ready, Synced *Condition
	// Reconciling and Stalled are written while set, and removed otherwise.
	Reconciling, Stalled *Condition
	// Observed tells that the generation is dealt with: it is ready, or a person must act.
	Observed bool
	// Identifiers mirror the record; nil removes them.
	Identifiers map[string]string
	// LastError is nil when the last request went well.
	LastError *LastError
	// Drift are the paths that differed last time. KeepDrift leaves what is there.
	Drift     []string
	KeepDrift bool
	// Projections are what the mapping shows of the object; none leaves what is there.
	Projections []Projection
	// Handled is the value of the reconcile annotation that this pass answers.
	Handled string
}
