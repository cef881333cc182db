package secrets

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	expiring "k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apimachinery/pkg/util/validation"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"

	"github.com/restmapping/operator/pkg/engine/labelled"
	"github.com/restmapping/operator/pkg/engine/secrets/flight"
	"github.com/restmapping/operator/pkg/httpapi"
)

const (
	// readLimit bounds one live read.
	readLimit = 10 * time.Second
	// denialTTL is how long it is remembered that a Secret is missing or closed. The watch tells of its appearance
	// at once; this only bounds the live reads of many custom resources that ask in vain.
	denialTTL = 5 * time.Second
	// maxDenials and maxCopies bound the memory. What falls out is read again when it is asked for.
	maxDenials = 4096
	maxCopies  = 16384
)

var errStarted = errors.New("the Secret resolver was started twice")

// Config is what a resolver needs.
type Config struct {
	// Metadata watches the labelled Secrets and tells a missing Secret from a closed one.
	Metadata metadata.Interface
	// Secrets fetches one Secret by name.
	Secrets typedcorev1.SecretsGetter
	// Namespaces are those whose Secrets may be read; empty means all.
	Namespaces []string
}

// Option changes what a resolver does by default.
type Option func(*Resolver)

// WithClock replaces the system's clock.
func WithClock(c clock.PassiveClock) Option {
	return func(r *Resolver) { r.denials = expiring.NewLRUExpireCacheWithClock(maxDenials, c) }
}

// WithObserver is told how each read of a key ended. The function must be quick and safe for concurrent use.
func WithObserver(observe func(err error)) Option {
	return func(r *Resolver) { r.observe = observe }
}

// Resolver reads Secrets. It serves while Start runs.
type Resolver struct {
	metadata metadata.Interface
	secrets  typedcorev1.SecretsGetter
	watches  map[string]*labelled.Watch
	denials  *expiring.LRUExpireCache
	fetches  flight.Group[map[string][]byte]
	observe  func(err error)

	mu        sync.Mutex
	started   bool
	copies    *lru.Cache
	listeners map[int]func(namespace, name string)
	nextID    int
}

// New makes a resolver. Nothing is requested before Start.
func New(cfg Config, options ...Option) (*Resolver, error) {
	r := &Resolver{
		metadata: cfg.Metadata, secrets: cfg.Secrets,
		watches:   map[string]*labelled.Watch{},
		copies:    lru.New(maxCopies),
		listeners: map[int]func(namespace, name string){},
		observe:   func(error) {},
	}
	WithClock(clock.RealClock{})(r)
	for _, option := range options {
		option(r)
	}
	namespaces := cfg.Namespaces
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	for _, namespace := range slices.Compact(slices.Sorted(slices.Values(namespaces))) {
		watch, err := newWatch(cfg.Metadata, namespace, r.changed)
		if err != nil {
			return nil, err
		}
		r.watches[namespace] = watch
	}
	return r, nil
}

// Start watches until ctx ends, and returns when everything it started has ended. It is a manager.Runnable.
func (r *Resolver) Start(ctx context.Context) error {
	r.mu.Lock()
	again := r.started
	r.started = true
	r.mu.Unlock()
	if again {
		return errStarted
	}
	var watching sync.WaitGroup
	for _, watch := range r.watches {
		watching.Go(func() { watch.Run(ctx) })
	}
	watching.Wait()
	r.fetches.Close()
	return nil
}

// Healthy gives the error of the last request for the watches, nil when all were answered. While it is not nil, known
// Secrets are served from memory and changes are not seen.
func (r *Resolver) Healthy() error {
	var failures []error
	for namespace, watch := range r.watches {
		if err := watch.Failure(); err != nil {
			failures = append(failures, &UnavailableError{Doing: watchOf(namespace), Err: err})
		}
	}
	return errors.Join(failures...)
}

// Synced tells whether the first listing of every watch is complete.
func (r *Resolver) Synced() bool {
	for _, watch := range r.watches {
		if !watch.Synced() {
			return false
		}
	}
	return true
}

// Get reads one key of a Secret. Errors: *NotFoundError, *NotAllowedError, *NamespaceNotWatchedError,
// *UnavailableError.
func (r *Resolver) Get(ctx context.Context, namespace, name, key string) (httpapi.Secret, error) {
	secret, err := r.get(ctx, namespace, name, key)
	r.observe(err)
	return secret, err
}

func (r *Resolver) get(ctx context.Context, namespace, name, key string) (httpapi.Secret, error) {
	version, err := r.Version(ctx, namespace, name)
	if err != nil {
		return httpapi.Secret{}, err
	}
	secret := types.NamespacedName{Namespace: namespace, Name: name}
	data, err := r.data(ctx, secret, version)
	if err != nil {
		return httpapi.Secret{}, err
	}
	value, ok := data[key]
	if !ok {
		return httpapi.Secret{}, &NotFoundError{Namespace: namespace, Name: name, Key: key}
	}
	return httpapi.NewSecret(string(value)), nil
}

// Version identifies the Secret that Get would read now, from memory alone: it changes with every change of the
// Secret. It is empty when there is no labelled Secret of that name. It waits for the first listing.
func (r *Resolver) Version(ctx context.Context, namespace, name string) (string, error) {
	// The metadata client makes a path of a name as it is: "../../other/secrets/x" would lead to another namespace.
	if len(validation.IsDNS1123Subdomain(name)) > 0 {
		return "", &NotFoundError{Namespace: namespace, Name: name}
	}
	watch, err := r.watchFor(namespace)
	if err != nil {
		return "", err
	}
	if err := watch.Wait(ctx); err != nil {
		return "", &UnavailableError{Doing: watchOf(namespace), Err: err}
	}
	return version(watch, types.NamespacedName{Namespace: namespace, Name: name}), nil
}

// Subscribe tells listener whenever a labelled Secret appears, changes or goes (also by losing the label). The
// listener must not block. The returned function ends the subscription.
func (r *Resolver) Subscribe(listener func(namespace, name string)) (unsubscribe func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := r.nextID
	r.nextID++
	r.listeners[id] = listener
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.listeners, id)
	}
}

func (r *Resolver) watchFor(namespace string) (*labelled.Watch, error) {
	if watch, ok := r.watches[namespace]; ok && namespace != metav1.NamespaceAll {
		return watch, nil
	}
	if watch, ok := r.watches[metav1.NamespaceAll]; ok && namespace != "" {
		return watch, nil
	}
	return nil, &NamespaceNotWatchedError{Namespace: namespace}
}

func watchOf(namespace string) string {
	if namespace == metav1.NamespaceAll {
		return "watch labelled Secrets in all namespaces"
	}
	return "watch labelled Secrets in namespace " + namespace
}
