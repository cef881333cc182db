package httpapi

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/time/rate"

	"github.com/restmapping/operator/pkg/rest"
)

// limits keep a server safe from all users of a client together.
type limits struct {
	locks *locks
	// writes are the slots of writes; nil when they have no limit of their own.
	writes   chan struct{}
	slots    chan struct{}
	pace     *pace
	bucket   *rate.Limiter // of pace
	lockWait time.Duration
}

func newLimits(cfg Config, now func() time.Time) *limits {
	pace := newPace(cfg, now)
	l := &limits{
		locks: &locks{keys: map[string]*keyLock{}}, slots: make(chan struct{}, cfg.InFlight), pace: pace, bucket: pace.bucket,
		lockWait: min(cfg.Timeout/2, longestLock),
	}
	if cfg.WritesInFlight > 0 {
		l.writes = make(chan struct{}, cfg.WritesInFlight)
	}
	return l
}

// errLocked: another write holds the same lock.
var errLocked = errors.New("the lock is held")

// acquire waits for the lock, a write's slot, a slot, and then for a token: a token taken before the slot would be stale,
// and a burst could pile up behind a slow server. The caller gives all back with release, unless there is an error.
func (l *limits) acquire(ctx context.Context, req rest.Request) (release func(), err error) {
	// select picks at random when both are ready, and an ended context must never win a slot.
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	unlock, err := l.lock(ctx, req.Lock)
	if err != nil {
		return nil, err
	}
	taken := []func(){unlock}
	release = func() {
		for _, giveBack := range slices.Backward(taken) {
			giveBack()
		}
	}
	wanted := []chan struct{}{l.slots}
	if writes(req) && l.writes != nil {
		wanted = []chan struct{}{l.writes, l.slots}
	}
	for _, slots := range wanted {
		select {
		case <-ctx.Done():
			release()
			return nil, ctx.Err()
		case slots <- struct{}{}:
			taken = append(taken, func() { <-slots })
		}
	}
	if err := l.bucket.Wait(ctx); err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// lock waits for a lock, but not for long.
func (l *limits) lock(ctx context.Context, key string) (func(), error) {
	bounded, cancel := context.WithTimeoutCause(ctx, l.lockWait, errLocked)
	defer cancel()
	release, err := l.locks.acquire(bounded, key)
	if err != nil && ctx.Err() == nil {
		return nil, errLocked
	}
	return release, err
}

func (l *limits) inFlight() int { return len(l.slots) }
