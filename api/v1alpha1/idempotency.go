package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MaxClockSkew is by how much the clocks of two machines that run the operator may differ. The time in which a server knows
// an idempotency key again is counted from the intent's time, which another machine may have written.
const MaxClockSkew = 5 * time.Minute

// Idempotency says how the server knows a create again that is sent a second time.
//
// +kubebuilder:validation:XValidation:rule="(has(self.header) ? 1 : 0) + (has(self.query) ? 1 : 0) + (has(self.field) ? 1 : 0) == 1",message="idempotency: exactly one of header, query and field"
// +kubebuilder:validation:XValidation:rule="duration(self.window) >= duration('10m')",message="idempotency: a window below 10m cannot be used: clocks may differ by five minutes, and a request takes its time"
type Idempotency struct {
	// Header is the request header that the key goes into, such as Idempotency-Key.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Header string `json:"header,omitempty"`
	// Query is the query parameter that it goes into, such as requestId.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Query string `json:"query,omitempty"`
	// Field is the place in the body that it goes into, written as fields[].to, such as idempotency_key.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Field string `json:"field,omitempty"`
	// Window is how long the server knows a key again, counted from when it came first, as its documentation promises.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]{1,5}(\.[0-9]{1,3})?(ms|s|m|h)){1,4}$`
	// +kubebuilder:validation:MaxLength=64
	Window metav1.Duration `json:"window"`
}
