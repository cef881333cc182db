package v1alpha1

// FieldEvent is a moment at which a field is sent.
type FieldEvent string

// The moments at which a field is sent.
const (
	OnCreate FieldEvent = "Create"
	OnUpdate FieldEvent = "Update"
	// OnRotate is for outputs alone.
	OnRotate FieldEvent = "Rotate"
)

// Compare says when two values are equal.
type Compare string

// The ways of comparing.
const (
	// CompareExact compares JSON values; numbers by value.
	CompareExact Compare = "Exact"
	// CompareSet compares lists regardless of order and repetition.
	CompareSet Compare = "Set"
	// CompareCaseInsensitive compares strings with case folded.
	CompareCaseInsensitive Compare = "CaseInsensitive"
	// CompareNumber compares numbers that one side may write as text.
	CompareNumber Compare = "Number"
	// CompareWhole is Exact with objects as a whole: a key that the custom resource does not have is a difference, and
	// the update removes it.
	CompareWhole Compare = "Whole"
	// CompareStrict is Whole with what is empty taken at its word: "", [] and {} differ from each other, from null and
	// from absent.
	CompareStrict Compare = "Strict"
	// CompareTimestamp compares moments: RFC 3339 in any zone and precision, or seconds or milliseconds since 1970.
	CompareTimestamp Compare = "Timestamp"
	// CompareQuantity compares Kubernetes quantities: "1Gi" is 1073741824.
	CompareQuantity Compare = "Quantity"
	// CompareMapByKey compares lists of objects by the value that key names, regardless of order.
	CompareMapByKey Compare = "MapByKey"
	// CompareIgnore never differs.
	CompareIgnore Compare = "Ignore"
)

// Nulls says what a null value means.
type Nulls string

// The meanings of null.
const (
	// NullsOmit leaves a null value out, and what the server has as it is.
	NullsOmit Nulls = "Omit"
	// NullsSend sends null, so that the server has nothing there.
	NullsSend Nulls = "Send"
	// NullsRemove takes away what the server has there, in the way of each body.
	NullsRemove Nulls = "Remove"
)

// Field carries one value of the custom resource into the body. A value that is null, or an absent optional, is not
// sent and not compared, unless nulls says otherwise.
//
// +kubebuilder:validation:XValidation:rule="has(self.from) != has(self.value)",message="field: exactly one of from and value"
// +kubebuilder:validation:XValidation:rule="(has(self.compare) && self.compare == 'MapByKey') == has(self.key)",message="field: key goes with compare MapByKey, and only with it"
// +kubebuilder:validation:XValidation:rule="!has(self.immutable) || !self.immutable || !has(self.writeOnly) || !self.writeOnly",message="field: nobody can see whether a writeOnly field was changed, so it cannot be immutable"
// +kubebuilder:validation:XValidation:rule="!has(self.immutable) || !self.immutable || !has(self.operations) || 'Create' in self.operations",message="field: an immutable field is sent on create; add Create to operations"
// +kubebuilder:validation:XValidation:rule="!has(self.always) || !self.always || !has(self.operations) || 'Update' in self.operations",message="field: always is about updates; add Update to operations"
type Field struct {
	// From is the path of a field of the custom resource, such as spec.description.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	From string `json:"from,omitempty"`
	// Value is CEL.
	// +optional
	Value Expression `json:"value,omitempty"`
	// To is the path in the body, such as config.url. A segment with a dot in it is written ["a.b"].
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	To string `json:"to"`
	// Operations are those that the field is sent with; Create and Update by default.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:validation:items:Enum=Create;Update
	Operations []FieldEvent `json:"operations,omitempty"`
	// +optional
	// +kubebuilder:default=Exact
	// +kubebuilder:validation:Enum=Exact;Whole;Strict;Set;MapByKey;CaseInsensitive;Number;Quantity;Timestamp;Ignore
	Compare Compare `json:"compare,omitempty"`
	// Key is the key that tells the objects of the list apart, such as name; for compare MapByKey.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Key string `json:"key,omitempty"`
	// Nulls says what a null value, or an absent one, means: Omit, which is the default, neither sends nor compares it;
	// Send sends null, and compares it with null or absent; Remove takes away what the server has there: Desired and
	// Overlay leave it out, Changed sends null, JSONPatch removes it.
	// +optional
	// +kubebuilder:validation:Enum=Omit;Send;Remove
	Nulls Nulls `json:"nulls,omitempty"`
	// ObservedAt is the path in the observed object where this value is read back, when that is not To.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	ObservedAt string `json:"observedAt,omitempty"`
	// WriteOnly says that the server never gives the value back: it is sent with every write and never compared.
	// +optional
	WriteOnly bool `json:"writeOnly,omitempty"`
	// Always sends the field with every update, also when it does not differ: for a server that demands it. Desired and
	// Overlay do so anyway.
	// +optional
	Always bool `json:"always,omitempty"`
	// Immutable says that the server lets nobody change the value after the create. It is sent on create and in updates
	// that hold everything, never as a change; another value is ImmutableFieldChanged.
	// +optional
	Immutable bool `json:"immutable,omitempty"`
}

// StatusField carries one value of the observed object into the custom resource's status.
type StatusField struct {
	// To is the path below status.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	To string `json:"to"`
	// Value is CEL over observed, self and identifiers. A null value, or an absent optional, leaves the field out.
	Value Expression `json:"value"`
}

// ReadyRule says when the object outside is usable.
type ReadyRule struct {
	// Expression is CEL and gives a boolean.
	Expression Expression `json:"expression"`
	// Message is shown while it is false.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}

// Rule must hold before any request is sent.
type Rule struct {
	// Expression is CEL over self and gives a boolean.
	Expression Expression `json:"expression"`
	// Message says what is wrong and what to do.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message"`
	// Reason is the condition's reason; RuleViolated by default.
	// +optional
	// +kubebuilder:validation:Pattern=`^[A-Z][A-Za-z0-9]*$`
	// +kubebuilder:validation:MaxLength=128
	Reason string `json:"reason,omitempty"`
}

// OutcomeName is what a response means.
type OutcomeName string

// The outcomes a mapping can declare.
const (
	// OutcomeSuccess: it worked.
	OutcomeSuccess OutcomeName = "Success"
	// OutcomeAbsent: the object is not there.
	OutcomeAbsent OutcomeName = "Absent"
	// OutcomeConflict: an object with this key exists already, or it changed meanwhile.
	OutcomeConflict OutcomeName = "Conflict"
	// OutcomeWait: not now; something else must happen first.
	OutcomeWait OutcomeName = "Wait"
	// OutcomeRetry: it failed for a reason that passes.
	OutcomeRetry OutcomeName = "Retry"
	// OutcomeRejected: it will not work until a person changes something.
	OutcomeRejected OutcomeName = "Rejected"
)

// OutcomeRule overrides the default meaning of responses.
type OutcomeRule struct {
	// Operations limit the rule to these; all by default.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=5
	// +kubebuilder:validation:items:Enum=Read;List;Create;Update;Delete;Rotate
	Operations []string `json:"operations,omitempty"`
	// When is CEL over response and self, and gives a boolean.
	When Expression `json:"when"`
	// +kubebuilder:validation:Enum=Success;Absent;Conflict;Wait;Retry;Rejected
	Outcome OutcomeName `json:"outcome"`
	// Message replaces the server's own words.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}
