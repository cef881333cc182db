package outputs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine/labelled"
)

// callLimit bounds one request to the API server.
const callLimit = 15 * time.Second

// fieldManager names the operator in managedFields.
const fieldManager = "restmapping-operator"

// ErrNotRunning is given before Start and after its end.
var ErrNotRunning = errors.New("the outputs are not being watched")

// Config is what a store needs.
type Config struct {
	// Metadata watches what the operator wrote.
	Metadata metadata.Interface
	// Objects reads and writes single objects.
	Objects interface {
		typedcorev1.SecretsGetter
		typedcorev1.ConfigMapsGetter
	}
	// Namespaces are those whose objects may be touched; empty means all.
	Namespaces []string
	// Changed is told of an object that somebody else changed or deleted, with its owner. It must not block. Optional.
	Changed func(namespace string, owner metav1.OwnerReference)
}

// Store keeps outputs. A watch begins with the first question about its kind and namespace, so that an installation
// without outputs needs no rights for them. It serves while Start runs.
type Store struct {
	cfg Config

	mu      sync.Mutex      // guards the fields below; never held across a wait or a request
	ctx     context.Context //nolint:containedctx // of the process: watches outlive the question that began them
	watches map[place]*labelled.Watch
	running sync.WaitGroup
}

// place is where one watch looks.
type place struct {
	kind      v1alpha1.OutputKind
	namespace string
}

// New gives a store that watches nothing yet.
func New(cfg Config) *Store { return &Store{cfg: cfg, watches: map[place]*labelled.Watch{}} }

// Start lets watches run until ctx ends, and returns when they have ended. It is a manager.Runnable.
func (s *Store) Start(ctx context.Context) error {
	s.mu.Lock()
	s.ctx = ctx
	s.mu.Unlock()
	<-ctx.Done()
	s.mu.Lock()
	s.ctx = nil
	s.mu.Unlock()
	s.running.Wait()
	return nil
}

// Version is the resourceVersion of an object as the watch shows it, "" when it shows none: there is none, or it is not
// the operator's, or the watch lags behind. No request is made, but for the first listing.
func (s *Store) Version(ctx context.Context, ref Ref) (string, error) {
	w, err := s.watch(ref) //nolint:contextcheck // the watch outlives the question that began it
	if err != nil {
		return "", err
	}
	if err := w.Wait(ctx); err != nil {
		return "", fmt.Errorf("watch the outputs of kind %s: %w", ref.Kind, err)
	}
	if meta := w.Get(ref.NamespacedName); meta != nil {
		return meta.ResourceVersion, nil
	}
	return "", nil
}

func (s *Store) watch(ref Ref) (*labelled.Watch, error) {
	at := place{ref.Kind, metav1.NamespaceAll}
	if len(s.cfg.Namespaces) > 0 {
		if !slices.Contains(s.cfg.Namespaces, ref.Namespace) {
			return nil, fmt.Errorf("namespace %s is not served by this operator; add it to watchNamespaces", ref.Namespace)
		}
		at.namespace = ref.Namespace
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx == nil {
		return nil, ErrNotRunning
	}
	if w, ok := s.watches[at]; ok {
		return w, nil
	}
	w, err := newWatch(s.cfg.Metadata, at, s.cfg.Changed)
	if err != nil {
		return nil, err
	}
	s.watches[at] = w
	ctx := s.ctx
	s.running.Go(func() { w.Run(ctx) })
	return w, nil
}

// Get reads an object, nil when it is not there.
func (s *Store) Get(ctx context.Context, ref Ref) (*Object, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	got, err := s.get(ctx, ref)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", ref, err)
	}
	return got, nil
}

func (s *Store) get(ctx context.Context, ref Ref) (*Object, error) {
	if ref.Kind == v1alpha1.OutputConfigMap {
		got, err := s.cfg.Objects.ConfigMaps(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return fromConfigMap(got), nil
	}
	got, err := s.cfg.Objects.Secrets(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return fromSecret(got), nil
}

// Create makes an object. That one is there already is an error of the API server's (AlreadyExists).
func (s *Store) Create(ctx context.Context, ref Ref, c Content) (*Object, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	options := metav1.CreateOptions{FieldManager: fieldManager}
	if ref.Kind == v1alpha1.OutputConfigMap {
		got, err := s.cfg.Objects.ConfigMaps(ref.Namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: fresh(ref, c), Data: c.Data}, options)
		if err != nil {
			return nil, fmt.Errorf("create %s: %w", ref, err)
		}
		return fromConfigMap(got), nil
	}
	got, err := s.cfg.Objects.Secrets(ref.Namespace).Create(ctx, &corev1.Secret{ObjectMeta: fresh(ref, c), Data: bytes(c.Data)}, options)
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", ref, err)
	}
	return fromSecret(got), nil
}

// Update replaces what an object holds, if it still is what was read.
func (s *Store) Update(ctx context.Context, ref Ref, was *Object, c Content) (*Object, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	options := metav1.UpdateOptions{FieldManager: fieldManager}
	if ref.Kind == v1alpha1.OutputConfigMap {
		got, err := s.cfg.Objects.ConfigMaps(ref.Namespace).Update(ctx, &corev1.ConfigMap{ObjectMeta: updated(was, c), Data: c.Data}, options)
		if err != nil {
			return nil, fmt.Errorf("update %s: %w", ref, err)
		}
		return fromConfigMap(got), nil
	}
	got, err := s.cfg.Objects.Secrets(ref.Namespace).Update(ctx, &corev1.Secret{ObjectMeta: updated(was, c), Data: bytes(c.Data)}, options)
	if err != nil {
		return nil, fmt.Errorf("update %s: %w", ref, err)
	}
	return fromSecret(got), nil
}
