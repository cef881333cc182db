package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Async says how to follow an operation that the server only accepts and does later (202 and its relatives). The
// operation is written into the record of the custom resource before it is asked about, so that another process can
// follow it.
//
// +kubebuilder:validation:XValidation:rule="!has(self.interval) || (duration(self.interval) >= duration('500ms') && duration(self.interval) <= duration('1h'))",message="async: interval is from 500ms to 1h"
// +kubebuilder:validation:XValidation:rule="!has(self.deadline) || (duration(self.deadline) >= duration('10s') && duration(self.deadline) <= duration('24h'))",message="async: deadline is from 10s to 24h"
type Async struct {
	// When says that response only accepts what was asked for: response.status == 202 by default. Every other success
	// means that it is done.
	// +optional
	When Expression `json:"when,omitempty"`
	// Handle gives the URL at which the operation is asked about, absolute or relative, from response; the header
	// Location by default. It must keep the endpoint's origin and base path.
	// +optional
	Handle Expression `json:"handle,omitempty"`
	// Done says that the operation has done what was asked, from operation, the answer of the handle. By default that is
	// any 2xx but 202.
	// +optional
	Done Expression `json:"done,omitempty"`
	// Failed says that the operation has failed, from operation. By default none has. Outcomes of the operation, with
	// that answer as response, can say what the failure means.
	// +optional
	Failed Expression `json:"failed,omitempty"`
	// Message gives the server's own words about a failure, from operation; by default they are looked for in the body.
	// +optional
	Message Expression `json:"message,omitempty"`
	// Interval is how often it is asked about; Retry-After of the server wins. from 500ms to 1h.
	// +optional
	// +kubebuilder:default="3s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]{1,5}(\.[0-9]{1,3})?(ms|s|m|h)){1,4}$`
	Interval metav1.Duration `json:"interval,omitempty"`
	// Deadline is the longest that the server may be at work on it; from 10s to 24h. An update or a delete that takes
	// longer is given up and sent again; a create is Stalled, and followed on.
	// +optional
	// +kubebuilder:default="10m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]{1,5}(\.[0-9]{1,3})?(ms|s|m|h)){1,4}$`
	Deadline metav1.Duration `json:"deadline,omitempty"`
}
