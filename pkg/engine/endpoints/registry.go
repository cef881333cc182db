package endpoints

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine/files"
	"github.com/restmapping/operator/pkg/engine/secrets/flight"
	"github.com/restmapping/operator/pkg/engine/tokens"
	"github.com/restmapping/operator/pkg/httpapi"
)

const (
	// buildLimit bounds reading the Secrets of one endpoint and making its client.
	buildLimit = 30 * time.Second
	// maxAbsent bounds how many missing endpoints are remembered, to tell when they appear.
	maxAbsent = 4096
)

// Secrets is how the registry reads Secrets: the resolver of package secrets.
type Secrets interface {
	Get(ctx context.Context, namespace, name, key string) (httpapi.Secret, error)
	Version(ctx context.Context, namespace, name string) (string, error)
	Subscribe(listener func(namespace, name string)) (unsubscribe func())
}

// Files is how the registry reads files: the directory of package files.
type Files interface {
	Get(name string) (httpapi.Secret, error)
	Version(name string) (string, error)
	Subscribe(listener func(name string)) (unsubscribe func())
}

// Tokens is how the registry gets tokens of ServiceAccounts: the source of package tokens.
type Tokens interface {
	Token(ctx context.Context, r tokens.Request) (httpapi.Token, error)
}

// Config is what a registry needs.
type Config struct {
	// Reader reads endpoints and namespaces from informers' caches, never live.
	Reader  client.Reader
	Secrets Secrets
	// Tokens is needed where an endpoint uses a ServiceAccount.
	Tokens Tokens
	// Files is nil where no file may be read.
	Files Files
	// OperatorNamespace is where the Secrets of ClusterRestEndpoints are.
	OperatorNamespace string
	// Addresses says where connections may lead. A ClusterRestEndpoint may allow more for itself.
	Addresses httpapi.Addresses
}

// Option changes what a registry does by default.
type Option func(*Registry)

// WithClock replaces the system's clock.
func WithClock(c clock.PassiveClock) Option { return func(r *Registry) { r.clock = c } }

// WithUserAgent sets the User-Agent of every request.
func WithUserAgent(userAgent string) Option { return func(r *Registry) { r.userAgent = userAgent } }

// WithObserver is told of every request, with the endpoint as Ref.String names it. It must not block.
func WithObserver(observe func(endpoint string, observation httpapi.Observation)) Option {
	return func(r *Registry) { r.observe = observe }
}

// WithTransportWrapper puts a round tripper around every connection, for tracing. It must not send twice.
func WithTransportWrapper(wrap func(http.RoundTripper) http.RoundTripper) Option {
	return func(r *Registry) { r.wrapTransport = wrap }
}

// WithTracing makes spans of the requests to every endpoint, as httpapi.WithTracing does. An endpoint with traceContext: Omit is
// told nothing of the trace.
func WithTracing(t httpapi.Tracing) Option { return func(r *Registry) { r.tracing = t } }

// Registry gives custom resources the endpoints they may use. It is safe for concurrent use.
type Registry struct {
	reader            client.Reader
	secrets           Secrets
	tokens            Tokens
	files             Files
	operatorNamespace string
	addresses         httpapi.Addresses
	clock             clock.PassiveClock
	userAgent         string
	observe           func(endpoint string, observation httpapi.Observation)
	wrapTransport     func(http.RoundTripper) http.RoundTripper
	tracing           httpapi.Tracing
	unsubscribe       []func()

	builds flight.Group[*connection]
	probes flight.Group[error]
	// absent holds what was asked for in vain, by Ref.
	absent *lru.Cache

	mu        sync.Mutex
	closed    bool
	entries   map[Ref]*entry
	draining  map[*sharedClient]struct{}
	changed   chan struct{}
	listeners map[int]func(Ref)
	// flowListeners hear of what happens to requests, the others of what people change.
	flowListeners map[int]func(Ref)
	// useListeners are told of the first use of an endpoint.
	useListeners map[int]func(Ref)
	nextID       int
}

// New makes a registry. Close ends it.
func New(cfg Config, options ...Option) *Registry {
	if cfg.Files == nil {
		cfg.Files = files.New("")
	}
	r := &Registry{
		reader: cfg.Reader, secrets: cfg.Secrets, tokens: cfg.Tokens, files: cfg.Files,
		operatorNamespace: cfg.OperatorNamespace,
		addresses:         cfg.Addresses,
		clock:             clock.RealClock{},
		absent:            lru.New(maxAbsent),
		entries:           map[Ref]*entry{},
		draining:          map[*sharedClient]struct{}{},
		changed:           make(chan struct{}),
		listeners:         map[int]func(Ref){},
		flowListeners:     map[int]func(Ref){},
		useListeners:      map[int]func(Ref){},
	}
	for _, option := range options {
		option(r)
	}
	r.unsubscribe = []func(){cfg.Secrets.Subscribe(r.secretChanged), cfg.Files.Subscribe(r.fileChanged)}
	return r
}

// Resolve gives the endpoint that a custom resource refers to, when it may use it. Errors: *EndpointNotFoundError,
// *NamespaceNotAllowedError, *InvalidEndpointError, and those of package secrets.
func (r *Registry) Resolve(ctx context.Context, ref Ref) (*Endpoint, error) {
	d, err := r.read(ctx, ref)
	if err != nil {
		return nil, err
	}
	if err := r.checkNamespace(ctx, d, ref.Namespace); err != nil {
		return nil, err
	}
	found, err := r.connect(ctx, d)
	r.noteUse(d.ref)
	return found, err
}

// Refresh is Resolve for the endpoint's own controller, which calls it for every event of the endpoint: it asks for no
// allowed namespace, and tells the subscribers when the endpoint appeared, changed or went.
func (r *Registry) Refresh(ctx context.Context, own Ref) (*Endpoint, error) {
	d, err := r.read(ctx, own)
	if err != nil {
		return nil, err
	}
	r.announce(d)
	return r.connect(ctx, d)
}

// Subscribe tells listener the endpoint's own reference when its spec, its labels or one of its Secrets changed, or
// when it appeared or went. The listener must not block. The returned function ends the subscription.
func (r *Registry) Subscribe(listener func(Ref)) (unsubscribe func()) {
	return r.subscribe(r.listeners, listener)
}

// SubscribeFlow tells listener the endpoint's own reference when its circuit opened or closed, and when its server asked
// for fewer requests or gets the full rate again. The listener must not block.
func (r *Registry) SubscribeFlow(listener func(Ref)) (unsubscribe func()) {
	return r.subscribe(r.flowListeners, listener)
}

func (r *Registry) subscribe(to map[int]func(Ref), listener func(Ref)) (unsubscribe func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := r.nextID
	r.nextID++
	to[id] = listener
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(to, id)
	}
}

// Flows gives, by the endpoints' names as Ref.String gives them, how much is sent to each now.
func (r *Registry) Flows() map[string]httpapi.Flow {
	r.mu.Lock()
	clients := map[string]*httpapi.Client{}
	for ref, e := range r.entries {
		if e.shared != nil {
			clients[ref.String()] = e.shared.client.inner
		}
	}
	r.mu.Unlock()
	flows := make(map[string]httpapi.Flow, len(clients))
	for name, client := range clients {
		flows[name] = client.Flow()
	}
	return flows
}

// connect gives the endpoint with its shared connection, made now when there is none for what stands in the cluster.
func (r *Registry) connect(ctx context.Context, d definition) (*Endpoint, error) {
	r.track(d)
	found, err := r.connected(ctx, d)
	if err == nil || ctx.Err() != nil || errors.Is(err, ErrClosed) {
		return found, err
	}
	if shared := r.last(d); shared != nil {
		return d.endpoint(shared), nil
	}
	return nil, err
}

func (r *Registry) connected(ctx context.Context, d definition) (*Endpoint, error) {
	stamp, err := r.stamp(ctx, d)
	if err != nil {
		return nil, err
	}
	if shared := r.current(d.ref, stamp); shared != nil {
		return d.endpoint(r.upToDate(ctx, d, shared)), nil
	}
	if err := r.held(d.ref, stamp); err != nil {
		return nil, err
	}
	shared, err := r.builds.Do(ctx, d.ref.String()+stamp, buildLimit, func(ctx context.Context) (*connection, error) {
		// Another flight may have ended since this caller looked.
		if shared := r.current(d.ref, stamp); shared != nil {
			return shared, nil
		}
		secret, err := r.readMaterial(ctx, d, nil)
		if err != nil {
			r.hold(d.ref, stamp, err)
			return nil, err
		}
		made, err := r.build(d, stamp, secret)
		if err != nil {
			return nil, err
		}
		return made, r.install(d, made)
	})
	if errors.Is(err, flight.ErrClosed) {
		return nil, ErrClosed
	}
	if err != nil {
		return nil, err
	}
	return d.endpoint(shared), nil
}

// read gets the endpoint from the informers' cache.
func (r *Registry) read(ctx context.Context, ref Ref) (definition, error) {
	if ref.Kind != KindClusterRestEndpoint && (ref.Kind != KindRestEndpoint || ref.Namespace == "") {
		return definition{}, &EndpointNotFoundError{Ref: ref}
	}
	own := ref.Own()
	d, err := r.get(ctx, own)
	if !apierrors.IsNotFound(err) {
		return d, err
	}
	r.gone(own)
	// Looked at again: what appeared before gone had noted the absence would be announced to nobody.
	d, err = r.get(ctx, own)
	if apierrors.IsNotFound(err) {
		return d, &EndpointNotFoundError{Ref: own}
	}
	return d, err
}

func (r *Registry) get(ctx context.Context, own Ref) (definition, error) {
	key := types.NamespacedName{Namespace: own.Namespace, Name: own.Name}
	if own.Kind == KindClusterRestEndpoint {
		object := &v1alpha1.ClusterRestEndpoint{}
		if err := r.reader.Get(ctx, key, object); err != nil {
			return definition{}, fmt.Errorf("read %s: %w", own, err)
		}
		return definition{
			ref: own, uid: string(object.UID), generation: object.Generation, labels: object.Labels,
			spec: object.Spec.EndpointSpec, allowed: object.Spec.AllowedNamespaces,
			allowedCIDRs: object.Spec.AllowedCIDRs,
			deleting:     object.DeletionTimestamp != nil,
		}, nil
	}
	object := &v1alpha1.RestEndpoint{}
	if err := r.reader.Get(ctx, key, object); err != nil {
		return definition{}, fmt.Errorf("read %s: %w", own, err)
	}
	return definition{
		ref: own, uid: string(object.UID), generation: object.Generation, labels: object.Labels, spec: object.Spec,
		deleting: object.DeletionTimestamp != nil,
	}, nil
}
