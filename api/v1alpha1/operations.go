package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Operations are the requests of a mapping.
type Operations struct {
	// Read gets one object.
	// +optional
	Read *ReadOperation `json:"read,omitempty"`
	// List finds one object among many: by a match expression, when its identifier is not known or there is no read.
	// +optional
	List *ListOperation `json:"list,omitempty"`
	// Create makes the object. Without it a missing object is reported.
	// +optional
	Create *CreateOperation `json:"create,omitempty"`
	// Update changes the object. Without it drift is reported.
	// +optional
	Update *UpdateOperation `json:"update,omitempty"`
	// Delete removes the object. Without it the object is left in place when the custom resource goes.
	// +optional
	Delete *DeleteOperation `json:"delete,omitempty"`
	// Rotate makes the server give the object a new secret, which only its answer shows. It is sent when annotation
	// restmapping.dev/rotate asks for it, or after an interval, and its answer goes into outputs.
	// +optional
	Rotate *RotateOperation `json:"rotate,omitempty"`
}

// RequestTemplate is what every operation has.
type RequestTemplate struct {
	// Path is written as in OpenAPI: each {name} is an identifier and is sent as exactly one escaped segment.
	// +kubebuilder:validation:Pattern=`^/[^?#]*$`
	// +kubebuilder:validation:MaxLength=1024
	Path string `json:"path"`
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Query []Parameter `json:"query,omitempty"`
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Headers []Parameter `json:"headers,omitempty"`
	// Accept is the Accept header; application/json by default.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	Accept string `json:"accept,omitempty"`
	// ContentType is the media type of the body; by default application/json, application/json-patch+json for a
	// JSONPatch, application/x-www-form-urlencoded for a Form, or multipart/form-data for Multipart. Raw has none by default.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	ContentType string `json:"contentType,omitempty"`
	// Encoding is how the body is written; JSON by default.
	// +optional
	// +kubebuilder:validation:Enum=JSON;Form;Multipart;Raw
	Encoding Encoding `json:"encoding,omitempty"`
}

// Encoding says how a request body is written.
type Encoding string

// The encodings.
const (
	// EncodingJSON writes JSON.
	EncodingJSON Encoding = "JSON"
	// EncodingForm writes a flat object as application/x-www-form-urlencoded: a list repeats its key, null leaves it out.
	EncodingForm Encoding = "Form"
	// EncodingMultipart writes an object as multipart/form-data: a part a key, a list repeats it, null leaves it out. An
	// object is a file: content (text) or base64 (bytes), and optionally filename and contentType.
	EncodingMultipart Encoding = "Multipart"
	// EncodingRaw sends the text, or the bytes, that bodyExpression gives.
	EncodingRaw Encoding = "Raw"
)

// Parameter is a query or header parameter. A null value, or an absent optional, leaves it out; a list repeats it.
type Parameter struct {
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Name string `json:"name"`
	// Value is CEL; a literal is written with quotes inside: "'full'".
	Value Expression `json:"value"`
}

// ReadOperation gets one object.
//
// +kubebuilder:validation:XValidation:rule="!has(self.encoding) || self.encoding != 'Raw' || (has(self.bodyExpression) && has(self.contentType))",message="read: encoding Raw needs bodyExpression and contentType"
type ReadOperation struct {
	RequestTemplate `json:",inline"`
	// +optional
	// +kubebuilder:default=GET
	// +kubebuilder:validation:Enum=GET;POST
	Method string `json:"method,omitempty"`
	// BodyExpression gives the body of a read by POST.
	// +optional
	BodyExpression Expression `json:"bodyExpression,omitempty"`
	// Select gives the object from the response; response.body by default.
	// +optional
	Select Expression `json:"select,omitempty"`
}

// ListOperation finds one object among many.
//
// +kubebuilder:validation:XValidation:rule="!has(self.encoding) || self.encoding != 'Raw' || (has(self.bodyExpression) && has(self.contentType))",message="list: encoding Raw needs bodyExpression and contentType"
type ListOperation struct {
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
	// Match says whether item is the object of this custom resource (self, identifiers). At most one may match.
	Match Expression `json:"match"`
	// +optional
	Pagination *Pagination `json:"pagination,omitempty"`
}

// PaginationType says how a list continues.
type PaginationType string

// The ways in which lists continue.
const (
	// PaginationLink follows the Link header with rel="next" (RFC 8288).
	PaginationLink PaginationType = "Link"
	// PaginationPage counts pages.
	PaginationPage PaginationType = "Page"
	// PaginationOffset counts items.
	PaginationOffset PaginationType = "Offset"
	// PaginationCursor sends the cursor of the previous response.
	PaginationCursor PaginationType = "Cursor"
)

// Pagination says how a list continues. Absence is only concluded after the last page.
//
// +kubebuilder:validation:XValidation:rule="self.type != 'Page' || has(self.pageParam)",message="pagination: type Page needs pageParam"
// +kubebuilder:validation:XValidation:rule="self.type != 'Offset' || has(self.offsetParam)",message="pagination: type Offset needs offsetParam"
// +kubebuilder:validation:XValidation:rule="self.type != 'Cursor' || (has(self.cursorParam) && has(self.cursor))",message="pagination: type Cursor needs cursorParam and cursor"
type Pagination struct {
	// +kubebuilder:validation:Enum=Link;Page;Offset;Cursor
	Type PaginationType `json:"type"`
	// PageParam is the query parameter with the page's number.
	// +optional
	PageParam string `json:"pageParam,omitempty"`
	// FirstPage is the number of the first page.
	// +optional
	// +kubebuilder:default=1
	FirstPage *int64 `json:"firstPage,omitempty"`
	// OffsetParam is the query parameter with the number of items to skip.
	// +optional
	OffsetParam string `json:"offsetParam,omitempty"`
	// LimitParam is the query parameter with the page size.
	// +optional
	LimitParam string `json:"limitParam,omitempty"`
	// Limit is the page size asked for. Servers may give less: a list ends at an empty page, whatever the size.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	Limit int64 `json:"limit,omitempty"`
	// CursorParam is the query parameter with the cursor.
	// +optional
	CursorParam string `json:"cursorParam,omitempty"`
	// Cursor gives the following page's cursor from the response; null, empty or absent ends the list.
	// +optional
	Cursor Expression `json:"cursor,omitempty"`
	// MaxPages bounds a listing; one that is longer is an error, never an absence.
	// +optional
	// +kubebuilder:default=100
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	MaxPages int `json:"maxPages,omitempty"`
}

// CreateSafety says what makes re-sending a create safe.
type CreateSafety string

// The classes of create safety.
const (
	// SafetyUpsert: a PUT at a path the client chose; sending it again does no harm.
	SafetyUpsert CreateSafety = "Upsert"
	// SafetyUniqueKey: the server refuses a second object with the same key, and it can be looked up by that key.
	SafetyUniqueKey CreateSafety = "UniqueKey"
	// SafetyIdempotencyKey: the server knows a create again that carries the same key, and answers it as it did the first.
	SafetyIdempotencyKey CreateSafety = "IdempotencyKey"
	// SafetyMarker: a field carries self.metadata.uid, and the list can be searched for it.
	SafetyMarker CreateSafety = "Marker"
	// SafetyNone: nothing; a create whose outcome is unknown needs a person.
	SafetyNone CreateSafety = "None"
)

// CreateOperation makes the object.
//
// +kubebuilder:validation:XValidation:rule="!has(self.body) || !has(self.bodyExpression)",message="create: at most one of body and bodyExpression"
// +kubebuilder:validation:XValidation:rule="!has(self.encoding) || self.encoding != 'Raw' || (has(self.bodyExpression) && has(self.contentType))",message="create: encoding Raw needs bodyExpression and contentType"
// +kubebuilder:validation:XValidation:rule="has(self.idempotency) == (has(self.safety) && self.safety == 'IdempotencyKey')",message="create: idempotency and safety IdempotencyKey go together"
type CreateOperation struct {
	RequestTemplate `json:",inline"`
	// Lock is CEL over self and identifiers that gives a key: writes with the same key at one endpoint go one after the
	// other, whichever mapping they are of. The empty text is no lock.
	// +optional
	Lock Expression `json:"lock,omitempty"`
	// +optional
	// +kubebuilder:default=POST
	// +kubebuilder:validation:Enum=POST;PUT;PATCH
	Method string `json:"method,omitempty"`
	// Body is Desired (the fields) or None.
	// +optional
	// +kubebuilder:validation:Enum=Desired;None
	Body BodyMode `json:"body,omitempty"`
	// BodyExpression gives the whole body; desired is the body the fields make.
	// +optional
	BodyExpression Expression `json:"bodyExpression,omitempty"`
	// Select says where in the response the created object is. With it, the object need not be read again.
	// +optional
	Select Expression `json:"select,omitempty"`
	// Safety says what makes re-sending this request safe. It is derived where that can be done, and shown in the
	// mapping's status.
	// +optional
	// +kubebuilder:validation:Enum=Upsert;UniqueKey;IdempotencyKey;Marker;None
	Safety CreateSafety `json:"safety,omitempty"`
	// Idempotency says how the server knows this request again, for safety IdempotencyKey.
	// +optional
	Idempotency *Idempotency `json:"idempotency,omitempty"`
	// Async says how to follow an operation that the server only accepts and does later.
	// +optional
	Async *Async `json:"async,omitempty"`
}

// BodyMode says how a request body is made.
type BodyMode string

// The body modes.
const (
	// BodyDesired sends the fields of this operation.
	BodyDesired BodyMode = "Desired"
	// BodyChanged sends only what differs, as a JSON merge patch (RFC 7386).
	BodyChanged BodyMode = "Changed"
	// BodyOverlay sends the observed object with the fields laid over it.
	BodyOverlay BodyMode = "Overlay"
	// BodyJSONPatch sends only what differs, as a JSON patch (RFC 6902) that tests what was observed before it is replaced.
	BodyJSONPatch BodyMode = "JSONPatch"
	// BodyNone sends no body.
	BodyNone BodyMode = "None"
)

// UpdateOperation changes the object.
//
// +kubebuilder:validation:XValidation:rule="!has(self.body) || !has(self.bodyExpression)",message="update: at most one of body and bodyExpression"
// +kubebuilder:validation:XValidation:rule="!has(self.encoding) || self.encoding != 'Raw' || (has(self.bodyExpression) && has(self.contentType))",message="update: encoding Raw needs bodyExpression and contentType"
// +kubebuilder:validation:XValidation:rule="!has(self.bodyExpression) || (!has(self.carry) && !has(self.strip))",message="update: carry and strip go with body; a bodyExpression does it with merge and omit"
type UpdateOperation struct {
	RequestTemplate `json:",inline"`
	// Lock is CEL over self and identifiers that gives a key: writes with the same key at one endpoint go one after the
	// other, whichever mapping they are of. The empty text is no lock.
	// +optional
	Lock Expression `json:"lock,omitempty"`
	// +optional
	// +kubebuilder:default=PUT
	// +kubebuilder:validation:Enum=PUT;PATCH;POST
	Method string `json:"method,omitempty"`
	// Body is Desired for PUT and POST and Changed for PATCH, unless said otherwise.
	// +optional
	// +kubebuilder:validation:Enum=Desired;Changed;Overlay;JSONPatch;None
	Body BodyMode `json:"body,omitempty"`
	// Carry are paths of the object as it was read that are copied into the body as they are, such as a version that the
	// server wants back: for the bodies Desired and Changed. What is not there is left out.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=512
	Carry []string `json:"carry,omitempty"`
	// Strip are paths that the server does not take back, although it shows them: they are left out of an Overlay.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=512
	Strip []string `json:"strip,omitempty"`
	// BodyExpression gives the whole body; desired and changed are what those modes would send, observed is the
	// object as read.
	// +optional
	BodyExpression Expression `json:"bodyExpression,omitempty"`
	// Select says where in the response the updated object is. With it, the object need not be read again.
	// +optional
	Select Expression `json:"select,omitempty"`
	// Async says how to follow an operation that the server only accepts and does later.
	// +optional
	Async *Async `json:"async,omitempty"`
}

// DeleteOperation removes the object.
//
// +kubebuilder:validation:XValidation:rule="!has(self.encoding) || self.encoding != 'Raw' || (has(self.bodyExpression) && has(self.contentType))",message="delete: encoding Raw needs bodyExpression and contentType"
type DeleteOperation struct {
	RequestTemplate `json:",inline"`
	// Lock is CEL over self and identifiers that gives a key: writes with the same key at one endpoint go one after the
	// other, whichever mapping they are of. The empty text is no lock.
	// +optional
	Lock Expression `json:"lock,omitempty"`
	// +optional
	// +kubebuilder:default=DELETE
	// +kubebuilder:validation:Enum=DELETE;POST;PUT;PATCH
	Method string `json:"method,omitempty"`
	// BodyExpression gives the body of a delete that needs one; observed is the object as read, when it was.
	// +optional
	BodyExpression Expression `json:"bodyExpression,omitempty"`
	// Before are requests that make the object ready to be deleted, such as one that deactivates it. The first whose when
	// holds is sent, then the object is looked at again, until none is left.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	Before []DeleteStep `json:"before,omitempty"`
	// Async says how to follow an operation that the server only accepts and does later.
	// +optional
	Async *Async `json:"async,omitempty"`
}

// DeleteStep is a request that is sent before the delete.
//
// +kubebuilder:validation:XValidation:rule="!has(self.encoding) || self.encoding != 'Raw' || (has(self.bodyExpression) && has(self.contentType))",message="before: encoding Raw needs bodyExpression and contentType"
type DeleteStep struct {
	// When says, of the object as it was read (observed), that this request is still to be sent. It must become false by
	// the request's effect.
	When            Expression `json:"when"`
	RequestTemplate `json:",inline"`
	// +optional
	// +kubebuilder:default=POST
	// +kubebuilder:validation:Enum=POST;PUT;PATCH;DELETE
	Method string `json:"method,omitempty"`
	// BodyExpression gives the body of a request that needs one; observed is the object as read.
	// +optional
	BodyExpression Expression `json:"bodyExpression,omitempty"`
}

// RotateOperation makes the server give the object a new secret.
//
// +kubebuilder:validation:XValidation:rule="!has(self.encoding) || self.encoding != 'Raw' || (has(self.bodyExpression) && has(self.contentType))",message="rotate: encoding Raw needs bodyExpression and contentType"
type RotateOperation struct {
	RequestTemplate `json:",inline"`
	// Lock is as that of an update.
	// +optional
	Lock Expression `json:"lock,omitempty"`
	// +optional
	// +kubebuilder:default=POST
	// +kubebuilder:validation:Enum=POST;PUT;PATCH
	Method string `json:"method,omitempty"`
	// BodyExpression gives the body; observed is the object as read.
	// +optional
	BodyExpression Expression `json:"bodyExpression,omitempty"`
	// Interval is how old a value becomes, from its create or last rotation on; from 1h. Without it, it is only rotated when
	// the annotation asks for it.
	// +optional
	Interval metav1.Duration `json:"interval,omitempty"`
}
