// Package rest holds the messages that pass between what a mapping says and what goes over HTTP:
// requests, responses and the bare facts of an exchange. It is plain data with no behaviour of its own,
// imported by mapping (which renders requests and reads responses), by httpapi (which sends them) and by
// lifecycle (which judges the outcome). It must never import any of them.
package rest

import "time"

// Operation names what a request is for. It appears in outcome rules, metrics and messages.
type Operation string

// The operations of a mapping, the endpoint's own probe, and what asks about an accepted operation.
const (
	Read   Operation = "Read"
	List   Operation = "List"
	Create Operation = "Create"
	Update Operation = "Update"
	Delete Operation = "Delete"
	// Rotate makes the server give the object a new secret.
	Rotate Operation = "Rotate"
	Probe  Operation = "Probe"
	// Poll asks how far an operation has come that the server has accepted.
	Poll Operation = "Poll"
)

// Mutating reports whether a request of this operation may change something outside.
func (o Operation) Mutating() bool { return o == Create || o == Update || o == Delete || o == Rotate }

// Parameter is one header or query parameter. Order is kept; a name may stand more than once.
type Parameter struct {
	Name  string
	Value string
}

// Request is one HTTP request relative to an endpoint's base URL. Nothing in it chooses a host.
type Request struct {
	Operation Operation
	Method    string
	// Route is the path template as authored, for example "/repos/{owner}/{repo}". It is what logs,
	// metrics and errors show, because it can hold no value of a custom resource.
	Route string
	// Path is Route with every parameter percent-encoded as one segment (RFC 3986, section 3.3).
	// It begins with a slash and is appended to the base URL's path.
	Path    string
	Query   []Parameter
	Headers []Parameter
	// Accept is the Accept header; empty means application/json.
	Accept string
	// ContentType is the media type of Body; empty when there is no body.
	ContentType string
	// Body is the encoded body, nil for none. It may hold secrets and is never logged.
	Body []byte
	// Lock is a key: of writes with the same one at one endpoint only one is under way. Empty for none.
	Lock string
	// Follow, when set, is a URL reference that a server gave (Link rel="next"). It replaces Path and Query:
	// it is resolved against the base URL and refused unless it keeps the origin and the base path.
	Follow string
}

// Response is a complete answer of a server, decoded.
type Response struct {
	Status int
	// Headers has lower-case names; values of a repeated header are joined with ", " (RFC 9110, section 5.3).
	Headers map[string]string
	// Body is the decoded JSON document (nil, bool, int64, uint64, float64, string, []any, map[string]any),
	// or the text itself for other media types, or nil for an empty body.
	Body any
	// IsJSON tells whether Body was decoded from JSON.
	IsJSON bool
}

// FailureKind says why there is no usable response.
type FailureKind string

// The kinds of failure. Only NotSent proves that the server did nothing.
const (
	// NotSent: no connection carried the request (DNS, dial, TLS, proxy, limits, refused by a local check).
	NotSent FailureKind = "NotSent"
	// TimedOut: the deadline passed after the request may have left.
	TimedOut FailureKind = "TimedOut"
	// Broken: the connection broke after the request may have left.
	Broken FailureKind = "Broken"
	// TooLarge: the response was over the size limit, before or after decompression.
	TooLarge FailureKind = "TooLarge"
	// Undecodable: the response said JSON and was not, or was cut off.
	Undecodable FailureKind = "Undecodable"
	// Redirected: a redirect that must not be followed (any on a write, another origin on a read).
	Redirected FailureKind = "Redirected"
)

// Hold says what kept a request from being sent, where those above show it by a name of its own.
type Hold string

// The holds. Each goes with a failure of kind NotSent.
const (
	// HeldByAddress: the connection would have led to an address that endpoints may not reach.
	HeldByAddress Hold = "Address"
	// HeldByCircuit: the endpoint failed too often in a row and is left alone for a while.
	HeldByCircuit Hold = "Circuit"
	// HeldByServer: the server asked for fewer requests.
	HeldByServer Hold = "Server"
	// HeldByLock: another write with the same lock took too long.
	HeldByLock Hold = "Lock"
)

// Failure is the fact that an exchange gave no usable response. Message is safe to show: it names METHOD and
// route and holds no query string, no credential and no body.
type Failure struct { //nolint:errname // a fact of the exchange first, and an error only where one is wanted
	Kind    FailureKind
	Message string
	Err     error
	// Held is empty for all that has no name of its own.
	Held Hold
}

// Error implements error.
func (f *Failure) Error() string { return f.Message }

// Unwrap gives the cause.
func (f *Failure) Unwrap() error { return f.Err }

// Exchange is what happened when one request was sent once. Response is set whenever a status line and a whole
// body arrived, also together with a Failure of kind Undecodable, TooLarge or Redirected (then without Body).
type Exchange struct {
	Response *Response
	Failure  *Failure
	// RetryAfter is the server's own wish (RFC 9110, section 10.2.3: seconds or HTTP-date), zero when absent
	// or unusable.
	RetryAfter time.Duration
	// Duration is the time from before the limiter released the request to the end of the body.
	Duration time.Duration
}
