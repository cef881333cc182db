package queue_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/restmapping/operator/pkg/engine/queue"
)

func TestHigherPriorityIsHandledFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(done)
		w := queue.NewWorkers("test", j, queue.WithWorkers(1))
		w.Add(queue.Options{Priority: queue.PriorityLow}, named("listed-1"), named("listed-2"))
		w.Add(queue.Options{}, named("changed-1"))
		w.Add(queue.Options{}, named("changed-2"))
		w.Add(queue.Options{}, named("listed-2")) // somebody changed it while it waited
		synctest.Wait()
		if got := w.Len(); got != 4 {
			t.Errorf("ready names: got %d, want 4", got)
		}
		w.Start(t.Context())
		synctest.Wait()
		want := []string{"changed-1", "changed-2", "listed-2", "listed-1"}
		if diff := cmp.Diff(want, j.handled()); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
		stop(t, w)
	})
}

func TestWhenANameIsHandled(t *testing.T) {
	t.Parallel()
	type wish struct {
		at    time.Duration
		after time.Duration
	}
	cases := map[string]struct {
		wishes []wish
		want   []time.Duration
	}{
		"at once without a delay":                         {[]wish{{0, 0}}, []time.Duration{0}},
		"after its delay":                                 {[]wish{{0, time.Hour}}, []time.Duration{time.Hour}},
		"at once when an event comes during a long delay": {[]wish{{0, time.Hour}, {time.Minute, 0}}, []time.Duration{time.Minute}},
		"earlier when an earlier wish comes":              {[]wish{{0, time.Hour}, {time.Minute, time.Minute}}, []time.Duration{2 * time.Minute}},
		"no later because a later wish comes":             {[]wish{{0, time.Minute}, {time.Second, time.Hour}}, []time.Duration{time.Minute}},
		"again for a wish that came after it was handled": {[]wish{{0, 0}, {time.Minute, time.Minute}}, []time.Duration{0, 2 * time.Minute}},
		"once for many wishes at the same time":           {[]wish{{0, time.Minute}, {0, time.Minute}, {0, time.Minute}}, []time.Duration{time.Minute}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				j := newJournal(done)
				w := queue.NewWorkers("test", j)
				w.Start(t.Context())
				for _, wish := range tc.wishes {
					time.Sleep(wish.at - time.Since(j.begin))
					w.Add(queue.Options{After: wish.after}, named("a"))
					synctest.Wait()
				}
				time.Sleep(24 * time.Hour)
				if diff := cmp.Diff(tc.want, j.timesOf("a")); diff != "" {
					t.Errorf("times (-want +got):\n%s", diff)
				}
				stop(t, w)
			})
		})
	}
}

func TestANameIsNeverHandledTwiceAtTheSameTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(func(attempt int, _ types.NamespacedName) queue.Result {
			if attempt == 0 {
				time.Sleep(time.Minute)
			}
			return queue.Result{}
		})
		w := queue.NewWorkers("test", j)
		w.Start(t.Context())
		w.Add(queue.Options{}, named("a"))
		synctest.Wait()
		for range 10 {
			w.Add(queue.Options{}, named("a"))
		}
		time.Sleep(time.Hour)
		// The ten events during the first handling cause one more, and it begins when the first has ended.
		if diff := cmp.Diff([]time.Duration{0, time.Minute}, j.timesOf("a")); diff != "" {
			t.Errorf("times (-want +got):\n%s", diff)
		}
		stop(t, w)
	})
}

func TestAFailedNameKeepsItsPriority(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(func(attempt int, name types.NamespacedName) queue.Result {
			switch {
			case name.Name == "listed" && attempt == 0:
				return queue.Result{Err: errTest}
			case name.Name == "slow":
				time.Sleep(time.Minute)
			}
			return queue.Result{}
		})
		w := queue.NewWorkers("test", j, queue.WithWorkers(1))
		w.Start(t.Context())
		w.Add(queue.Options{Priority: queue.PriorityLow}, named("listed"))
		synctest.Wait()
		w.Add(queue.Options{}, named("slow")) // occupies the worker until both others are ready
		time.Sleep(30 * time.Second)
		w.Add(queue.Options{}, named("changed"))
		time.Sleep(time.Hour)
		if diff := cmp.Diff([]string{"listed", "slow", "changed", "listed"}, j.handled()); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
		stop(t, w)
	})
}
