package httpapi

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/restmapping/operator/pkg/rest"
)

// stand is a server without a network, so that time can be compressed.
type stand struct {
	mu     sync.Mutex
	sent   []time.Time
	answer func(*http.Request) (status int, retryAfter time.Duration, err error)
}

func (s *stand) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	s.sent = append(s.sent, time.Now())
	answer := s.answer
	s.mu.Unlock()
	status, after, err := answer(r)
	if err != nil {
		return nil, err
	}
	header := http.Header{}
	if after > 0 {
		header.Set("Retry-After", strconv.Itoa(int(after.Seconds())))
	}
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader("")), Request: r}, nil
}

func (s *stand) become(status int, after time.Duration, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = func(*http.Request) (int, time.Duration, error) { return status, after, err }
}

func (s *stand) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sent)
}

func (s *stand) client(t *testing.T, cfg Config) *Client {
	t.Helper()
	cfg.BaseURL = "http://api.example.com"
	client, err := NewClient(cfg, WithTransportWrapper(func(http.RoundTripper) http.RoundTripper { return s }))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestTheCircuitOpensAfterFailuresInARow(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	cases := map[string]struct {
		status int
		err    error
		opens  bool
	}{
		"500":                 {500, nil, true},
		"502":                 {502, nil, true},
		"no connection":       {0, syscall.ECONNREFUSED, true},
		"a broken connection": {0, io.ErrUnexpectedEOF, true},
		"another error":       {0, refused, true},
		"400":                 {400, nil, false},
		"401":                 {401, nil, false},
		"404":                 {404, nil, false},
		"409":                 {409, nil, false},
		"200":                 {200, nil, false},
		"given up by us":      {0, context.Canceled, false},
		"a refused address":   {0, &AddressNotAllowedError{}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &stand{}
				s.become(tc.status, 0, tc.err)
				client := s.client(t, Config{CircuitBreaker: CircuitBreaker{Failures: 3, OpenFor: 10 * time.Second}})
				for range 9 {
					ctx, cancel := context.WithCancel(t.Context())
					if errors.Is(tc.err, context.Canceled) {
						cancelDuring(s, cancel)
					}
					client.Do(ctx, get("/x"))
					cancel()
				}
				want := 9
				if tc.opens {
					want = 3
				}
				if s.count() != want || (client.Flow().Circuit == CircuitOpen) != tc.opens {
					t.Errorf("%d sent, want %d; circuit %s", s.count(), want, client.Flow().Circuit)
				}
			})
		})
	}
}

func cancelDuring(s *stand, cancel func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = func(*http.Request) (int, time.Duration, error) {
		cancel()
		return 0, 0, context.Canceled
	}
}

func TestASuccessBetweenFailuresKeepsTheCircuitClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &stand{}
		client := s.client(t, Config{CircuitBreaker: CircuitBreaker{Failures: 3, OpenFor: time.Minute}})
		for range 10 {
			for _, status := range []int{500, 500, 404} {
				s.become(status, 0, nil)
				wantStatus(t, client.Do(t.Context(), get("/x")), status)
			}
		}
	})
}

func TestOneReadTriesAnOpenCircuit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &stand{}
		s.become(500, 0, nil)
		changes := 0
		client := s.client(t, Config{CircuitBreaker: CircuitBreaker{Failures: 2, OpenFor: 10 * time.Second}})
		client.flowChanged = func() { changes++ }
		client.Do(t.Context(), get("/x"))
		client.Do(t.Context(), get("/x"))
		held := client.Do(t.Context(), get("/x"))
		failure := wantFailure(t, held, rest.NotSent, "failed 2 times in a row", "10s", "circuitBreaker")
		if failure.Held != rest.HeldByCircuit || held.RetryAfter < 10*time.Second || held.RetryAfter > 15*time.Second {
			t.Errorf("held by %q, again after %s", failure.Held, held.RetryAfter)
		}
		time.Sleep(11 * time.Second)
		if failure := wantFailure(t, client.Do(t.Context(), write("PUT", "/x", "{}")), rest.NotSent); failure.Held != rest.HeldByCircuit {
			t.Errorf("a write tried the circuit: %+v", failure)
		}
		wantStatus(t, client.Do(t.Context(), get("/x")), 500) // opens again
		wantFailure(t, client.Do(t.Context(), get("/x")), rest.NotSent)
		time.Sleep(11 * time.Second)
		s.become(200, 0, nil)
		wantStatus(t, client.Do(t.Context(), get("/x")), 200)
		wantStatus(t, client.Do(t.Context(), write("PUT", "/x", "{}")), 200)
		if s.count() != 5 || client.Flow().Circuit != CircuitClosed || changes < 2 {
			t.Errorf("%d sent, circuit %s, %d changes told", s.count(), client.Flow().Circuit, changes)
		}
	})
}

func TestAWriteTriesTheCircuitWhenNobodyReads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &stand{}
		s.become(500, 0, nil)
		client := s.client(t, Config{CircuitBreaker: CircuitBreaker{Failures: 1, OpenFor: 10 * time.Second}})
		client.Do(t.Context(), write("PUT", "/x", "{}"))
		s.become(200, 0, nil)
		start := time.Now()
		for {
			x := client.Do(t.Context(), write("PUT", "/x", "{}"))
			if x.Failure == nil {
				break
			}
			time.Sleep(x.RetryAfter)
		}
		if took := time.Since(start); took < 20*time.Second || took > 35*time.Second {
			t.Errorf("the first write went after %s", took)
		}
	})
}

func TestOnlyOneRequestTriesAHalfOpenCircuit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &stand{}
		s.become(500, 0, nil)
		client := s.client(t, Config{CircuitBreaker: CircuitBreaker{Failures: 1, OpenFor: 10 * time.Second}})
		client.Do(t.Context(), get("/x"))
		time.Sleep(11 * time.Second)
		s.mu.Lock()
		s.answer = func(*http.Request) (int, time.Duration, error) { time.Sleep(time.Second); return 200, 0, nil }
		s.mu.Unlock()
		var group sync.WaitGroup
		for range 20 {
			group.Go(func() { client.Do(t.Context(), get("/x")) })
		}
		group.Wait()
		if s.count() != 2 {
			t.Errorf("%d requests, want the failure and one try", s.count())
		}
	})
}

func TestACircuitBreakerCanBeTurnedOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &stand{}
		s.become(500, 0, nil)
		client := s.client(t, Config{CircuitBreaker: CircuitBreaker{Off: true}})
		for range 30 {
			wantStatus(t, client.Do(t.Context(), get("/x")), 500)
		}
	})
}

// fleet has many callers that want one good answer each, as custom resources do: what is refused comes again when the
// exchange says so, or with a pause of its own.
func fleet(t *testing.T, client *Client, callers int) (done []time.Duration) {
	t.Helper()
	start := time.Now()
	done = make([]time.Duration, callers)
	var group sync.WaitGroup
	workers := make(chan struct{}, 8)
	for i := range callers {
		group.Go(func() {
			for {
				workers <- struct{}{}
				x := client.Do(t.Context(), get("/x"))
				<-workers
				if x.Failure == nil && x.Response.Status == 200 {
					done[i] = time.Since(start)
					return
				}
				time.Sleep(max(x.RetryAfter, 5*time.Second))
			}
		})
	}
	group.Wait()
	return done
}

func TestAMinuteOf429(t *testing.T) {
	t.Parallel()
	const callers = 500
	cases := map[string]struct {
		after  func(left time.Duration) time.Duration
		most   int
		latest time.Duration
	}{
		"that names its end":        {func(left time.Duration) time.Duration { return left + time.Second }, 10, 100 * time.Second},
		"that names five seconds":   {func(time.Duration) time.Duration { return 5 * time.Second }, 25, 115 * time.Second},
		"that names no time at all": {func(time.Duration) time.Duration { return 0 }, 20, 130 * time.Second},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				during := 0
				s := &stand{}
				s.answer = func(*http.Request) (int, time.Duration, error) {
					time.Sleep(20 * time.Millisecond)
					s.mu.Lock()
					defer s.mu.Unlock()
					if left := time.Minute - time.Since(start); left > 0 {
						during++
						return 429, tc.after(left), nil
					}
					return 200, 0, nil
				}
				client := s.client(t, Config{})
				done := fleet(t, client, callers)
				last := time.Duration(0)
				for _, d := range done {
					last = max(last, d)
				}
				t.Logf("%d callers: %d requests during the minute, %d in all, all done after %s (rate %.1f/s, paused %s)",
					callers, during, s.count(), last.Round(100*time.Millisecond), client.Flow().RequestsPerSecond, client.Flow().Paused)
				if during > tc.most {
					t.Errorf("%d requests during the minute, want at most %d", during, tc.most)
				}
				if last > tc.latest {
					t.Errorf("the last was done after %s, want %s", last, tc.latest)
				}
				if s.count() != during+callers {
					t.Errorf("%d requests for %d good answers", s.count()-during, callers)
				}
			})
		})
	}
}

// A server that takes 5 requests a second and refuses the others must get about that many.
func TestTheRateFindsWhatTheServerTakes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		refused, window, inWindow := 0, time.Now(), 0
		s := &stand{}
		s.answer = func(*http.Request) (int, time.Duration, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			if time.Since(window) >= time.Second {
				window, inWindow = time.Now(), 0
			}
			if inWindow++; inWindow > 5 {
				refused++
				return 429, 0, nil
			}
			return 200, 0, nil
		}
		client := s.client(t, Config{})
		start := time.Now()
		fleet(t, client, 300)
		took := time.Since(start)
		t.Logf("300 good answers at 5/s: %s, %d refused", took.Round(time.Second), refused)
		if took > 5*time.Minute || refused > 100 {
			t.Errorf("%s and %d refused: it does not find the rate", took, refused)
		}
	})
}

func TestSlowingDownIsBoundedAndEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &stand{}
		changes := 0
		client := s.client(t, Config{RequestsPerSecond: 40, Burst: 10})
		client.flowChanged = func() { changes++ }
		s.become(429, 48*time.Hour, nil)
		x := client.Do(t.Context(), get("/x"))
		if x.RetryAfter != 24*time.Hour {
			t.Errorf("the object's own wait is %s", x.RetryAfter)
		}
		held := client.Do(t.Context(), write("PUT", "/x", "{}"))
		if failure := wantFailure(t, held, rest.NotSent, "429 or 503"); failure.Held != rest.HeldByServer {
			t.Errorf("held by %q", failure.Held)
		}
		if held.RetryAfter > longestAsked+mostSpread || held.RetryAfter < longestAsked {
			t.Errorf("the endpoint waits %s, want about %s", held.RetryAfter, longestAsked)
		}
		if f := client.Flow(); !f.Slowed || f.RequestsPerSecond != 20 || f.Paused != longestAsked {
			t.Errorf("flow %+v", f)
		}
		time.Sleep(longestAsked)
		s.become(200, 0, nil)
		for range 70 {
			client.Do(t.Context(), get("/x"))
			time.Sleep(time.Second)
		}
		if f := client.Flow(); f.Slowed || f.RequestsPerSecond != 40 {
			t.Errorf("flow %+v after 70 s of good answers", f)
		}
		if changes != 2 {
			t.Errorf("told of %d changes, want the begin and the end", changes)
		}
		for range 30 { // never below the floor
			s.become(503, 0, nil)
			client.Do(t.Context(), get("/x"))
			time.Sleep(longestPause)
			s.become(200, 0, nil)
			client.Do(t.Context(), get("/x"))
		}
		if f := client.Flow(); f.RequestsPerSecond < slowest {
			t.Errorf("the rate is %v", f.RequestsPerSecond)
		}
	})
}

// Requests that were under way together when the server said no are one no.
func TestManyRefusalsAtOnceCountOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &stand{}
		s.answer = func(*http.Request) (int, time.Duration, error) { time.Sleep(time.Second); return 429, 0, nil }
		client := s.client(t, Config{RequestsPerSecond: 40})
		var group sync.WaitGroup
		for range 16 {
			group.Go(func() { client.Do(t.Context(), get("/x")) })
		}
		group.Wait()
		if f := client.Flow(); f.RequestsPerSecond != 20 || f.Paused != firstPause {
			t.Errorf("flow %+v", f)
		}
	})
}

// After a pause the server is asked by one request, not by all that waited.
func TestOneRequestGoesAloneAfterAPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &stand{}
		s.become(429, 5*time.Second, nil)
		client := s.client(t, Config{})
		client.Do(t.Context(), get("/x"))
		time.Sleep(6 * time.Second)
		s.mu.Lock()
		s.answer = func(*http.Request) (int, time.Duration, error) { time.Sleep(time.Minute / 10); return 200, 0, nil }
		s.mu.Unlock()
		var group sync.WaitGroup
		for range 10 {
			group.Go(func() { client.Do(t.Context(), get("/x")) })
		}
		group.Wait()
		if s.count() != 2 {
			t.Errorf("%d requests, want the one that was refused and one that tries", s.count())
		}
	})
}
