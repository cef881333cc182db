package fleet

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
)

// scripted is a resource client that answers a watch as told.
type scripted struct {
	dynamic.ResourceInterface
	stream   watch.Interface
	err      error
	selector string
}

func (s *scripted) Watch(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
	s.selector = options.LabelSelector
	return s.stream, s.err
}

func (s *scripted) List(_ context.Context, options metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	s.selector = options.LabelSelector
	return &unstructured.UnstructuredList{}, s.err
}

func newSource(client dynamic.ResourceInterface, onChange func()) *source {
	return &source{key: widgetKey, client: client, health: &health{onChange: onChange}, calls: newInflight()}
}

var (
	forbidden  = apierrors.NewForbidden(widgetKey.GVR.GroupResource(), "", errors.New("no"))
	errRefused = fmt.Errorf("dial: %w", syscall.ECONNREFUSED)
	errTooMany = apierrors.NewTooManyRequests("later", 1)
	expired    = apierrors.NewResourceExpired("old")
	gone       = apierrors.NewGenericServerResponse(410, "watch", widgetKey.GVR.GroupResource(), "", "", 0, true)
)

func TestWhatAFailedWatchMeans(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		err      error
		streamed bool
		want     error // what client-go gets
		recorded bool
	}{
		"a plain watch is forbidden":                                 {forbidden, false, forbidden, true},
		"a plain watch is refused; client-go retries it silently":    {errRefused, false, errRefused, true},
		"a plain watch is throttled; client-go retries it silently":  {errTooMany, false, errTooMany, true},
		"a version expired, which is normal":                         {expired, false, expired, false},
		"a version is gone, which is normal":                         {gone, false, gone, false},
		"a streamed list is forbidden; the plain list gives verdict": {forbidden, true, forbidden, false},
		"a streamed list is refused; the pause must be stoppable":    {errRefused, true, errStreamRefused, false},
		"a streamed list is throttled; the pause must be stoppable":  {errTooMany, true, errStreamRefused, false},
		"a streamed list expired; client-go must see it to begin anew": {
			expired, true, expired, false,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			changes := 0
			s := newSource(&scripted{err: tc.err}, func() { changes++ })
			options := metav1.ListOptions{}
			if tc.streamed {
				options.SendInitialEvents = new(true)
			}
			_, err := s.watch(t.Context(), options)
			if !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
			if errors.Is(tc.want, errStreamRefused) && (apierrors.IsTooManyRequests(err) || errors.Is(err, syscall.ECONNREFUSED)) {
				t.Error("client-go can still see the cause")
			}
			if got := s.health.last() != nil; got != tc.recorded || got != (changes == 1) {
				t.Errorf("recorded: %v (%d announcements), want %v", s.health.last(), changes, tc.recorded)
			}
		})
	}
}

func TestAnErrorFromStoppingIsNoError(t *testing.T) {
	t.Parallel()
	s := newSource(&scripted{err: context.Canceled}, func() { t.Error("announced") })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.watch(ctx, metav1.ListOptions{}); err == nil {
		t.Error("want the error handed on")
	}
	if err := s.health.last(); err != nil {
		t.Errorf("recorded %v", err)
	}
}

func TestAPlainWatchTakesTheErrorBack(t *testing.T) {
	t.Parallel()
	s := newSource(&scripted{stream: watch.NewFake()}, func() {})
	s.health.fail(newWatchError(widgetKey, forbidden))
	if _, err := s.watch(t.Context(), metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := s.health.last(); err != nil {
		t.Errorf("still recorded: %v", err)
	}
}

func TestAListDoesNotTakeTheErrorBack(t *testing.T) {
	t.Parallel()
	// Otherwise a kind that may be listed but not watched would alternate between healthy and not.
	s := newSource(&scripted{}, func() {})
	s.health.fail(newWatchError(widgetKey, forbidden))
	if _, err := s.list(t.Context(), metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	if s.health.last() == nil {
		t.Error("the error was taken back although nothing is watched")
	}
}

func TestAStreamedListTakesTheErrorBackAtItsEnd(t *testing.T) {
	t.Parallel()
	upstream := watch.NewFake()
	s := newSource(&scripted{stream: upstream}, func() {})
	s.health.fail(newWatchError(widgetKey, forbidden))
	stream, err := s.watch(t.Context(), metav1.ListOptions{SendInitialEvents: new(true)})
	if err != nil {
		t.Fatal(err)
	}
	item := widgetWith(nil)
	progress := widgetWith(nil)
	end := widgetWith(map[string]any{"annotations": map[string]any{metav1.InitialEventsAnnotationKey: "true"}})
	for _, step := range []struct {
		event   watch.Event
		healthy bool
	}{
		{watch.Event{Type: watch.Added, Object: item}, false},
		{watch.Event{Type: watch.Bookmark, Object: progress}, false},
		{watch.Event{Type: watch.Added, Object: end}, false}, // an object may carry any annotation
		{watch.Event{Type: watch.Bookmark, Object: end}, true},
		{watch.Event{Type: watch.Modified, Object: item}, true},
	} {
		upstream.Action(step.event.Type, step.event.Object)
		if diff := cmp.Diff(step.event, <-stream.ResultChan()); diff != "" {
			t.Errorf("event (-want +got):\n%s", diff)
		}
		if got := s.health.last() == nil; got != step.healthy {
			t.Errorf("after %s: healthy %v, want %v", step.event.Type, got, step.healthy)
		}
	}
	stream.Stop()
	stream.Stop()
	s.calls.closeAndWait() // hangs if the relay does not end
}

func TestARelayEndsAlthoughNobodyReads(t *testing.T) {
	t.Parallel()
	upstream := watch.NewFakeWithChanSize(1, false)
	upstream.Add(widgetWith(nil))
	r := newRelay(upstream)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.run(func() {})
	}()
	r.Stop()
	<-ended
	if !upstream.IsStopped() {
		t.Error("the stream of the API server was not closed")
	}
}

func TestARelayEndsWithItsStream(t *testing.T) {
	t.Parallel()
	upstream := watch.NewFake()
	r := newRelay(upstream)
	go r.run(func() {})
	upstream.Stop()
	if event, open := <-r.ResultChan(); open {
		t.Errorf("got %v, want the channel closed: the informer must notice that the watch ended", event)
	}
}

func TestNothingIsCalledOnceTheWatchStops(t *testing.T) {
	t.Parallel()
	upstream := watch.NewFake()
	client := &scripted{stream: upstream}
	s := newSource(client, func() {})
	s.calls.closeAndWait()
	if _, err := s.list(t.Context(), metav1.ListOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("list: got %v, want context.Canceled", err)
	}
	if _, err := s.watch(t.Context(), metav1.ListOptions{SendInitialEvents: new(true)}); !errors.Is(err, context.Canceled) {
		t.Errorf("watch: got %v, want context.Canceled", err)
	}
	if !upstream.IsStopped() {
		t.Error("the stream stays open")
	}
}

func TestTheSelectorIsSentEveryTime(t *testing.T) {
	t.Parallel()
	client := &scripted{stream: watch.NewFake()}
	s := newSource(client, func() {})
	s.key.LabelSelector = "color=blue"
	calls := map[string]func() error{
		"list":  func() error { _, err := s.list(t.Context(), metav1.ListOptions{}); return err },
		"watch": func() error { _, err := s.watch(t.Context(), metav1.ListOptions{}); return err },
	}
	for name, call := range calls {
		client.selector = ""
		if err := call(); err != nil {
			t.Fatal(err)
		}
		if client.selector != "color=blue" {
			t.Errorf("%s: selector %q was sent", name, client.selector)
		}
	}
}

func TestHealthAnnouncesNewsOnly(t *testing.T) {
	t.Parallel()
	changes := 0
	h := &health{onChange: func() { changes++ }}
	steps := []struct {
		what string
		do   func()
		want int
	}{
		{"working from the start", h.recovered, 0},
		{"failing", func() { h.fail(newWatchError(widgetKey, forbidden)) }, 1},
		{"failing again for the same reason", func() { h.fail(newWatchError(widgetKey, forbidden)) }, 1},
		{"failing for another reason", func() { h.fail(newWatchError(widgetKey, errTooMany)) }, 2},
		{"working", h.recovered, 3},
		{"working on", h.recovered, 3},
	}
	for _, step := range steps {
		step.do()
		if changes != step.want {
			t.Errorf("%s: %d announcements, want %d", step.what, changes, step.want)
		}
	}
	if err := h.last(); err != nil {
		t.Errorf("got %v, want nil", err)
	}
}

func TestInflightWaitsForWhatHasBegun(t *testing.T) {
	t.Parallel()
	i := newInflight()
	for range 2 {
		if !i.begin() {
			t.Fatal("nothing may begin")
		}
	}
	waited := make(chan struct{})
	go func() {
		defer close(waited)
		i.closeAndWait()
	}()
	for i.begin() { // until the other goroutine has closed it
		i.end()
	}
	i.end()
	select {
	case <-waited:
		t.Fatal("it did not wait for the second")
	default:
	}
	i.end()
	<-waited
	i.closeAndWait() // a second time
}
