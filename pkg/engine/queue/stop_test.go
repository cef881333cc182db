package queue_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/restmapping/operator/pkg/engine/queue"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestStopLetsRunningHandlersFinish(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var outcome error
		w := queue.NewWorkers("test", queue.HandlerFunc(func(ctx context.Context, _ types.NamespacedName) queue.Result {
			time.Sleep(time.Minute)
			outcome = ctx.Err()
			return queue.Result{}
		}))
		started, cancel := context.WithCancel(t.Context())
		w.Start(started)
		w.Add(queue.Options{}, named("a"))
		synctest.Wait()
		cancel() // the operator is told to stop, as a signal does
		begin := time.Now()
		drain, cancelDrain := context.WithTimeout(t.Context(), time.Hour)
		defer cancelDrain()
		if err := w.Stop(drain); err != nil {
			t.Errorf("stop: %v", err)
		}
		if got := time.Since(begin); got != time.Minute {
			t.Errorf("stop returned after %v, want when the handler has finished", got)
		}
		if outcome != nil {
			t.Errorf("the context of the handler ended: %v", outcome)
		}
	})
}

func TestStopInterruptsHandlersWhenTheDrainTimeIsOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var left atomic.Int32
		w := queue.NewWorkers("widgets", queue.HandlerFunc(func(ctx context.Context, _ types.NamespacedName) queue.Result {
			<-ctx.Done()
			time.Sleep(time.Second) // cleaning up
			left.Add(1)
			return queue.Result{Err: ctx.Err()}
		}), queue.WithWorkers(2))
		w.Start(t.Context())
		w.Add(queue.Options{}, numbered("n", 5)...)
		synctest.Wait()
		begin := time.Now()
		drain, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		err := w.Stop(drain)
		var cut *queue.DrainError
		if !errors.As(err, &cut) || cut.Interrupted != 2 || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("stop: got %v, want a DrainError for 2 handlers", err)
		}
		if err != nil && !strings.Contains(err.Error(), "widgets") {
			t.Errorf("the error does not name the queue: %v", err)
		}
		if got := time.Since(begin); got != 31*time.Second {
			t.Errorf("stop returned after %v, want 31s: the handlers are waited for even then", got)
		}
		if got := left.Load(); got != 2 {
			t.Errorf("%d handlers had returned, want 2 (and nothing new begun)", got)
		}
	})
}

func TestNothingIsTakenInAfterStop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(done)
		w := queue.NewWorkers("test", j)
		w.Add(queue.Options{After: time.Minute}, named("waiting"))
		w.Start(t.Context())
		synctest.Wait()
		stop(t, w)
		w.Add(queue.Options{}, named("late"))
		w.Start(t.Context())
		time.Sleep(time.Hour)
		if diff := cmp.Diff([]string(nil), j.handled()); diff != "" {
			t.Errorf("handled after stop (-want +got):\n%s", diff)
		}
		if got := w.Len(); got != 0 {
			t.Errorf("ready names after stop: got %d, want 0", got)
		}
	})
}

func TestStopMayBeCalledByManyAndBeforeStart(t *testing.T) {
	t.Parallel()
	cases := map[string]bool{"started": true, "never started": false}
	for name, started := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := queue.NewWorkers("test", newJournal(done))
				if started {
					w.Start(t.Context())
					w.Start(t.Context())
				}
				var all sync.WaitGroup
				for range 10 {
					all.Go(func() { stop(t, w) })
				}
				all.Wait()
				stop(t, w)
			})
		})
	}
}

func TestTheNumberOfWorkersIsTheLimit(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		options []queue.Option
		want    int
	}{
		"by default":                   {nil, queue.DefaultWorkers},
		"as asked":                     {[]queue.Option{queue.WithWorkers(7)}, 7},
		"by default for less than one": {[]queue.Option{queue.WithWorkers(0)}, queue.DefaultWorkers},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := queue.NewWorkers("test", queue.HandlerFunc(func(context.Context, types.NamespacedName) queue.Result {
					time.Sleep(time.Second)
					return queue.Result{}
				}), tc.options...)
				w.Add(queue.Options{}, numbered("n", 20)...)
				w.Start(t.Context())
				w.Start(t.Context()) // must not double them
				synctest.Wait()
				if got, want := w.Stats(), (queue.Stats{Ready: 20 - tc.want, Running: tc.want}); got != want {
					t.Errorf("stats: got %+v, want %+v", got, want)
				}
				time.Sleep(time.Minute)
				if got, want := w.Stats(), (queue.Stats{Handled: 20}); got != want {
					t.Errorf("stats at the end: got %+v, want %+v", got, want)
				}
				stop(t, w)
			})
		})
	}
}

func TestAHungServerDoesNotSlowItsNeighbour(t *testing.T) {
	t.Parallel()
	const many = 2000
	hung := make(chan struct{})
	slow := queue.NewWorkers("slow", queue.HandlerFunc(func(ctx context.Context, _ types.NamespacedName) queue.Result {
		select {
		case <-hung:
		case <-ctx.Done():
		}
		return queue.Result{}
	}))
	var quickly sync.WaitGroup
	quickly.Add(many)
	quick := queue.NewWorkers("quick", queue.HandlerFunc(func(context.Context, types.NamespacedName) queue.Result {
		quickly.Done()
		return queue.Result{}
	}))
	slow.Start(t.Context())
	quick.Start(t.Context())
	slow.Add(queue.Options{}, numbered("slow", many)...)
	quick.Add(queue.Options{}, numbered("quick", many)...)
	quickly.Wait() // hangs, and fails by the time limit of the test run, if one waits for the other
	if got := slow.Stats().Handled; got != 0 {
		t.Errorf("the hung queue has handled %d names, so it did not hang", got)
	}
	close(hung)
	stop(t, slow)
	stop(t, quick)
}

func TestMappingsThatComeAndGoLeaveNothingBehind(t *testing.T) { //nolint:paralleltest // counts all goroutines
	before := goleak.IgnoreCurrent()
	for range 200 {
		w := queue.NewWorkers("coming-and-going", newJournal(done))
		w.Start(t.Context())
		w.Add(queue.Options{}, numbered("now", 5)...)
		w.Add(queue.Options{After: time.Hour}, numbered("later", 5)...)
		stop(t, w)
	}
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, series := range family.GetMetric() {
			for _, label := range series.GetLabel() {
				if label.GetValue() == "coming-and-going" {
					t.Errorf("metric %s keeps a series of a stopped queue", family.GetName())
				}
			}
		}
	}
}
