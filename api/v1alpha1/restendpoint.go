package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RestEndpoint is a REST server for the custom resources of its own namespace, with the credential to use there.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,shortName=rep,categories=restapi
// +kubebuilder:printcolumn:name="URL",type=string,JSONPath=`.spec.baseURL`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type RestEndpoint struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +kubebuilder:validation:XValidation:rule="!(has(self.auth) && has(self.auth.bearer) && has(self.auth.bearer.tokenRef.file))",fieldPath=".auth.bearer.tokenRef.file",message="only a ClusterRestEndpoint reads files"
	// +kubebuilder:validation:XValidation:rule="!(has(self.auth) && has(self.auth.basic) && has(self.auth.basic.usernameRef) && has(self.auth.basic.usernameRef.file))",fieldPath=".auth.basic.usernameRef.file",message="only a ClusterRestEndpoint reads files"
	// +kubebuilder:validation:XValidation:rule="!(has(self.auth) && has(self.auth.basic) && has(self.auth.basic.passwordRef.file))",fieldPath=".auth.basic.passwordRef.file",message="only a ClusterRestEndpoint reads files"
	// +kubebuilder:validation:XValidation:rule="!(has(self.auth) && has(self.auth.apiKey) && has(self.auth.apiKey.valueRef.file))",fieldPath=".auth.apiKey.valueRef.file",message="only a ClusterRestEndpoint reads files"
	// +kubebuilder:validation:XValidation:rule="!(has(self.auth) && has(self.auth.oauth2) && has(self.auth.oauth2.clientIDRef) && has(self.auth.oauth2.clientIDRef.file))",fieldPath=".auth.oauth2.clientIDRef.file",message="only a ClusterRestEndpoint reads files"
	// +kubebuilder:validation:XValidation:rule="!(has(self.auth) && has(self.auth.oauth2) && has(self.auth.oauth2.clientSecretRef.file))",fieldPath=".auth.oauth2.clientSecretRef.file",message="only a ClusterRestEndpoint reads files"
	// +kubebuilder:validation:XValidation:rule="!(has(self.proxy) && has(self.proxy.basic) && has(self.proxy.basic.usernameRef) && has(self.proxy.basic.usernameRef.file))",fieldPath=".proxy.basic.usernameRef.file",message="only a ClusterRestEndpoint reads files"
	// +kubebuilder:validation:XValidation:rule="!(has(self.proxy) && has(self.proxy.basic) && has(self.proxy.basic.passwordRef.file))",fieldPath=".proxy.basic.passwordRef.file",message="only a ClusterRestEndpoint reads files"
	// +kubebuilder:validation:XValidation:rule="!(has(self.vault) && has(self.vault.tokenRef) && has(self.vault.tokenRef.file))",fieldPath=".vault.tokenRef.file",message="only a ClusterRestEndpoint reads files"
	// +kubebuilder:validation:XValidation:rule="!(has(self.auth) && has(self.auth.headers)) || self.auth.headers.all(h, !has(h.valueRef.file))",fieldPath=".auth.headers",message="only a ClusterRestEndpoint reads files"
	// +kubebuilder:validation:XValidation:rule="!(has(self.auth) && has(self.auth.session) && has(self.auth.session.login.fields)) || self.auth.session.login.fields.all(f, !has(f.valueRef) || !has(f.valueRef.file))",fieldPath=".auth.session.login.fields",message="only a ClusterRestEndpoint reads files"
	Spec EndpointSpec `json:"spec"`
	// +kubebuilder:default:={"observedGeneration":-1}
	Status EndpointStatus `json:"status,omitempty"`
}

// RestEndpointList is a list of RestEndpoints.
//
// +kubebuilder:object:root=true
type RestEndpointList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []RestEndpoint `json:"items"`
}

// ClusterRestEndpoint is a REST server for the custom resources of the namespaces it allows, and for cluster-scoped
// ones. Its Secrets are in the operator's namespace.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=crep,categories=restapi
// +kubebuilder:printcolumn:name="URL",type=string,JSONPath=`.spec.baseURL`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ClusterRestEndpoint struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ClusterEndpointSpec `json:"spec"`
	// +kubebuilder:default:={"observedGeneration":-1}
	Status EndpointStatus `json:"status,omitempty"`
}

// ClusterRestEndpointList is a list of ClusterRestEndpoints.
//
// +kubebuilder:object:root=true
type ClusterRestEndpointList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ClusterRestEndpoint `json:"items"`
}

// EndpointSpec describes a REST server.
type EndpointSpec struct {
	// BaseURL is the scheme, host, port and path prefix of every request, such as https://gitea.example.com/api/v1.
	// +kubebuilder:validation:Pattern=`^https?://[^\s/?#@]+(/[^\s?#]*)?$`
	// +kubebuilder:validation:MaxLength=2048
	BaseURL string `json:"baseURL"`
	// Auth is the credential; none by default.
	// +optional
	Auth *Auth `json:"auth,omitempty"`
	// Vault is where references with vault read.
	// +optional
	Vault *Vault `json:"vault,omitempty"`
	// +optional
	TLS *TLS `json:"tls,omitempty"`
	// Proxy is what every connection goes through; that of the operator's environment by default.
	// +optional
	Proxy *Proxy `json:"proxy,omitempty"`
	// Headers are sent with every request. A header of an operation with the same name wins.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Headers []NamedValue `json:"headers,omitempty"`
	// Query parameters are sent with every request.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Query []NamedValue `json:"query,omitempty"`
	// Values are free facts about this server for expressions: endpoint.values.<name>.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Values map[string]string `json:"values,omitempty"`
	// Timeout bounds one request, from the first byte sent to the last byte read.
	// +optional
	// +kubebuilder:default="30s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]{1,5}(\.[0-9]{1,3})?(ms|s|m|h)){1,4}$`
	Timeout metav1.Duration `json:"timeout,omitempty"`
	// Timeouts bound the parts of a request within timeout.
	// +optional
	Timeouts *Timeouts `json:"timeouts,omitempty"`
	// +optional
	// +kubebuilder:default={}
	Limits Limits `json:"limits,omitempty"`
	// CircuitBreaker leaves a server alone for a while when it does not answer.
	// +optional
	// +kubebuilder:default={}
	CircuitBreaker CircuitBreaker `json:"circuitBreaker,omitempty"`
	// Probe is a GET that must succeed with this credential. It guards against taking a lost permission for an
	// absent object, and gives the endpoint its Ready condition.
	// +optional
	Probe *Probe `json:"probe,omitempty"`
	// TraceContext says whether the server is told which trace a request belongs to (the header traceparent of W3C Trace Context),
	// where the operator makes traces. Send by default.
	// +optional
	TraceContext TraceContext `json:"traceContext,omitempty"`
}

// TraceContext is whether a server is told of traces.
//
// +kubebuilder:validation:Enum=Send;Omit
type TraceContext string

// The ways to treat the trace context.
const (
	TraceContextSend TraceContext = "Send"
	TraceContextOmit TraceContext = "Omit"
)

// ClusterEndpointSpec describes a REST server for many namespaces.
type ClusterEndpointSpec struct {
	EndpointSpec `json:",inline"`
	// AllowedNamespaces may use this endpoint; none by default.
	// +optional
	AllowedNamespaces *AllowedNamespaces `json:"allowedNamespaces,omitempty"`
	// AllowedCIDRs are ranges of addresses that this endpoint may connect to although they are refused otherwise:
	// loopback, link-local addresses, metadata services, the API server.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	AllowedCIDRs []CIDR `json:"allowedCIDRs,omitempty"`
}

// CIDR is a range of IP addresses such as 10.1.0.0/16 or fd00:1::/64.
//
// +kubebuilder:validation:MaxLength=43
// +kubebuilder:validation:XValidation:rule="isCIDR(self)",message="must be a range of addresses such as 10.1.0.0/16 or fd00:1::/64"
type CIDR string

// AllowedNamespaces names namespaces. Empty means none.
type AllowedNamespaces struct {
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	Names []string `json:"names,omitempty"`
	// Selector takes namespaces by label. An empty selector takes all.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
}

// NamedValue is a name and a literal value.
type NamedValue struct {
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Name string `json:"name"`
	// +kubebuilder:validation:MaxLength=4096
	Value string `json:"value"`
}

// TLS are the options of the connection.
type TLS struct {
	// CABundle is one or more PEM certificates that the server's certificate must lead to; the system's otherwise.
	// +optional
	// +kubebuilder:validation:MaxLength=1048576
	CABundle string `json:"caBundle,omitempty"`
	// ServerName is the name to expect in the certificate, when it is not the host of the base URL.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ServerName string `json:"serverName,omitempty"`
	// InsecureSkipVerify accepts any certificate. For trials only.
	// +optional
	InsecureSkipVerify bool `json:"insecureSkipVerify,omitempty"`
	// ClientCertificate is how the operator shows who it is (mutual TLS), alone or beside a credential of auth.
	// +optional
	ClientCertificate *ClientCertificate `json:"clientCertificate,omitempty"`
}

// ClientCertificate is a certificate with its private key.
type ClientCertificate struct {
	// SecretRef names a Secret of type kubernetes.io/tls: with the keys tls.crt and tls.key.
	SecretRef SecretReference `json:"secretRef"`
}

// Proxy is an HTTP or SOCKS proxy.
type Proxy struct {
	// URL is the proxy's scheme (http, https or socks5), host and port.
	// +kubebuilder:validation:Pattern=`^(https?|socks5)://[^\s/?#@]+/?$`
	// +kubebuilder:validation:MaxLength=512
	URL string `json:"url"`
	// Basic is how the proxy knows the operator.
	// +optional
	Basic *BasicAuth `json:"basic,omitempty"`
}

// Timeouts bound the parts of a request. None is longer than the endpoint's timeout.
type Timeouts struct {
	// Connect bounds looking up the name and connecting, to the proxy if there is one; the lesser of timeout and 10s by
	// default.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]{1,5}(\.[0-9]{1,3})?(ms|s|m|h)){1,4}$`
	Connect *metav1.Duration `json:"connect,omitempty"`
	// TLSHandshake bounds the handshake; the lesser of timeout and 10s by default.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]{1,5}(\.[0-9]{1,3})?(ms|s|m|h)){1,4}$`
	TLSHandshake *metav1.Duration `json:"tlsHandshake,omitempty"`
	// ResponseHeader bounds the time from the end of the request to the first byte of the body; timeout by default.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]{1,5}(\.[0-9]{1,3})?(ms|s|m|h)){1,4}$`
	ResponseHeader *metav1.Duration `json:"responseHeader,omitempty"`
}

// Limits keep a server, and this operator, safe.
type Limits struct {
	// RequestsPerSecond is the steady rate over all mappings.
	// +optional
	// +kubebuilder:default=50
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	RequestsPerSecond int32 `json:"requestsPerSecond,omitempty"`
	// Burst is how many may go at once after a pause.
	// +optional
	// +kubebuilder:default=100
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	Burst int32 `json:"burst,omitempty"`
	// InFlight is how many requests may be under way at once.
	// +optional
	// +kubebuilder:default=16
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1024
	InFlight int32 `json:"inFlight,omitempty"`
	// WritesInFlight is how many writes may be under way at once; as many as inFlight by default.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1024
	WritesInFlight int32 `json:"writesInFlight,omitempty"`
	// ResponseBytes is the longest response body taken, after decompression.
	// +optional
	// +kubebuilder:default=4194304
	// +kubebuilder:validation:Minimum=1024
	// +kubebuilder:validation:Maximum=67108864
	ResponseBytes int64 `json:"responseBytes,omitempty"`
}

// CircuitBreaker says when a server is left alone.
type CircuitBreaker struct {
	// Disabled sends every request, however many have failed.
	// +optional
	Disabled bool `json:"disabled,omitempty"`
	// Failures is how many requests in a row must fail, by the connection or with 5xx, before nothing is sent any more.
	// +optional
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	Failures int32 `json:"failures,omitempty"`
	// OpenFor is how long nothing is sent then. Afterwards one read tries how the server does.
	// +optional
	// +kubebuilder:default="10s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]{1,5}(\.[0-9]{1,3})?(ms|s|m|h)){1,4}$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('1h')",message="must be from 1s to 1h"
	OpenFor *metav1.Duration `json:"openFor,omitempty"`
}

// Probe is a GET that must succeed.
type Probe struct {
	// Path below the base URL.
	// +kubebuilder:validation:Pattern=`^/[^?#]*$`
	// +kubebuilder:validation:MaxLength=1024
	Path string `json:"path"`
	// Interval between two probes.
	// +optional
	// +kubebuilder:default="1m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]{1,5}(\.[0-9]{1,3})?(ms|s|m|h)){1,4}$`
	Interval metav1.Duration `json:"interval,omitempty"`
}

// EndpointStatus is what the operator says about an endpoint.
type EndpointStatus struct {
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions: Ready, and Stalled and Reconciling while true.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
