package queue_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/restmapping/operator/pkg/engine/queue"
)

var errTest = errors.New("the server said no")

func TestFailuresComeBackLaterAndLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const failures = 14
		j := newJournal(func(attempt int, _ types.NamespacedName) queue.Result {
			if attempt < failures {
				return queue.Result{Err: errTest, After: time.Nanosecond} // Err wins
			}
			return queue.Result{}
		})
		w := queue.NewWorkers("test", j)
		w.Start(t.Context())
		w.Add(queue.Options{}, named("a"))
		time.Sleep(24 * time.Hour)
		times := j.timesOf("a")
		if len(times) != failures+1 {
			t.Fatalf("handled %d times, want %d: nothing may be dropped", len(times), failures+1)
		}
		nominal := queue.DefaultMinBackoff
		for i := range failures {
			delay := times[i+1] - times[i]
			if delay < nominal || delay > nominal*5/4 {
				t.Errorf("delay %d: got %v, want %v to %v", i, delay, nominal, nominal*5/4)
			}
			nominal = min(nominal*2, queue.DefaultMaxBackoff*4/5)
		}
		if got, want := w.Stats(), (queue.Stats{Handled: failures + 1, Failed: failures}); got != want {
			t.Errorf("stats: got %+v, want %+v", got, want)
		}
		stop(t, w)
	})
}

func TestNamesThatFailedTogetherComeBackScattered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(func(attempt int, _ types.NamespacedName) queue.Result {
			if attempt == 0 {
				return queue.Result{Err: errTest}
			}
			return queue.Result{}
		})
		w := queue.NewWorkers("test", j, queue.WithBackoff(time.Hour, 10*time.Hour))
		w.Start(t.Context())
		names := numbered("n", 20)
		w.Add(queue.Options{}, names...)
		time.Sleep(24 * time.Hour)
		distinct := map[time.Duration]bool{}
		for _, name := range names {
			times := j.timesOf(name.Name)
			if len(times) != 2 {
				t.Fatalf("%s was handled %d times, want 2", name, len(times))
			}
			distinct[times[1]] = true
		}
		if len(distinct) < 10 {
			t.Errorf("20 names came back at %d different times; they must be scattered", len(distinct))
		}
		stop(t, w)
	})
}

func TestSuccessForgetsFailures(t *testing.T) {
	t.Parallel()
	cases := map[string]queue.Result{
		"a success that wants to come back": {After: time.Hour},
		"a success that is final":           {},
	}
	for name, success := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				j := newJournal(func(attempt int, _ types.NamespacedName) queue.Result {
					switch {
					case attempt == 5:
						return success
					case attempt > 6:
						return queue.Result{}
					}
					return queue.Result{Err: errTest}
				})
				w := queue.NewWorkers("test", j)
				w.Start(t.Context())
				w.Add(queue.Options{}, named("a"))
				time.Sleep(2 * time.Hour)
				w.Add(queue.Options{}, named("a"))
				time.Sleep(24 * time.Hour)
				times := j.timesOf("a")
				if delay := times[7] - times[6]; delay > queue.DefaultMinBackoff*5/4 {
					t.Errorf("the first failure after a success waited %v; it must begin at %v again", delay, queue.DefaultMinBackoff)
				}
				stop(t, w)
			})
		})
	}
}

func TestAfterBringsANameBackOnceEachTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(func(attempt int, _ types.NamespacedName) queue.Result {
			if attempt < 3 {
				return queue.Result{After: 10 * time.Minute, Priority: queue.PriorityLow}
			}
			return queue.Result{}
		})
		w := queue.NewWorkers("test", j)
		w.Start(t.Context())
		w.Add(queue.Options{}, named("a"))
		time.Sleep(24 * time.Hour)
		want := []time.Duration{0, 10 * time.Minute, 20 * time.Minute, 30 * time.Minute}
		if diff := cmp.Diff(want, j.timesOf("a")); diff != "" {
			t.Errorf("times (-want +got):\n%s", diff)
		}
		stop(t, w)
	})
}

func TestAPanicIsAFailureAndHarmsNobodyElse(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	cases := map[string]struct {
		panics func()
		shown  string
	}{
		"of the Go runtime": {func() { var none []int; _ = none[len(none)] }, "index out of range"},
		"with a text":       {func() { panic("token " + secret) }, "a value of type string"},
		"with an error":     {func() { panic(errors.New(secret)) }, "a value of type *errors.errorString"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				j := newJournal(func(attempt int, name types.NamespacedName) queue.Result {
					if name.Name == "bad" && attempt == 0 {
						tc.panics()
					}
					return queue.Result{}
				})
				w := queue.NewWorkers("widgets", j, queue.WithWorkers(1))
				ctx, log := logged(t.Context())
				w.Start(ctx)
				w.Add(queue.Options{}, named("bad"), named("good"))
				time.Sleep(time.Minute)
				if diff := cmp.Diff([]string{"bad", "good", "bad"}, j.handled()); diff != "" {
					t.Errorf("handled (-want +got):\n%s", diff)
				}
				if got, want := w.Stats(), (queue.Stats{Handled: 3, Failed: 1, Panicked: 1}); got != want {
					t.Errorf("stats: got %+v, want %+v", got, want)
				}
				for _, part := range []string{tc.shown, "result_test.go", "blue/bad", "widgets"} {
					if !strings.Contains(log.String(), part) {
						t.Errorf("the log lacks %q:\n%s", part, log)
					}
				}
				if strings.Contains(log.String(), secret) {
					t.Errorf("the log shows the value of the panic:\n%s", log)
				}
				stop(t, w)
			})
		})
	}
}

func TestAFailureIsLoggedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := queue.NewWorkers("widgets", queue.HandlerFunc(func(context.Context, types.NamespacedName) queue.Result {
			return queue.Result{Err: errTest}
		}))
		ctx, log := logged(t.Context())
		w.Start(ctx)
		w.Add(queue.Options{}, named("a"))
		synctest.Wait()
		if got := strings.Count(log.String(), errTest.Error()); got != 1 {
			t.Errorf("the error is logged %d times, want once:\n%s", got, log)
		}
		stop(t, w)
	})
}

func TestAFailureIsLoggedWithItsTrace(t *testing.T) {
	t.Parallel()
	for trace, inLog := range map[string]bool{"4bf92f3577b34da6a3ce929d0e0e4736": true, "": false} {
		synctest.Test(t, func(t *testing.T) {
			w := queue.NewWorkers("widgets", queue.HandlerFunc(func(context.Context, types.NamespacedName) queue.Result {
				return queue.Result{Err: errTest, Trace: trace}
			}))
			ctx, log := logged(t.Context())
			w.Start(ctx)
			w.Add(queue.Options{}, named("a"))
			synctest.Wait()
			if got := log.String(); strings.Contains(got, "trace_id") != inLog || !strings.Contains(got, trace) {
				t.Errorf("logged %s", got)
			}
			stop(t, w)
		})
	}
}

// lines collects log lines.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func logged(ctx context.Context) (context.Context, *lines) {
	l := &lines{}
	return logr.NewContext(ctx, funcr.New(func(prefix, args string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.text.WriteString(prefix + " " + args + "\n")
	}, funcr.Options{})), l
}
