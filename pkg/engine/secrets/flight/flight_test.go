package flight_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/restmapping/operator/pkg/engine/secrets/flight"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const limit = time.Minute

// waiting is work that tells when it began and ends when it is let go or cancelled.
type waiting struct {
	began   chan struct{}
	release chan struct{}
	runs    atomic.Int32
}

func newWaiting() *waiting {
	return &waiting{began: make(chan struct{}, 10), release: make(chan struct{})}
}

func (w *waiting) work(ctx context.Context) (int, error) {
	run := w.runs.Add(1)
	w.began <- struct{}{}
	select {
	case <-w.release:
		return int(run), nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

type outcome struct {
	value int
	err   error
}

func start(ctx context.Context, g *flight.Group[int], key string, w *waiting) <-chan outcome {
	done := make(chan outcome, 1)
	go func() {
		value, err := g.Do(ctx, key, limit, w.work)
		done <- outcome{value, err}
	}()
	return done
}

func TestCallersOfOneKeyShareOneRun(t *testing.T) {
	t.Parallel()
	var g flight.Group[int]
	w := newWaiting()
	first := start(t.Context(), &g, "a", w)
	<-w.began
	const others = 5
	results := make(chan outcome, others)
	var joined sync.WaitGroup
	for range others {
		joined.Go(func() {
			value, err := g.Do(t.Context(), "a", limit, w.work)
			results <- outcome{value, err}
		})
	}
	// The others can only end after the release; whether they joined or came later shows in the number of runs,
	// which a later one would raise.
	select {
	case got := <-results:
		t.Fatalf("a caller got %v before the work ended", got)
	default:
	}
	close(w.release)
	joined.Wait()
	if got := <-first; got.value != 1 || got.err != nil {
		t.Fatalf("the first caller got %v", got)
	}
	for range others {
		if got := <-results; got.err != nil {
			t.Fatalf("another caller got %v", got)
		}
	}
}

func TestJoiningDoesNotStartASecondRun(t *testing.T) {
	t.Parallel()
	var g flight.Group[int]
	w := newWaiting()
	first := start(t.Context(), &g, "a", w)
	<-w.began
	// A caller whose context has ended joins, finds nothing yet and leaves: it must not have started anything.
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := g.Do(ended, "a", limit, w.work); !errors.Is(err, context.Canceled) {
		t.Fatalf("a caller that has ended got %v", err)
	}
	close(w.release)
	<-first
	if runs := w.runs.Load(); runs != 1 {
		t.Fatalf("the work ran %d times instead of once", runs)
	}
}

func TestKeysDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	var g flight.Group[int]
	w := newWaiting()
	first := start(t.Context(), &g, "a", w)
	<-w.began
	value, err := g.Do(t.Context(), "b", limit, func(context.Context) (int, error) { return 7, nil })
	if value != 7 || err != nil {
		t.Fatalf("the other key got %d, %v", value, err)
	}
	close(w.release)
	<-first
}

func TestWorkOutlivesTheCallerWhoStartedIt(t *testing.T) {
	t.Parallel()
	var g flight.Group[int]
	w := newWaiting()
	ctx, leave := context.WithCancel(t.Context())
	first := start(ctx, &g, "a", w)
	<-w.began
	second := start(t.Context(), &g, "a", w)
	leave()
	if got := <-first; !errors.Is(got.err, context.Canceled) {
		t.Fatalf("the caller who left got %v", got)
	}
	close(w.release)
	if got := <-second; got.err != nil {
		t.Fatalf("the caller who stayed got %v", got)
	}
}

func TestNothingIsRemembered(t *testing.T) {
	t.Parallel()
	var g flight.Group[int]
	for want := range 3 {
		got, err := g.Do(t.Context(), "a", limit, func(context.Context) (int, error) { return want, nil })
		if got != want || err != nil {
			t.Fatalf("run %d gave %d, %v", want, got, err)
		}
	}
}

func TestWorkHasATimeLimit(t *testing.T) {
	t.Parallel()
	var g flight.Group[int]
	w := newWaiting()
	_, err := g.Do(t.Context(), "a", time.Millisecond, w.work)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("work without end gave %v", err)
	}
}

func TestCloseCancelsAndWaitsAndRefuses(t *testing.T) {
	t.Parallel()
	var g flight.Group[int]
	w := newWaiting()
	first := start(t.Context(), &g, "a", w)
	<-w.began
	g.Close()
	if got := <-first; !errors.Is(got.err, context.Canceled) {
		t.Fatalf("the work under way gave %v", got)
	}
	if _, err := g.Do(t.Context(), "a", limit, w.work); !errors.Is(err, flight.ErrClosed) {
		t.Fatalf("work after Close gave %v", err)
	}
	if runs := w.runs.Load(); runs != 1 {
		t.Fatalf("the work ran %d times", runs)
	}
}
