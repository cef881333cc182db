package queue

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/workqueue"
)

// The bounds of the delay after failures.
const (
	DefaultMinBackoff = time.Second
	DefaultMaxBackoff = 5 * time.Minute
)

// scatter is how much longer than its nominal value a delay may get. Objects that failed together, because their server
// was down, must not come back together.
const scatter = 0.25

// backoff doubles the delay of a name with each failure in a row, between two bounds, and scatters it.
type backoff struct {
	workqueue.TypedRateLimiter[types.NamespacedName]
}

// newBackoff caps the nominal delay so that the scattered one keeps the upper bound and is still scattered there.
func newBackoff(shortest, longest time.Duration) *backoff {
	nominal := time.Duration(float64(longest) / (1 + scatter))
	return &backoff{workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](shortest, nominal)}
}

// When implements workqueue.TypedRateLimiter.
func (b *backoff) When(name types.NamespacedName) time.Duration {
	return wait.Jitter(b.TypedRateLimiter.When(name), scatter)
}
