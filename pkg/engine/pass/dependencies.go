package pass

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine/fleet"
	"github.com/restmapping/operator/pkg/lifecycle"
	"github.com/restmapping/operator/pkg/mapping"
	"github.com/restmapping/operator/pkg/rest"
)

// Server is what requests are sent to.
type Server interface {
	// Do sends a request exactly once.
	Do(ctx context.Context, req rest.Request) rest.Exchange
	// Probe asks the endpoint's probe: a success counts that was sent at this time or later. declared is false when it has
	// none.
	Probe(ctx context.Context, since time.Time) (declared bool, err error)
	// Redact takes the endpoint's credential out of a text.
	Redact(text string) string
	// Reference gives a URL that the server gave in the answer to a request in a form that can be kept: path and query
	// on its own origin, without the credential. An error says why it is not to be followed.
	Reference(req rest.Request, reference string) (string, error)
}

// Endpoint is a server with what is known of it.
type Endpoint interface {
	Server
	// Facts are what expressions may know about the server.
	Facts() mapping.EndpointFacts
	// Identity is a stable name of the server: its origin and base path.
	Identity() string
	// Timeout is the longest that one request takes.
	Timeout() time.Duration
}

// Endpoints finds endpoints. It reads caches only.
type Endpoints interface {
	// Resolve gives the endpoint of this kind and name for a custom resource in this namespace ("" when it is
	// cluster-scoped). An error that is an *UnavailableError carries the condition reason to show.
	Resolve(ctx context.Context, kind v1alpha1.EndpointKind, namespace, name string) (Endpoint, error)
}

// Secrets reads keys of Secrets.
type Secrets interface {
	// Value gives one key. An error that is an *UnavailableError carries the condition reason to show.
	Value(ctx context.Context, namespace, name, key string) (string, error)
}

// Keys give the keys of this installation.
type Keys interface {
	// Ring gives them as they were read last, nil when there are none.
	Ring() *lifecycle.Ring
	// Again reads them again, unless that was done just before.
	Again(ctx context.Context) *lifecycle.Ring
	// Place says where they are kept, and what is wrong with them there.
	Place() (name string, problem error)
}

// Objects is the cache of custom resources.
type Objects interface {
	Get(key types.NamespacedName) (*fleet.Object, bool)
}

// Deletions says whether an object outside may be deleted now.
type Deletions interface {
	// Held says why the object of a deleted custom resource stays for now, and what a person can do; empty when it may go.
	Held(ctx context.Context, obj *fleet.Object) (why string, err error)
}

// Writer writes to the API server. Every method gives the object as it is after the write.
type Writer interface {
	// PatchMetadata changes finalizers and annotations by a JSON merge patch (RFC 7386) that carries uid and
	// resourceVersion, so that it fails with a conflict when anything changed since.
	PatchMetadata(ctx context.Context, key types.NamespacedName, patch map[string]any) (*fleet.Object, error)
	// SwapAnnotation replaces an annotation's value if it still is what it was (RFC 6902 test and replace).
	SwapAnnotation(ctx context.Context, key types.NamespacedName, uid types.UID, name, from, to string) (*fleet.Object, error)
	// PatchStatus changes the status subresource by a JSON merge patch that carries uid and resourceVersion.
	PatchStatus(ctx context.Context, key types.NamespacedName, patch map[string]any) (*fleet.Object, error)
}

// Events tells people what happened. It must not block.
type Events interface {
	Normal(obj *fleet.Object, reason, action, message string)
	Warning(obj *fleet.Object, reason, action, message string)
}

// UnavailableError says that something a pass needs is not there.
type UnavailableError struct {
	// Reason is the condition reason to show.
	Reason string
	// Stalled tells that no retry will help: a person must change something.
	Stalled bool
	Err     error
}

// Error implements error.
func (e *UnavailableError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *UnavailableError) Unwrap() error { return e.Err }

// Config is what a Reconciler needs. All fields are required unless they say otherwise.
type Config struct {
	Objects   Objects
	Writer    Writer
	Endpoints Endpoints
	Secrets   Secrets
	Keys      Keys
	// Outputs is only needed for mappings that have some.
	Outputs Outputs
	// Referents may be nil where no mapping refers to others.
	Referents Referents
	Events    Events
	Claims    *Claims
	// Deletions holds deletions back. Optional.
	Deletions Deletions
	Clock     clock.PassiveClock
	// LeaderSince is when this process began to act; earlier processes may have requests under way.
	LeaderSince time.Time
	// MinInterval is the floor of the mapping's interval.
	MinInterval time.Duration
	// Jitter gives a random number in [0, 1); it spreads the next looks.
	Jitter func() float64
	// Observe is told how each pass ended. Optional.
	Observe func(Summary)
	// Tracer makes a span of each pass. Optional.
	Tracer trace.Tracer
}

// Summary is how a pass ended, for metrics and for the mapping's counts.
type Summary struct {
	Key types.NamespacedName
	// Gone tells that the custom resource is no longer there.
	Gone bool
	// Ready and Stalled are the conditions after the pass.
	Ready, Stalled bool
	// End is the action that ended the pass, with its reason, and a message for people without secrets.
	End, Reason, Message string
	// Denied tells that the API server forbade a write.
	Denied bool
	// Drifted tells that the object outside had been changed, Corrected that this was put back.
	Drifted, Corrected bool
	Duration           time.Duration
	// Started is when the pass began; zero for a custom resource that is gone.
	Started time.Time
	// ReadyAfter is how long the change took to become ready that this pass has brought to its end; zero for none.
	ReadyAfter time.Duration
	// Cost is what expressions have cost, ExpressionErrors how many gave none.
	Cost             uint64
	ExpressionErrors int
}

// errGone says that the custom resource went away during the pass.
var errGone = fmt.Errorf("the custom resource is gone")
