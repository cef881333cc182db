package fleet_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/restmapping/operator/pkg/engine/fleet"
)

// moment is how long a test gives something that must not happen. A test never fails because it is too short.
const moment = 300 * time.Millisecond

func TestReleaseWaitsForARequestThatClientGoLeavesBehind(t *testing.T) {
	t.Parallel()
	client := newFake()
	entered, leave := make(chan struct{}), make(chan struct{})
	client.PrependReactor("list", "widgets", func(clienttesting.Action) (bool, runtime.Object, error) {
		close(entered)
		<-leave
		return false, nil, nil
	})
	s, err := fleet.New(client).Acquire("one", key, (&subscriber{}).handler())
	if err != nil {
		t.Fatal(err)
	}
	<-entered
	ctx, cancel := context.WithTimeout(t.Context(), moment)
	defer cancel()
	if err := s.Release(ctx); !errors.As(err, new(*fleet.ReleaseError)) {
		t.Errorf("got %v, want a ReleaseError: a request of the watch is still under way", err)
	}
	close(leave)
	release(t, s)
}

func TestReleaseWaitsForAnAnnouncementUnderWay(t *testing.T) {
	t.Parallel()
	f := fleet.New(newFake())
	acquire(t, f, "other", key) // so that the informer goes on
	entered, leave := make(chan struct{}), make(chan struct{})
	s, err := f.Acquire("one", key, fleet.Handler{OnEvent: func(fleet.Event) {}, OnStateChange: func() {
		close(entered)
		<-leave
	}})
	if err != nil {
		t.Fatal(err)
	}
	<-entered
	released := make(chan struct{})
	go func() {
		defer close(released)
		release(t, s)
	}()
	select {
	case <-released:
		t.Error("released while OnStateChange was running")
	case <-time.After(moment):
	}
	close(leave)
	<-released
}
