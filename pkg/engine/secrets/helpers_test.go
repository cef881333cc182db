package secrets_test

import (
	"context"
	"maps"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine/secrets"
)

const patience = 20 * time.Second

// cluster is the part of an API server that the resolver uses: lists, watches with a selector, and reads by name.
type cluster struct {
	mu      sync.Mutex
	next    int
	secrets map[types.NamespacedName]*corev1.Secret
	log     []logged
	watches []*stream
	// fail, when set, answers every request of this verb ("list", "watch", "get metadata", "get").
	fail map[string]error
	// hold, when set, keeps a read of a whole Secret from being answered until it is closed.
	hold  chan struct{}
	calls map[string]int
	// quiet keeps events from the watches, as a watch that lags does.
	quiet bool
}

type logged struct {
	version       int
	before, after *corev1.Secret
}

type stream struct {
	*watch.RaceFreeFakeWatcher
	namespace string
	selector  labels.Selector
}

func newCluster() *cluster {
	return &cluster{
		secrets: map[types.NamespacedName]*corev1.Secret{},
		fail:    map[string]error{}, calls: map[string]int{},
	}
}

var open = map[string]string{v1alpha1.AllowReadLabel: "true"}

// put creates or changes a Secret with one key.
func (c *cluster) put(namespace, name string, labels map[string]string, key, value string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := types.NamespacedName{Namespace: namespace, Name: name}
	c.next++
	secret := &corev1.Secret{Data: map[string][]byte{key: []byte(value)}}
	secret.Namespace, secret.Name, secret.Labels = namespace, name, maps.Clone(labels)
	secret.ResourceVersion = strconv.Itoa(c.next)
	before := c.secrets[id]
	if before == nil {
		secret.UID = types.UID("uid-" + secret.ResourceVersion)
	} else {
		secret.UID = before.UID
	}
	c.secrets[id] = secret
	c.emit(logged{c.next, before, secret})
}

func (c *cluster) remove(namespace, name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := types.NamespacedName{Namespace: namespace, Name: name}
	c.next++
	before := c.secrets[id]
	delete(c.secrets, id)
	c.emit(logged{c.next, before, nil})
}

func (c *cluster) emit(event logged) {
	c.log = append(c.log, event)
	if c.quiet {
		return
	}
	for _, w := range c.watches {
		w.tell(event)
	}
}

// tell sends what a watch with a selector sees of a change, as the API server does.
func (w *stream) tell(event logged) {
	matches := func(s *corev1.Secret) bool {
		return s != nil && (w.namespace == "" || w.namespace == s.Namespace) && w.selector.Matches(labels.Set(s.Labels))
	}
	was, is := matches(event.before), matches(event.after)
	switch {
	case is && !was:
		w.Add(metadataOf(event.after))
	case is && was:
		w.Modify(metadataOf(event.after))
	case was:
		w.Delete(metadataOf(event.before))
	}
}

func metadataOf(s *corev1.Secret) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: s.DeepCopy().ObjectMeta,
	}
}

func (c *cluster) count(verb string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls[verb]
}

func (c *cluster) failing(verb string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fail[verb] = err
}

// called notes a request and gives the answer that a test wants for it.
func (c *cluster) called(verb string) error {
	c.calls[verb]++
	return c.fail[verb]
}

// whole reads one whole Secret by name.
type whole struct {
	typedcorev1.SecretInterface
	cluster   *cluster
	namespace string
}

func (c *cluster) Secrets(namespace string) typedcorev1.SecretInterface {
	return whole{cluster: c, namespace: namespace}
}

func (w whole) Get(ctx context.Context, name string, _ metav1.GetOptions) (*corev1.Secret, error) {
	w.cluster.mu.Lock()
	err, hold := w.cluster.called("get"), w.cluster.hold
	secret := w.cluster.secrets[types.NamespacedName{Namespace: w.namespace, Name: name}].DeepCopy()
	w.cluster.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if err == nil && secret == nil {
		err = missing(name)
	}
	return secret, err
}

// partial is the metadata client.
type partial struct {
	metadata.ResourceInterface
	cluster   *cluster
	namespace string
}

func (c *cluster) Resource(schema.GroupVersionResource) metadata.Getter {
	return partial{cluster: c}
}

// IsWatchListSemanticsUnSupported makes the informer list first.
func (c *cluster) IsWatchListSemanticsUnSupported() bool { return true }

func (p partial) Namespace(namespace string) metadata.ResourceInterface {
	return partial{cluster: p.cluster, namespace: namespace}
}

func (p partial) Get(_ context.Context, name string, _ metav1.GetOptions, _ ...string) (*metav1.PartialObjectMetadata, error) {
	p.cluster.mu.Lock()
	defer p.cluster.mu.Unlock()
	if err := p.cluster.called("get metadata"); err != nil {
		return nil, err
	}
	secret := p.cluster.secrets[types.NamespacedName{Namespace: p.namespace, Name: name}]
	if secret == nil {
		return nil, missing(name)
	}
	return metadataOf(secret), nil
}

func (p partial) List(_ context.Context, options metav1.ListOptions) (*metav1.PartialObjectMetadataList, error) {
	c := p.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.called("list"); err != nil {
		return nil, err
	}
	selector, err := labels.Parse(options.LabelSelector)
	if err != nil {
		return nil, err
	}
	list := &metav1.PartialObjectMetadataList{}
	list.ResourceVersion = strconv.Itoa(c.next)
	for _, secret := range c.secrets {
		if (p.namespace == "" || p.namespace == secret.Namespace) && selector.Matches(labels.Set(secret.Labels)) {
			list.Items = append(list.Items, *metadataOf(secret))
		}
	}
	return list, nil
}

func (p partial) Watch(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
	c := p.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.called("watch"); err != nil {
		return nil, err
	}
	selector, err := labels.Parse(options.LabelSelector)
	if err != nil {
		return nil, err
	}
	from, err := strconv.Atoi(options.ResourceVersion)
	if err != nil {
		return nil, err
	}
	w := &stream{watch.NewRaceFreeFake(), p.namespace, selector}
	for _, event := range c.log {
		if event.version > from {
			w.tell(event)
		}
	}
	c.watches = append(c.watches, w)
	return w, nil
}

func missing(name string) error {
	return apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, name)
}

// run starts a resolver on the cluster and stops it, and waits for it, at the end of the test.
func run(t *testing.T, c *cluster, namespaces []string, options ...secrets.Option) *secrets.Resolver {
	t.Helper()
	r, err := secrets.New(secrets.Config{Metadata: c, Secrets: c, Namespaces: namespaces}, options...)
	if err != nil {
		t.Fatal(err)
	}
	startResolver(t, r)
	return r
}

func startResolver(t *testing.T, r *secrets.Resolver) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- r.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the resolver ended with %v", err)
		}
	})
}

// eventually polls until check gives an empty text, and fails with the last one.
func eventually(t *testing.T, check func() string) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		problem := check()
		if problem == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(problem)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// reads polls until the key has this value.
func reads(t *testing.T, r *secrets.Resolver, namespace, name, key, want string) {
	t.Helper()
	eventually(t, func() string {
		got, err := r.Get(t.Context(), namespace, name, key)
		switch {
		case err != nil:
			return err.Error()
		case got.Reveal() != want:
			return "the value is still another than " + want
		default:
			return ""
		}
	})
}
