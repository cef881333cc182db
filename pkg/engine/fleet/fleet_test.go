package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/restmapping/operator/pkg/engine/fleet"
)

var key = fleet.Key{GVR: widgets}

func TestASubscriberSeesWhatIsThereAndWhatChanges(t *testing.T) {
	t.Parallel()
	client := newFake(widget("a", "1"))
	f := fleet.New(client)
	s, news := acquire(t, f, "one", key)
	awaitSync(t, s)
	if diff := cmp.Diff([]string{"Added a (initial)"}, news.seen()); diff != "" {
		t.Errorf("initial events (-want +got):\n%s", diff)
	}

	create(t, client, widget("b", "2"))
	eventually(t, news.has("Added b"))
	if _, err := client.Resource(widgets).Namespace("blue").Update(t.Context(), widget("b", "3"), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, news.has("Updated b"))
	object, found := s.Get(named("b"))
	if !found || object.ResourceVersion != "3" {
		t.Errorf("get: got %v, %v; want version 3", object, found)
	}
	if got := s.Len(); got != 2 {
		t.Errorf("len: got %d, want 2", got)
	}
	names := []string{}
	for _, object := range s.List() {
		names = append(names, object.Name)
	}
	slices.Sort(names)
	if diff := cmp.Diff([]string{"a", "b"}, names); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}

	if err := client.Resource(widgets).Namespace("blue").Delete(t.Context(), "b", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, news.has("Deleted b"))
	if object, found := s.Get(named("b")); found {
		t.Errorf("get: got %v, want nothing", object)
	}
}

func TestSubscribersShareAnInformerExactlyWhenTheyWatchTheSame(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		other fleet.Key
		lists int
	}{
		"the same":                     {key, 1},
		"another kind":                 {fleet.Key{GVR: gadgets}, 2},
		"another namespace":            {fleet.Key{GVR: widgets, Namespace: "blue"}, 2},
		"another selector":             {fleet.Key{GVR: widgets, LabelSelector: "color=blue"}, 2},
		"the same kind made once more": {fleet.Key{GVR: widgets, Incarnation: "uid-2"}, 2},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := newFake(widget("a", "1"))
			lists := countLists(client)
			f := fleet.New(client)
			first, _ := acquire(t, f, "one", key)
			awaitSync(t, first)
			second, _ := acquire(t, f, "two", tc.other)
			awaitSync(t, second)
			if got := lists.Load(); got != int64(tc.lists) {
				t.Errorf("got %d lists, want %d", got, tc.lists)
			}
			want := map[fleet.Key]map[string]int{key: {"one": 1}}
			if tc.lists == 1 {
				want[key]["two"] = 1
			} else {
				want[tc.other] = map[string]int{"two": 1}
			}
			if diff := cmp.Diff(want, f.Owners()); diff != "" {
				t.Errorf("owners (-want +got):\n%s", diff)
			}
		})
	}
}

func TestALateSubscriberGetsWhatIsThere(t *testing.T) {
	t.Parallel()
	f := fleet.New(newFake(widget("a", "1"), widget("b", "1")))
	first, _ := acquire(t, f, "one", key)
	awaitSync(t, first)
	late, news := acquire(t, f, "two", key)
	awaitSync(t, late)
	got := news.seen()
	slices.Sort(got)
	if diff := cmp.Diff([]string{"Added a (initial)", "Added b (initial)"}, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestTheLastSubscriberStopsTheInformer(t *testing.T) {
	t.Parallel()
	client := newFake()
	lists := countLists(client)
	f := fleet.New(client)
	one, oneNews := acquire(t, f, "one", key)
	two, twoNews := acquire(t, f, "two", key)
	awaitSync(t, one)
	awaitSync(t, two)

	release(t, one)
	release(t, one) // once more, which must not count as another one
	create(t, client, widget("a", "1"))
	eventually(t, twoNews.has("Added a"))
	if got := oneNews.seen(); len(got) != 0 {
		t.Errorf("events after release: %q", got)
	}

	release(t, two)
	if diff := cmp.Diff(map[fleet.Key]map[string]int{}, f.Owners()); diff != "" {
		t.Errorf("owners (-want +got):\n%s", diff)
	}
	again, news := acquire(t, f, "one", key)
	awaitSync(t, again)
	if got := lists.Load(); got != 2 {
		t.Errorf("got %d lists, want 2: a new informer begins with a list of its own", got)
	}
	if diff := cmp.Diff([]string{"Added a (initial)"}, news.seen()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestAKindThatCannotBeWatchedSaysWhyAndRecovers(t *testing.T) {
	t.Parallel()
	client := newFake(widget("a", "1"))
	var allowed atomic.Bool
	client.PrependReactor("list", "widgets", func(clienttesting.Action) (bool, runtime.Object, error) {
		if allowed.Load() {
			return false, nil, nil
		}
		return true, nil, apierrors.NewForbidden(widgets.GroupResource(), "", errors.New(`User "limited" cannot list`))
	})
	f := fleet.New(client)
	denied, news := acquire(t, f, "one", key)
	neighbour, _ := acquire(t, f, "two", fleet.Key{GVR: gadgets})
	awaitSync(t, neighbour) // not delayed by the other

	eventually(t, func() error {
		watchError, ok := errors.AsType[*fleet.WatchError](denied.LastError())
		if !ok || !watchError.Denied() || !strings.Contains(watchError.Error(), `User "limited" cannot list`) {
			return fmt.Errorf("got error %w, want the API server's refusal", denied.LastError())
		}
		if news.stateChanges() == 0 {
			return errors.New("the error was not announced")
		}
		return nil
	})
	if denied.HasSynced() || neighbour.LastError() != nil {
		t.Errorf("synced %v, neighbour's error %v; want false, nil", denied.HasSynced(), neighbour.LastError())
	}
	late, _ := acquire(t, f, "three", key)
	if late.LastError() == nil {
		t.Error("a late subscriber does not see the error")
	}

	before := news.stateChanges()
	allowed.Store(true)
	awaitSync(t, denied)
	eventually(t, healthy(denied))
	eventually(t, func() error {
		if got := news.stateChanges() - before; got < 2 {
			return fmt.Errorf("%d announcements, want the recovery and the sync", got)
		}
		return nil
	})
}

func TestSyncIsAnnounced(t *testing.T) {
	t.Parallel()
	f := fleet.New(newFake())
	s, news := acquire(t, f, "one", key)
	awaitSync(t, s)
	if !s.HasSynced() {
		t.Error("HasSynced contradicts Synced")
	}
	eventually(t, func() error {
		if news.stateChanges() == 0 {
			return errors.New("the sync was not announced")
		}
		return nil
	})
}

func TestNothingIsToldAfterRelease(t *testing.T) {
	t.Parallel()
	client := newFake()
	f := fleet.New(client)
	stays, staysNews := acquire(t, f, "stays", key)
	awaitSync(t, stays)
	for i := range 50 {
		var released atomic.Bool
		check := func() {
			if released.Load() {
				t.Error("called after release")
			}
		}
		s, err := f.Acquire("goes", key, fleet.Handler{OnEvent: func(fleet.Event) { check() }, OnStateChange: check})
		if err != nil {
			t.Fatal(err)
		}
		create(t, client, widget(fmt.Sprintf("w-%d", i), "1"))
		release(t, s)
		released.Store(true)
	}
	eventually(t, staysNews.has("Added w-49"))
}

func TestReleaseObeysItsContext(t *testing.T) {
	t.Parallel()
	cases := map[string]bool{"the last subscriber": false, "one of two": true}
	for name, shared := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := fleet.New(newFake(widget("a", "1")))
			if shared {
				acquire(t, f, "other", key)
			}
			entered, leave := make(chan struct{}), make(chan struct{})
			s, err := f.Acquire("blocked", key, fleet.Handler{OnEvent: func(fleet.Event) {
				close(entered)
				<-leave
			}})
			if err != nil {
				t.Fatal(err)
			}
			<-entered
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			err = s.Release(ctx)
			if _, ok := errors.AsType[*fleet.ReleaseError](err); !ok || !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "blocked") {
				t.Errorf("got %v, want a ReleaseError that names the owner", err)
			}
			close(leave)
			release(t, s) // waits for the rest
		})
	}
}

func TestAcquireRefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	f := fleet.New(newFake())
	events := fleet.Handler{OnEvent: func(fleet.Event) {}}
	cases := map[string]struct {
		key     fleet.Key
		handler fleet.Handler
	}{
		"a broken selector":  {fleet.Key{GVR: widgets, LabelSelector: "("}, events},
		"no resource":        {fleet.Key{}, events},
		"nobody to be told":  {key, fleet.Handler{}},
		"only state changes": {key, fleet.Handler{OnStateChange: func() {}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := f.Acquire("one", tc.key, tc.handler); !errors.As(err, new(*fleet.KeyError)) {
				t.Errorf("got %v, want a KeyError", err)
			}
			if diff := cmp.Diff(map[fleet.Key]map[string]int{}, f.Owners()); diff != "" {
				t.Errorf("something was left behind (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCloseStopsEverything(t *testing.T) {
	t.Parallel()
	f := fleet.New(newFake(widget("a", "1")))
	one, _ := acquire(t, f, "one", key)
	acquire(t, f, "two", key)
	acquire(t, f, "three", fleet.Key{GVR: gadgets})
	awaitSync(t, one)
	closeFleet(t, f)
	closeFleet(t, f)
	if _, err := f.Acquire("late", key, fleet.Handler{OnEvent: func(fleet.Event) {}}); !errors.Is(err, fleet.ErrClosed) {
		t.Errorf("acquire: got %v, want ErrClosed", err)
	}
	release(t, one) // the order does not matter
}

func TestCloseObeysItsContext(t *testing.T) {
	t.Parallel()
	f := fleet.New(newFake(widget("a", "1")))
	entered, leave := make(chan struct{}), make(chan struct{})
	if _, err := f.Acquire("blocked", key, fleet.Handler{OnEvent: func(fleet.Event) {
		close(entered)
		<-leave
	}}); err != nil {
		t.Fatal(err)
	}
	<-entered
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.Close(ctx); !errors.As(err, new(*fleet.ReleaseError)) {
		t.Errorf("got %v, want a ReleaseError", err)
	}
	close(leave)
	closeFleet(t, f)
}

// TestComingAndGoingAtTheSameTime interleaves many owners on few keys. Each acquisition must see the object, which it
// would not if it landed on an informer that another owner was stopping.
func TestComingAndGoingAtTheSameTime(t *testing.T) {
	t.Parallel()
	client := newFake(widget("a", "1"))
	f := fleet.New(client)
	keys := []fleet.Key{key, {GVR: widgets, Namespace: "blue"}}
	var owners sync.WaitGroup
	for owner := range 8 {
		owners.Go(func() {
			for round := range 25 {
				news := &subscriber{}
				s, err := f.Acquire(fmt.Sprintf("owner-%d", owner), keys[(owner+round)%len(keys)], news.handler())
				if err != nil {
					t.Error(err)
					return
				}
				awaitEvent(t, s, news)
				release(t, s)
			}
		})
	}
	owners.Wait()
	if diff := cmp.Diff(map[fleet.Key]map[string]int{}, f.Owners(), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("owners at the end (-want +got):\n%s", diff)
	}
}

func TestKindsThatComeAndGoLeaveNothingBehind(t *testing.T) { //nolint:paralleltest // counts all goroutines
	before := goleak.IgnoreCurrent()
	f := fleet.New(newFake(widget("a", "1")))
	for round := range 200 {
		s, err := f.Acquire("one", key, (&subscriber{}).handler())
		if err != nil {
			t.Fatal(err)
		}
		if round%2 == 0 { // stop some before they have synced
			awaitSync(t, s)
		}
		release(t, s)
	}
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
}

// awaitEvent is for goroutines other than the test's, which must not call Fatal.
func awaitEvent(t *testing.T, s *fleet.Subscription, news *subscriber) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	select {
	case <-s.Synced():
		if err := news.has("Added a (initial)")(); err != nil {
			t.Error(err)
		}
	case <-ctx.Done():
		t.Errorf("no sync: %v", s.LastError())
	}
}

// countLists counts how often objects are listed, which every informer does once.
func countLists(client *dynamicfake.FakeDynamicClient) *atomic.Int64 {
	count := &atomic.Int64{}
	client.PrependReactor("list", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		count.Add(1)
		return false, nil, nil
	})
	return count
}
