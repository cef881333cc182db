package httpapi

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/restmapping/operator/pkg/rest"
)

func TestNoMoreThanInFlightAtOnce(t *testing.T) {
	t.Parallel()
	const limit, requests = 3, 12
	var now, most atomic.Int32
	gate := make(chan struct{})
	client := connect(t, Config{InFlight: limit, BaseURL: serve(t, func(http.ResponseWriter, *http.Request) {
		n := now.Add(1)
		defer now.Add(-1)
		for {
			old := most.Load()
			if n <= old || most.CompareAndSwap(old, n) {
				break
			}
		}
		<-gate
	})})
	var group sync.WaitGroup
	for range requests {
		group.Go(func() {
			if exchange := client.Do(t.Context(), get("/x")); exchange.Failure != nil {
				t.Error(exchange.Failure)
			}
		})
	}
	eventually(t, "the slots are full", func() bool { return now.Load() == limit })
	if client.InFlight() != limit {
		t.Errorf("InFlight() = %d", client.InFlight())
	}
	close(gate)
	group.Wait()
	if most.Load() != limit || client.InFlight() != 0 {
		t.Errorf("%d at once, %d left", most.Load(), client.InFlight())
	}
}

func TestWaitingForASlotEndsWithTheContext(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	var sent atomic.Int32
	client := connect(t, Config{InFlight: 1, BaseURL: serve(t, func(http.ResponseWriter, *http.Request) {
		sent.Add(1)
		<-gate
	})})
	var group sync.WaitGroup
	group.Go(func() { client.Do(t.Context(), get("/x")) })
	eventually(t, "the slot is taken", func() bool { return sent.Load() == 1 })

	ctx, cancel := context.WithCancel(t.Context())
	group.Go(func() {
		failure := client.Do(ctx, write(http.MethodPost, "/x", "{}")).Failure
		if failure == nil || failure.Kind != rest.NotSent || !errors.Is(failure, context.Canceled) {
			t.Errorf("cancelled: %v", failure)
		}
	})
	cancel()
	short, stop := context.WithTimeout(t.Context(), time.Millisecond)
	defer stop()
	failure := wantFailure(t, client.Do(short, write(http.MethodPost, "/x", "{}")), rest.NotSent, "limits.inFlight")
	if !errors.Is(failure, context.DeadlineExceeded) {
		t.Errorf("cause %v", failure.Err)
	}
	close(gate)
	group.Wait()
	if sent.Load() != 1 {
		t.Errorf("%d requests were sent", sent.Load())
	}
}

func TestATokenThatComesTooLateIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	var sent atomic.Int32
	var seen Observation
	client := connect(t, Config{
		RequestsPerSecond: 0.001, Burst: 1,
		BaseURL: serve(t, func(http.ResponseWriter, *http.Request) { sent.Add(1) }),
	}, WithObserver(func(o Observation) { seen = o }))
	wantStatus(t, client.Do(t.Context(), get("/x")), http.StatusOK)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	wantFailure(t, client.Do(ctx, write(http.MethodPut, "/x", "{}")), rest.NotSent, "limits.requestsPerSecond")
	if sent.Load() != 1 || client.InFlight() != 0 {
		t.Errorf("sent %d, in flight %d", sent.Load(), client.InFlight())
	}
	if seen.Failure != rest.NotSent || seen.Status != 0 {
		t.Errorf("observed %+v", seen)
	}
}

func TestARedirectTakesATokenOfItsOwn(t *testing.T) {
	t.Parallel()
	client := connect(t, Config{
		RequestsPerSecond: 0.001, Burst: 1,
		BaseURL: serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/api/y", http.StatusFound) }),
	})
	wantFailure(t, client.Do(t.Context(), get("/x")), rest.TimedOut)
}

func TestTheTimeoutStartsWhenTheLimitsLetGo(t *testing.T) {
	t.Parallel()
	const timeout = 3 * time.Second
	client := connect(t, Config{
		RequestsPerSecond: 0.25, Burst: 1, Timeout: timeout,
		BaseURL: serve(t, func(http.ResponseWriter, *http.Request) {}),
	})
	wantStatus(t, client.Do(t.Context(), get("/x")), http.StatusOK)
	exchange := client.Do(t.Context(), get("/x")) // its token comes after four seconds
	wantStatus(t, exchange, http.StatusOK)
	if exchange.Duration < timeout {
		t.Errorf("duration %v leaves out the wait", exchange.Duration)
	}
}

func TestAnEndedContextSendsNothing(t *testing.T) {
	t.Parallel()
	client := connect(t, Config{BaseURL: serve(t, func(http.ResponseWriter, *http.Request) { t.Error("sent") })})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	past, stop := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer stop()
	for range 20 { // a select would pick the slot half of the time
		wantFailure(t, client.Do(ended, write(http.MethodPost, "/x", "{}")), rest.NotSent)
		wantFailure(t, client.Do(past, write(http.MethodPost, "/x", "{}")), rest.NotSent)
	}
}
