package keys

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/utils/clock"

	"github.com/restmapping/operator/pkg/lifecycle"
)

// SecretName is the Secret's name. It does not follow the name of an installation's release, so that another
// installation in the same namespace finds the keys of the one before.
const SecretName = "restmapping-operator-key"

const (
	keyBytes = 32
	// politePause lies between two readings that records have asked for.
	politePause = 10 * time.Second
	// readLimit bounds one reading, with the search for records before a key is made.
	readLimit = time.Minute
	// startPause and startLimit are for the readings at the start, while the API server may be away for a moment.
	startPause, startLimit = time.Second, 30 * time.Second
)

// Written is what is known of the records that there are.
type Written struct {
	// SignedWith names a key that one of them was signed with, empty for none.
	SignedWith string
	// Unsigned tells that one of them is from before records were signed.
	Unsigned bool
}

// Config is what Keys need. All fields are required.
type Config struct {
	// Secrets are those of the operator's own namespace.
	Secrets   typedcorev1.SecretInterface
	Namespace string
	// Written looks which records there are. It is only asked before a key is made.
	Written func(ctx context.Context) (Written, error)
	Clock   clock.PassiveClock
}

// Keys are the keys of one installation. Their methods may be called from several goroutines.
type Keys struct {
	cfg Config

	mu      sync.Mutex // guards the fields below; never held across a request
	ring    *lifecycle.Ring
	problem error
	readAt  time.Time
}

// New gives keys that were not read yet.
func New(cfg Config) *Keys { return &Keys{cfg: cfg, problem: errors.New("it was not read yet")} }

// Load reads the keys, or makes them, at the start. When that fails the problem is shown by Place, and Again goes on.
func (k *Keys) Load(ctx context.Context) error {
	var last error
	_ = wait.PollUntilContextTimeout(ctx, startPause, startLimit, true, func(ctx context.Context) (bool, error) {
		_, last = k.read(ctx)
		return last == nil || !passing(last), nil
	})
	return last
}

// passing tells that the same request may go through a moment later.
func passing(err error) bool {
	lost := (*LostError)(nil)
	return !errors.As(err, &lost) && !apierrors.IsForbidden(err)
}

// LostError says that the key is not there although it once was.
type LostError struct{ problem string }

// Error implements error.
func (e *LostError) Error() string { return e.problem }

// Ring gives the keys as they were read last, nil when there are none.
func (k *Keys) Ring() *lifecycle.Ring {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.ring
}

// Again reads the keys again, unless that was done just before: they may have been restored, or another one added.
func (k *Keys) Again(ctx context.Context) *lifecycle.Ring {
	if !k.due() {
		return k.Ring()
	}
	ring, err := k.read(ctx)
	if err != nil {
		return k.Ring()
	}
	return ring
}

func (k *Keys) due() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.cfg.Clock.Now()
	if now.Sub(k.readAt) < politePause {
		return false
	}
	k.readAt = now
	return true
}

// Place says where the keys are, and what is wrong there.
func (k *Keys) Place() (name string, problem error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.cfg.Namespace + "/" + SecretName, k.problem
}

// read takes over what the Secret holds. What was read before stays when that fails: a key that is known is good.
func (k *Keys) read(ctx context.Context) (*lifecycle.Ring, error) {
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	ring, err := k.fetch(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.problem = err
	if err == nil {
		k.ring = ring
	}
	return ring, err
}

func (k *Keys) fetch(ctx context.Context) (*lifecycle.Ring, error) {
	secret, err := k.cfg.Secrets.Get(ctx, SecretName, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		secret, err = k.make(ctx)
		if err != nil {
			return nil, err
		}
	case err != nil:
		return nil, fmt.Errorf("it cannot be read: %w", err)
	}
	return lifecycle.NewRing(secret.Data, secret.CreationTimestamp.Time)
}

// make makes the Secret, or gives the one that another process has made meanwhile.
func (k *Keys) make(ctx context.Context) (*corev1.Secret, error) {
	if k.Ring() != nil {
		return nil, &LostError{"it is gone since this process has read it"}
	}
	written, err := k.cfg.Written(ctx)
	if err != nil {
		return nil, fmt.Errorf("it is not there, and no new key is made before it is known that no record was signed with another: %w", err)
	}
	if written.SignedWith != "" {
		return nil, &LostError{"it is gone: records were signed with its key " + written.SignedWith + ", so that no new one is made in its place"}
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name: SecretName, Namespace: k.cfg.Namespace, Labels: map[string]string{"app.kubernetes.io/part-of": "restmapping-operator"},
		},
		Type: corev1.SecretTypeOpaque, Data: map[string][]byte{lifecycle.SigningEntry: fresh()},
	}
	if written.Unsigned {
		secret.Data[lifecycle.AcceptEntry] = []byte(lifecycle.AcceptUnsigned)
	}
	made, err := k.cfg.Secrets.Create(ctx, secret, metav1.CreateOptions{FieldManager: "restmapping-operator"})
	switch {
	case apierrors.IsAlreadyExists(err):
		made, err = k.cfg.Secrets.Get(ctx, SecretName, metav1.GetOptions{})
		if err != nil {
			return nil, fmt.Errorf("it cannot be read: %w", err)
		}
	case err != nil:
		return nil, fmt.Errorf("it is not there and cannot be made (the chart of this version grants that): %w", err)
	}
	return made, nil
}

func fresh() []byte {
	key := make([]byte, keyBytes)
	_, _ = rand.Read(key) // never fails (documented by the package)
	return key
}
