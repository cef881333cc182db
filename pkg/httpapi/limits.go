package httpapi

import (
	"context"
	"time"

	"golang.org/x/time/rate"
)

// limits keep a server safe from all users of a client together.
type limits struct {
	slots  chan struct{}
	pace   *pace
	bucket *rate.Limiter // of pace
}

func newLimits(cfg Config, now func() time.Time) *limits {
	pace := newPace(cfg, now)
	return &limits{slots: make(chan struct{}, cfg.InFlight), pace: pace, bucket: pace.bucket}
}

// acquire waits for a slot and then for a token: a token taken before the slot would be stale, and a burst could pile
// up behind a slow server. The caller gives the slot back with release, unless there is an error.
func (l *limits) acquire(ctx context.Context) error {
	// select picks at random when both are ready, and an ended context must never win a slot.
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case l.slots <- struct{}{}:
	}
	if err := l.bucket.Wait(ctx); err != nil {
		l.release()
		return err
	}
	return nil
}

func (l *limits) release() { <-l.slots }

func (l *limits) inFlight() int { return len(l.slots) }
