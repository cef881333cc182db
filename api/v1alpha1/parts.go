package v1alpha1

// Part says how elements of one custom resource become objects of their own outside: the teams of an organization, the
// permissions of a user. They are looked at after the object of the custom resource itself, with one list per part.
//
// +kubebuilder:validation:XValidation:rule="!has(self.identifiers) || self.identifiers.all(i, !has(i.assigned)) || has(self.operations.create)",message="parts: an assigned identifier needs operations.create"
type Part struct {
	// Name tells this part from the others; it stands in status.drift and in messages: parts.<name>[<key>].
	// +kubebuilder:validation:Pattern=`^[A-Za-z_][A-Za-z0-9_]*$`
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// ForEach gives the list of elements from the custom resource (self). Each of them is the variable part below.
	ForEach Expression `json:"forEach"`
	// Key gives the text that tells an element (part) from the others. Two elements with one key are refused before any
	// request is sent. The server must keep it unique too.
	Key Expression `json:"key"`
	// Identifiers fill the {name} parameters of the part's paths, together with those of the mapping. A value comes from
	// the key, the mapping's identifiers, the observed object (parent) and the endpoint.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Identifiers []Identifier `json:"identifiers,omitempty"`
	// Operations are the requests for one element, and the one that lists them all.
	Operations PartOperations `json:"operations"`
	// Fields carry values into request bodies. A from begins with part, spec or metadata.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	Fields []Field `json:"fields,omitempty"`
	// Prune says what is done to objects in the list that no element asks for.
	// +optional
	// +kubebuilder:default=Owned
	// +kubebuilder:validation:Enum=Owned;All;None
	Prune Prune `json:"prune,omitempty"`
	// Deletion says what becomes of the objects when the custom resource goes.
	// +optional
	// +kubebuilder:default=WithParent
	// +kubebuilder:validation:Enum=WithParent;First
	Deletion PartDeletion `json:"deletion,omitempty"`
}

// Prune says which objects are deleted that no element asks for.
type Prune string

// The ways of pruning.
const (
	// PruneOwned deletes what was made for this custom resource, as its record says.
	PruneOwned Prune = "Owned"
	// PruneAll deletes everything else in the list: the collection belongs to the custom resource.
	PruneAll Prune = "All"
	// PruneNone deletes nothing: what is no longer asked for is left in place and forgotten.
	PruneNone Prune = "None"
)

// PartDeletion says what becomes of parts when their custom resource is deleted.
type PartDeletion string

// The ways in which parts go.
const (
	// PartsWithParent: the server removes them together with the object that they belong to.
	PartsWithParent PartDeletion = "WithParent"
	// PartsFirst: they are deleted, and seen to be gone, before the object that they belong to is deleted.
	PartsFirst PartDeletion = "First"
)

// PartOperations are the requests of a part.
type PartOperations struct {
	// List gives all objects of the part, page by page: the one request that observes them.
	List PartListOperation `json:"list"`
	// Create makes one object. Without it a missing one is reported.
	// +optional
	Create *CreateOperation `json:"create,omitempty"`
	// Update changes one object. Without it a difference is reported.
	// +optional
	Update *UpdateOperation `json:"update,omitempty"`
	// Delete removes one object. Without it objects are left in place.
	// +optional
	Delete *DeleteOperation `json:"delete,omitempty"`
}

// PartListOperation lists the objects of a part.
//
// +kubebuilder:validation:XValidation:rule="!has(self.encoding) || self.encoding != 'Raw' || (has(self.bodyExpression) && has(self.contentType))",message="list: encoding Raw needs bodyExpression and contentType"
type PartListOperation struct {
	RequestTemplate `json:",inline"`
	// +optional
	// +kubebuilder:default=GET
	// +kubebuilder:validation:Enum=GET;POST
	Method string `json:"method,omitempty"`
	// BodyExpression gives the body of a list by POST.
	// +optional
	BodyExpression Expression `json:"bodyExpression,omitempty"`
	// Items gives the list of objects from the response; response.body by default.
	// +optional
	Items Expression `json:"items,omitempty"`
	// ItemKey gives the key of an item, the same text that key gives of the element which the item is made from. Null, or
	// an absent optional, leaves the item out of account.
	ItemKey Expression `json:"itemKey"`
	// +optional
	Pagination *Pagination `json:"pagination,omitempty"`
}
