package v1alpha1

// SecretKeyReference says where a secret value is: one key of a Secret, in the endpoint's namespace or in the operator's for
// a ClusterRestEndpoint, which carries the label restmapping.dev/allow-read: "true"; a file; or a secret in Vault.
//
// +kubebuilder:validation:XValidation:rule="[has(self.name), has(self.file), has(self.vault)].filter(x, x).size() == 1 && has(self.name) == has(self.key)",message="exactly one of name with key, file, and vault"
type SecretKeyReference struct {
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key,omitempty"`
	// File is a path below the directory that the operator was started with (--credentials-directory). Only for a
	// ClusterRestEndpoint.
	// +optional
	// +kubebuilder:validation:Pattern=`^([A-Za-z0-9_-][A-Za-z0-9._-]*/)*[A-Za-z0-9_-][A-Za-z0-9._-]*$`
	// +kubebuilder:validation:MaxLength=512
	File string `json:"file,omitempty"`
	// Vault is a key of a secret in the Vault of spec.vault.
	// +optional
	Vault *VaultReference `json:"vault,omitempty"`
}

// VaultReference names one key of a secret of the KV engine, version 2.
type VaultReference struct {
	// Path below the mount, without "data/".
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$`
	// +kubebuilder:validation:MaxLength=512
	Path string `json:"path"`
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key"`
}

// SecretReference names a whole Secret, under the same rules as SecretKeyReference.
type SecretReference struct {
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	Name string `json:"name"`
}

// Auth is a credential.
//
// +kubebuilder:validation:XValidation:rule="[has(self.bearer), has(self.basic), has(self.headers), has(self.apiKey), has(self.oauth2), has(self.session), has(self.serviceAccountToken)].filter(x, x).size() == 1",message="auth: exactly one of bearer, basic, headers, apiKey, oauth2, session and serviceAccountToken"
type Auth struct {
	// Bearer sends Authorization: Bearer <token> (RFC 6750).
	// +optional
	Bearer *BearerAuth `json:"bearer,omitempty"`
	// Basic sends Authorization: Basic (RFC 7617).
	// +optional
	Basic *BasicAuth `json:"basic,omitempty"`
	// Headers sends secret headers.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	Headers []SecretHeader `json:"headers,omitempty"`
	// APIKey sends a key in a header, in the query or in a cookie.
	// +optional
	APIKey *APIKeyAuth `json:"apiKey,omitempty"`
	// OAuth2 gets a token by client credentials (RFC 6749, section 4.4) and sends it.
	// +optional
	OAuth2 *OAuth2Auth `json:"oauth2,omitempty"`
	// Session logs in with a request, and sends what that gave until the server refuses it.
	// +optional
	Session *SessionAuth `json:"session,omitempty"`
	// ServiceAccountToken gets a token of a Kubernetes ServiceAccount for an audience and sends it.
	// +optional
	ServiceAccountToken *ServiceAccountTokenAuth `json:"serviceAccountToken,omitempty"`
}

// ServiceAccountTokenAuth is a bearer token that the cluster itself makes (TokenRequest): in the endpoint's namespace, or
// in the operator's for a ClusterRestEndpoint.
type ServiceAccountTokenAuth struct {
	// ServiceAccountName names the account. It carries the label restmapping.dev/allow-token: "true".
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	ServiceAccountName string `json:"serviceAccountName"`
	// Audiences are whom the token is for; a server that checks it takes no other.
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=512
	Audiences []string `json:"audiences"`
	// ExpirationSeconds is how long a token is asked for; the cluster may give another time. It is renewed before its end.
	// +optional
	// +kubebuilder:default=3600
	// +kubebuilder:validation:Minimum=600
	// +kubebuilder:validation:Maximum=86400
	ExpirationSeconds int64 `json:"expirationSeconds,omitempty"`
}

// BearerAuth is a bearer token.
type BearerAuth struct {
	TokenRef SecretKeyReference `json:"tokenRef"`
}

// BasicAuth is a user name and a password.
//
// +kubebuilder:validation:XValidation:rule="has(self.username) != has(self.usernameRef)",message="basic: exactly one of username and usernameRef"
type BasicAuth struct {
	// +optional
	// +kubebuilder:validation:MaxLength=255
	Username string `json:"username,omitempty"`
	// +optional
	UsernameRef *SecretKeyReference `json:"usernameRef,omitempty"`
	PasswordRef SecretKeyReference  `json:"passwordRef"`
}

// SecretHeader is a header whose value is a secret, with an optional literal prefix such as "token ".
type SecretHeader struct {
	// +kubebuilder:validation:Pattern="^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"
	// +kubebuilder:validation:MaxLength=255
	Name string `json:"name"`
	// +optional
	// +kubebuilder:validation:MaxLength=255
	Prefix   string             `json:"prefix,omitempty"`
	ValueRef SecretKeyReference `json:"valueRef"`
}

// APIKeyLocation says where an API key goes.
type APIKeyLocation string

// The places of an API key.
const (
	APIKeyInHeader APIKeyLocation = "Header"
	APIKeyInQuery  APIKeyLocation = "Query"
	APIKeyInCookie APIKeyLocation = "Cookie"
)

// APIKeyAuth is an API key.
type APIKeyAuth struct {
	// +kubebuilder:validation:Enum=Header;Query;Cookie
	In APIKeyLocation `json:"in"`
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Name     string             `json:"name"`
	ValueRef SecretKeyReference `json:"valueRef"`
}

// OAuth2AuthStyle says how the client shows its secret to the token endpoint.
type OAuth2AuthStyle string

// The styles of client authentication (RFC 6749, section 2.3.1).
const (
	OAuth2StyleAuto     OAuth2AuthStyle = "Auto"
	OAuth2StyleInHeader OAuth2AuthStyle = "InHeader"
	OAuth2StyleInParams OAuth2AuthStyle = "InParams"
)

// OAuth2Auth is a client that gets its tokens by client credentials.
//
// +kubebuilder:validation:XValidation:rule="has(self.clientID) != has(self.clientIDRef)",message="oauth2: exactly one of clientID and clientIDRef"
type OAuth2Auth struct {
	// TokenURL is the token endpoint. It may be on another host than the base URL.
	// +kubebuilder:validation:Pattern=`^https?://[^\s/?#@]+(/[^\s?#]*)?(\?[^\s#]*)?$`
	// +kubebuilder:validation:MaxLength=2048
	TokenURL string `json:"tokenURL"`
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	ClientID string `json:"clientID,omitempty"`
	// +optional
	ClientIDRef     *SecretKeyReference `json:"clientIDRef,omitempty"`
	ClientSecretRef SecretKeyReference  `json:"clientSecretRef"`
	// Scopes are asked for; what the server gives by default otherwise.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=512
	Scopes []string `json:"scopes,omitempty"`
	// Audience is sent as the parameter audience, for servers that want it.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	Audience string `json:"audience,omitempty"`
	// EndpointParams are further parameters of the token request.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	EndpointParams []NamedValue `json:"endpointParams,omitempty"`
	// AuthStyle: Auto tries the header and then the parameters, and keeps what worked.
	// +optional
	// +kubebuilder:default=Auto
	// +kubebuilder:validation:Enum=Auto;InHeader;InParams
	AuthStyle OAuth2AuthStyle `json:"authStyle,omitempty"`
}
