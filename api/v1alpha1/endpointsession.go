package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SessionAuth is a login that yields a token or a cookie.
type SessionAuth struct {
	Login SessionLogin `json:"login"`
	Token SessionToken `json:"token"`
	// CSRF is a second value of the login's answer, for servers that want it in a header.
	// +optional
	CSRF *SessionCSRF `json:"csrf,omitempty"`
	// ExpiredStatus are the statuses that mean: log in again.
	// +optional
	// +listType=set
	// +kubebuilder:default={401}
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:Minimum=300
	// +kubebuilder:validation:items:Maximum=499
	ExpiredStatus []int32 `json:"expiredStatus,omitempty"`
	// TTL is how long a session is used at most; until the server refuses it, or its cookie ends, by default.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s')",message="ttl: must be more than zero"
	TTL *metav1.Duration `json:"ttl,omitempty"`
}

// SessionMethod is the method of a login.
type SessionMethod string

// The methods of a login.
const (
	SessionPost SessionMethod = "POST"
	SessionPut  SessionMethod = "PUT"
)

// SessionEncoding is how the fields of a login are written.
type SessionEncoding string

// The encodings of a login.
const (
	SessionJSON SessionEncoding = "JSON"
	SessionForm SessionEncoding = "Form"
)

// SessionLogin is the request that logs in.
type SessionLogin struct {
	// +optional
	// +kubebuilder:default=POST
	// +kubebuilder:validation:Enum=POST;PUT
	Method SessionMethod `json:"method,omitempty"`
	// Path below the base URL.
	// +kubebuilder:validation:Pattern=`^/[^?#]*$`
	// +kubebuilder:validation:MaxLength=1024
	Path string `json:"path"`
	// +optional
	// +kubebuilder:default=JSON
	// +kubebuilder:validation:Enum=JSON;Form
	Encoding SessionEncoding `json:"encoding,omitempty"`
	// Fields are the body.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Fields []SessionField `json:"fields,omitempty"`
}

// SessionField is a field of the login's body.
//
// +kubebuilder:validation:XValidation:rule="has(self.value) != has(self.valueRef)",message="fields: exactly one of value and valueRef"
type SessionField struct {
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Name string `json:"name"`
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Value *string `json:"value,omitempty"`
	// +optional
	ValueRef *SecretKeyReference `json:"valueRef,omitempty"`
}

// SessionSource is a place in the answer to a login.
//
// +kubebuilder:validation:XValidation:rule="[has(self.body), has(self.header), has(self.cookie)].filter(x, x).size() == 1",message="from: exactly one of body, header and cookie"
type SessionSource struct {
	// Body is a JSON pointer (/data/token), a path with dots (data.token), or "." for the whole body.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Body string `json:"body,omitempty"`
	// Header is the name of a header.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Header string `json:"header,omitempty"`
	// Cookie is the name of a cookie that the answer sets.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Cookie string `json:"cookie,omitempty"`
}

// SessionToken says where the token is and where it goes.
//
// +kubebuilder:validation:XValidation:rule="has(self.header) != has(self.cookie)",message="token: exactly one of header and cookie"
type SessionToken struct {
	From SessionSource `json:"from"`
	// Header carries the token in every request.
	// +optional
	Header *SessionHeader `json:"header,omitempty"`
	// Cookie is the name of the cookie that carries the token in every request.
	// +optional
	// +kubebuilder:validation:Pattern="^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"
	// +kubebuilder:validation:MaxLength=255
	Cookie string `json:"cookie,omitempty"`
}

// SessionHeader is a header with an optional literal prefix such as "Bearer ".
type SessionHeader struct {
	// +kubebuilder:validation:Pattern="^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"
	// +kubebuilder:validation:MaxLength=255
	Name string `json:"name"`
	// +optional
	// +kubebuilder:validation:MaxLength=255
	Prefix string `json:"prefix,omitempty"`
}

// SessionCSRF says where a CSRF token is and which header carries it. One from a cookie is sent back as that cookie, too.
type SessionCSRF struct {
	From SessionSource `json:"from"`
	// Header is the name of the header.
	// +kubebuilder:validation:Pattern="^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"
	// +kubebuilder:validation:MaxLength=255
	Header string `json:"header"`
}
