package v1alpha1

// OutputKind is a kind of object that outputs are written into.
type OutputKind string

// The kinds of object that outputs are written into.
const (
	OutputSecret    OutputKind = "Secret"
	OutputConfigMap OutputKind = "ConfigMap"
)

// Output writes values of a response into a Secret or ConfigMap in the custom resource's own namespace, for workloads
// to read. The object belongs to the custom resource and goes with it; one that somebody else made is never touched.
type Output struct {
	// Name tells the outputs of a mapping apart.
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// Kind is Secret or ConfigMap. The values of a Secret are kept out of status, events and messages.
	// +kubebuilder:validation:Enum=Secret;ConfigMap
	Kind OutputKind `json:"kind"`
	// NameExpression gives the object's name from the custom resource (self). Without it the name is the custom
	// resource's own, a dash, and the output's name.
	// +optional
	NameExpression Expression `json:"nameExpression,omitempty"`
	// Data gives the value of each key: text, a number or a boolean. A null value, or an absent optional, leaves the
	// key out.
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=32
	Data map[string]Expression `json:"data"`
	// Operations is [Create] for values that only the answer to the create holds (response). They are stored before
	// anything else is done with that answer. [Create, Rotate] takes them from the answer to a rotation, too. Without it, the
	// values come from each look (observed).
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:validation:items:Enum=Create;Rotate
	Operations []FieldEvent `json:"operations,omitempty"`
}
