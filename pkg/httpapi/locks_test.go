package httpapi

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/restmapping/operator/pkg/rest"
)

// crowd counts how many requests are under way at once.
type crowd struct{ now, most atomic.Int32 }

func (c *crowd) enter() {
	n := c.now.Add(1)
	for {
		old := c.most.Load()
		if n <= old || c.most.CompareAndSwap(old, n) {
			return
		}
	}
}

func (c *crowd) answer(r *http.Request, took time.Duration) (int, time.Duration, error) {
	c.enter()
	defer c.now.Add(-1)
	select {
	case <-time.After(took):
		return 200, 0, nil
	case <-r.Context().Done():
		return 0, 0, r.Context().Err()
	}
}

func TestWritesWithOneLockGoOneAfterTheOther(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		keys []string
		most int32
	}{
		"the same key":    {[]string{"a", "a", "a", "a"}, 1},
		"different keys":  {[]string{"a", "b", "c", "d"}, 4},
		"no key":          {[]string{"", "", "", ""}, 4},
		"two of one pair": {[]string{"a", "a", "b", "b"}, 2},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &crowd{}
				s := &stand{answer: func(r *http.Request) (int, time.Duration, error) { return c.answer(r, time.Second) }}
				client := s.client(t, Config{})
				var group sync.WaitGroup
				for _, key := range tc.keys {
					group.Go(func() {
						req := write(http.MethodPut, "/x", "{}")
						req.Lock = key
						wantStatus(t, client.Do(t.Context(), req), 200)
					})
				}
				group.Wait()
				if c.most.Load() != tc.most {
					t.Errorf("%d at once, want %d", c.most.Load(), tc.most)
				}
				if left := len(client.limits.locks.keys); left != 0 {
					t.Errorf("%d keys are still known", left)
				}
			})
		})
	}
}

func TestNobodyWaitsForALockForEver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &crowd{}
		s := &stand{answer: func(r *http.Request) (int, time.Duration, error) { return c.answer(r, 25*time.Second) }}
		client := s.client(t, Config{InFlight: 2})
		locked := write(http.MethodPut, "/x", "{}")
		locked.Lock = "a"
		var group sync.WaitGroup
		group.Go(func() { wantStatus(t, client.Do(t.Context(), locked), 200) })
		synctest.Wait()
		for range 5 {
			group.Go(func() {
				start := time.Now()
				x := client.Do(t.Context(), locked)
				failure := wantFailure(t, x, rest.NotSent, "lock")
				if took := time.Since(start); failure.Held != rest.HeldByLock || took > longestLock || x.RetryAfter <= 0 {
					t.Errorf("held by %q after %s, again after %s", failure.Held, took, x.RetryAfter)
				}
			})
		}
		synctest.Wait()
		// Those who wait for the lock keep no slot from others.
		start := time.Now()
		wantStatus(t, client.Do(t.Context(), get("/y")), 200)
		if took := time.Since(start); took > 26*time.Second {
			t.Errorf("a read took %s", took)
		}
		group.Wait()
		if len(client.limits.locks.keys) != 0 {
			t.Error("a key is still known")
		}
	})
}

func TestWritesHaveALimitOfTheirOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reads, changes := &crowd{}, &crowd{}
		s := &stand{answer: func(r *http.Request) (int, time.Duration, error) {
			if r.Method == http.MethodGet {
				return reads.answer(r, time.Second)
			}
			return changes.answer(r, time.Second)
		}}
		client := s.client(t, Config{InFlight: 8, WritesInFlight: 2})
		var group sync.WaitGroup
		for range 10 {
			group.Go(func() { wantStatus(t, client.Do(t.Context(), write(http.MethodPut, "/x", "{}")), 200) })
			group.Go(func() { wantStatus(t, client.Do(t.Context(), get("/x")), 200) })
		}
		group.Wait()
		if changes.most.Load() != 2 || reads.most.Load() < 6 {
			t.Errorf("%d writes and %d reads at once, want 2 and at least 6", changes.most.Load(), reads.most.Load())
		}
	})
}
