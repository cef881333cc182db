package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RestMapping says how one kind of custom resource is kept at a REST API: where it lives, how it is named, which of
// its fields are sent, and what is shown of the answer. The kind's CRD belongs to the user.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=rmap,categories=restapi
// +kubebuilder:printcolumn:name="Kind",type=string,JSONPath=`.spec.target.kind`
// +kubebuilder:printcolumn:name="Endpoint",type=string,JSONPath=`.status.endpoint`
// +kubebuilder:printcolumn:name="Objects",type=string,JSONPath=`.status.summary`,description="How many custom resources are ready, of how many."
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type RestMapping struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec RestMappingSpec `json:"spec"`
	// +kubebuilder:default:={"observedGeneration":-1}
	Status RestMappingStatus `json:"status,omitempty"`
}

// RestMappingList is a list of RestMappings.
//
// +kubebuilder:object:root=true
type RestMappingList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []RestMapping `json:"items"`
}

// Expression is a CEL expression. Its variables are listed in docs/spec/restmapping.md.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=4096
type Expression string

// RestMappingSpec is what a person writes.
//
// +kubebuilder:validation:XValidation:rule="has(self.operations.read) || has(self.operations.list)",message="operations: at least one of read and list is needed, or the object outside can never be observed"
// +kubebuilder:validation:XValidation:rule="!has(self.identifiers) || self.identifiers.all(i, !has(i.assigned)) || !has(self.policy) || !has(self.policy.management) || self.policy.management != 'Full' || has(self.operations.create)",message="identifiers: an assigned identifier needs operations.create"
// +kubebuilder:validation:XValidation:rule="self.endpoint.kind != 'ClusterRestEndpoint' || has(self.endpoint.name) || has(self.endpoint.nameExpression)",message="endpoint: give name or nameExpression"
// +kubebuilder:validation:XValidation:rule="!has(self.policy) || !has(self.policy.immutable) || self.policy.immutable != 'Replace' || (has(self.operations.create) && has(self.operations.delete))",message="policy.immutable: Replace deletes the object and makes it anew; it needs operations.create and operations.delete"
// +kubebuilder:validation:XValidation:rule="!has(self.policy) || !has(self.policy.immutable) || self.policy.immutable != 'Replace' || !has(self.policy.deletion) || self.policy.deletion != 'Orphan'",message="policy.immutable: Replace deletes objects, and policy.deletion: Orphan leaves them; choose one"
type RestMappingSpec struct {
	// Target is the kind this mapping serves.
	Target Target `json:"target"`
	// Endpoint says which server; a custom resource never chooses a host.
	Endpoint EndpointReference `json:"endpoint"`
	// Identifiers fill the {name} parameters of the paths.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Identifiers []Identifier `json:"identifiers,omitempty"`
	// Secrets are values of Secrets in the custom resource's own namespace.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Secrets []SecretInput `json:"secrets,omitempty"`
	// References are other custom resources, which must be ready first.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	References []Reference `json:"references,omitempty"`
	// Operations are the requests.
	Operations Operations `json:"operations"`
	// Fields carry values of the custom resource into request bodies. Only what stands here is owned and compared.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Fields []Field `json:"fields,omitempty"`
	// Parts are objects outside that belong to the object of the custom resource, one for each element of a list.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	Parts []Part `json:"parts,omitempty"`
	// Status carries values of the observed object into the custom resource's status.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	Status []StatusField `json:"status,omitempty"`
	// Outputs carry values of responses into Secrets and ConfigMaps of the custom resource's namespace.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	Outputs []Output `json:"outputs,omitempty"`
	// Sensitive are the places in the server's answers that hold secrets, such as observed.token or response.body.password. What is
	// there may go into requests and into outputs of kind Secret, and is shown nowhere. A list on the way stands for all of
	// its elements.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=512
	Sensitive []string `json:"sensitive,omitempty"`
	// Ready says when the object outside is usable. Without it, it is usable once it exists as specified.
	// +optional
	Ready *ReadyRule `json:"ready,omitempty"`
	// Rules must hold before any request is sent.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Rules []Rule `json:"rules,omitempty"`
	// Outcomes override the default table of HTTP outcomes; the first that applies wins.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Outcomes []OutcomeRule `json:"outcomes,omitempty"`
	// Sync says how often the object outside is looked at.
	// +optional
	// +kubebuilder:default={}
	Sync Sync `json:"sync,omitempty"`
	// Policy says what may be done.
	// +optional
	// +kubebuilder:default={}
	Policy Policy `json:"policy,omitempty"`
}

// Target names a kind by group, version and kind.
//
// +kubebuilder:validation:XValidation:rule="self.group == oldSelf.group && self.kind == oldSelf.kind",message="target: group and kind cannot be changed; write a new RestMapping"
// +kubebuilder:validation:XValidation:rule="self.group != 'restmapping.dev'",message="target: the operator's own kinds cannot be mapped"
type Target struct {
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group"`
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Version string `json:"version"`
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// Selector takes only the custom resources with these labels. Without it all are taken.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
}

// EndpointReference names the server.
//
// +kubebuilder:validation:XValidation:rule="has(self.name) != has(self.nameExpression)",message="endpoint: exactly one of name and nameExpression"
type EndpointReference struct {
	// Kind is RestEndpoint (in the custom resource's own namespace) or ClusterRestEndpoint.
	// +kubebuilder:validation:Enum=RestEndpoint;ClusterRestEndpoint
	Kind EndpointKind `json:"kind"`
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
	// NameExpression gives the name from the custom resource (self).
	// +optional
	NameExpression Expression `json:"nameExpression,omitempty"`
}

// EndpointKind is a kind of endpoint.
type EndpointKind string

// The kinds of endpoint.
const (
	KindRestEndpoint        EndpointKind = "RestEndpoint"
	KindClusterRestEndpoint EndpointKind = "ClusterRestEndpoint"
)

// Identifier fills one {name} of the paths, from the custom resource or from a response.
//
// +kubebuilder:validation:XValidation:rule="has(self.value) != has(self.assigned)",message="identifier: exactly one of value and assigned"
type Identifier struct {
	// +kubebuilder:validation:Pattern=`^[A-Za-z_][A-Za-z0-9_]*$`
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// Value gives it from the custom resource (self) and the endpoint.
	// +optional
	Value Expression `json:"value,omitempty"`
	// Assigned gives it from the create response (response) or, when the object was found by the list, from the
	// item. The same expression serves both: response.body then is the item, and response.headers is empty.
	// +optional
	Assigned Expression `json:"assigned,omitempty"`
}

// SecretInput makes one key of a Secret available to expressions as secrets.<name>. The Secret is in the custom
// resource's namespace and carries the label restmapping.dev/allow-read: "true".
type SecretInput struct {
	// +kubebuilder:validation:Pattern=`^[A-Za-z_][A-Za-z0-9_]*$`
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// RefExpression gives an object {name, key} from the custom resource, usually a field such as
	// self.spec.passwordSecretRef. Null, or an absent optional, means that there is no secret.
	RefExpression Expression `json:"refExpression"`
	// Optional lets the pass go on when RefExpression gives nothing; secrets.<name> is then absent.
	// +optional
	Optional bool `json:"optional,omitempty"`
}

// ExpressionError is one thing wrong with one expression or path of a mapping.
type ExpressionError struct {
	// Field is the path in the mapping, such as spec.fields[2].value.
	Field string `json:"field"`
	// Line and Column count from 1 within the expression; 0 when they do not apply.
	// +optional
	Line int32 `json:"line,omitempty"`
	// +optional
	Column int32 `json:"column,omitempty"`
	// Message says what is wrong and how to put it right.
	Message string `json:"message"`
}

// RestMappingStatus is what the operator says about a mapping.
type RestMappingStatus struct {
	// ObservedGeneration is the newest generation that was looked at.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// AcceptedGeneration is the newest generation that could serve; it is the one that is served.
	// +optional
	AcceptedGeneration int64 `json:"acceptedGeneration,omitempty"`
	// AcceptedSpec is the specification of that generation, compressed, for when the operator is started again and the newest
	// generation is not accepted. It is the operator's own.
	// +optional
	AcceptedSpec string `json:"acceptedSpec,omitempty"`
	// Conditions: Ready, Accepted, TargetCompatible, Watching, and Stalled and Reconciling while true.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// ExpressionErrors are all errors of the newest generation.
	// +optional
	// +listType=atomic
	ExpressionErrors []ExpressionError `json:"expressionErrors,omitempty"`
	// CreateSafety is the class of create safety in force.
	// +optional
	CreateSafety CreateSafety `json:"createSafety,omitempty"`
	// CreateSafetyMessage says in words what follows from it.
	// +optional
	CreateSafetyMessage string `json:"createSafetyMessage,omitempty"`
	// Endpoint is the endpoint as printed: kind/name, or kind/(expression).
	// +optional
	Endpoint string `json:"endpoint,omitempty"`
	// Objects counts the custom resources of the mapping.
	// +optional
	Objects *ObjectCounts `json:"objects,omitempty"`
	// ChangePlan says what the newest generation would change outside, while it waits because of that.
	// +optional
	ChangePlan *ChangePlan `json:"changePlan,omitempty"`
	// HeldDeletions says which deletions outside wait for a person.
	// +optional
	HeldDeletions *HeldDeletions `json:"heldDeletions,omitempty"`
	// Summary is "ready/total", for kubectl get.
	// +optional
	Summary string `json:"summary,omitempty"`
}

// ChangePlan is what a new generation would change outside, found out by looking alone. Where there are more than a thousand custom
// resources, the numbers are drawn from a sample.
type ChangePlan struct {
	// Generation is the one that waits. It is what acknowledges it.
	Generation int64 `json:"generation"`
	// Objects is how many custom resources there are.
	Objects int32 `json:"objects"`
	// Changes is of how many the object outside would be changed, Unknown of how many that could not be found out.
	Changes int32 `json:"changes"`
	Unknown int32 `json:"unknown"`
	// Operations are what would be done, the most frequent first: Create, Update, Delete, Replace, Adopt, OtherObject (the
	// requests would be about another object), Abandon (no longer served), Stop (with the reason), each also of a part.
	// +optional
	// +listType=atomic
	Operations []string `json:"operations,omitempty"`
	// Fields are some of the fields that would change.
	// +optional
	// +listType=atomic
	Fields []string `json:"fields,omitempty"`
	// Names are some of the custom resources, as namespace/name.
	// +optional
	// +listType=atomic
	Names []string `json:"names,omitempty"`
}

// HeldDeletions are deletions outside that wait for a person.
type HeldDeletions struct {
	// Since is when they began to be held, in RFC 3339. It is what acknowledges them.
	Since string `json:"since"`
	// Message says why, and what to do.
	Message string `json:"message"`
}

// ObjectCounts counts custom resources by state.
type ObjectCounts struct {
	Total   int32 `json:"total"`
	Ready   int32 `json:"ready"`
	Stalled int32 `json:"stalled"`
}
