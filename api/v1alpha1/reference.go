package v1alpha1

// Reference makes another custom resource available to expressions as refs.<name>. The custom resource waits until the
// one that it refers to is there and ready, and the one that is referred to is not deleted outside before it.
//
// +kubebuilder:validation:XValidation:rule="self.target.group != 'restmapping.dev'",message="reference: the operator's own kinds cannot be referred to"
type Reference struct {
	// +kubebuilder:validation:Pattern=`^[A-Za-z_][A-Za-z0-9_]*$`
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// Target is the kind that is referred to.
	Target ReferenceTarget `json:"target"`
	// NameExpression gives the name from the custom resource (self). The object is in the custom resource's own
	// namespace, or cluster-scoped. Null, or an absent optional, means that there is none.
	NameExpression Expression `json:"nameExpression"`
	// Optional lets the pass go on when NameExpression gives nothing; refs.<name> is then absent. What is named must be
	// there all the same.
	// +optional
	Optional bool `json:"optional,omitempty"`
	// OwnerReference has the operator make the referenced object an owner of the custom resource, so that the garbage
	// collector deletes the one with the other.
	// +optional
	OwnerReference bool `json:"ownerReference,omitempty"`
	// BlockDeletion keeps the referenced object, where a mapping serves it, from being deleted outside while custom
	// resources refer to it. True by default.
	// +optional
	// +kubebuilder:default=true
	BlockDeletion *bool `json:"blockDeletion,omitempty"`
}

// ReferenceTarget names a kind by group, version and kind. It is defined by a CustomResourceDefinition.
type ReferenceTarget struct {
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group"`
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Version string `json:"version"`
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
}
