//go:build crash

package crash_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// churn creates, changes and deletes custom resources of all classes in no order.
type churn struct {
	*scene
	random *rand.Rand
	// slots is how many names there are for each class.
	slots int
	steps int
	// without is a kind that is left out.
	without string
	// deleted are the names that were deleted and may still be going.
	deleted map[ref]bool
}

func newChurn(s *scene, random *rand.Rand, slots int) *churn {
	return &churn{scene: s, random: random, slots: slots, deleted: map[ref]bool{}}
}

// step does one thing to one custom resource.
func (c *churn) step() {
	c.t.Helper()
	kinds := classes()
	kind := kinds[c.random.IntN(len(kinds))]
	if kind.kind == c.without {
		return
	}
	key := ref{kind.kind, fmt.Sprintf("slot-%d", c.random.IntN(c.slots))}
	size := int64(c.random.IntN(1000))
	c.steps++
	_, exists := c.want[key]
	var err error
	switch {
	case !exists:
		err = c.tryCreate(kind, key.name, size, nil, nil)
	case c.random.IntN(3) == 0:
		err = c.resource(kind).Delete(c.t.Context(), key.name, metav1.DeleteOptions{})
		delete(c.want, key)
	default:
		if err = c.tryPatch(kind, key.name, fmt.Sprintf(`{"spec":{"size":%d}}`, size)); err == nil {
			c.want[key] = size
		}
	}
	// A namesake that is still being deleted makes a create fail; that is another step's turn.
	if err != nil && !apierrors.IsAlreadyExists(err) && !apierrors.IsConflict(err) {
		c.t.Fatalf("%s %s: %v", key.kind, key.name, err)
	}
}

// during churns for a while.
func (c *churn) during(d, pause time.Duration) {
	c.t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(pause) {
		c.step()
	}
}

// seed is CRASH_SEED, or a new one, and always printed: the same one makes the same steps and the same pauses.
func seed(t *testing.T) *rand.Rand {
	t.Helper()
	n := uint64(time.Now().UnixNano()) % 1_000_000
	if text := os.Getenv("CRASH_SEED"); text != "" {
		given, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("CRASH_SEED=%s: %v", text, err)
		}
		n = given
	}
	t.Logf("CRASH_SEED=%d", n)
	return rand.New(rand.NewPCG(n, 1))
}

// kills is how many times the operator is killed at a random moment.
func kills(t *testing.T) int {
	t.Helper()
	if text := os.Getenv("CRASH_KILLS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("CRASH_KILLS=%s: %v", text, err)
		}
		return n
	}
	if long() {
		return 1000
	}
	return 40
}
