package pass_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/lifecycle"
	"github.com/restmapping/operator/pkg/rest"
)

// stubborn makes the server accept updates, and keep what it has.
func (b *bench) stubborn() {
	b.server.instead = func(req rest.Request) *rest.Exchange {
		if req.Operation != rest.Update {
			return nil
		}
		return &rest.Exchange{Response: &rest.Response{Status: http.StatusOK}}
	}
}

// become changes a field outside.
func (b *bench) become(name, field string, value any) {
	b.Helper()
	if err := b.server.Change("/things/"+name, func(fields map[string]any) { fields[field] = value }); err != nil {
		b.Fatal(err)
	}
}

// updatesWithin lets time pass, with the looks that the operator asks for, and counts updates.
func (b *bench) updatesWithin(name string, d time.Duration) (updates int) {
	b.Helper()
	backoff := time.Second
	for end := b.clock.Now().Add(d); b.clock.Now().Before(end); {
		result := b.look(name)
		for _, line := range b.journal.take() {
			if strings.HasPrefix(line, http.MethodPut+" ") {
				updates++
			}
		}
		switch {
		case result.Err != nil:
			b.advance(backoff)
			backoff = min(2*backoff, 5*time.Minute)
		case result.After > 0:
			b.advance(result.After)
			backoff = time.Second
		default:
			b.Fatal("nothing brings it back")
		}
	}
	return updates
}

// An update that the server takes without effect is not sent over and over: a person is asked, and the pauses grow.
func TestAnUpdateWithoutEffectIsNotSentOverAndOver(t *testing.T) {
	t.Parallel()
	b := newBench(t, upsertMapping, upsertThings())
	b.settled("one", "{size: 3}")
	b.advance(time.Hour)
	b.stubborn()
	b.setSpec("one", "size", int64(4))
	if updates := b.updatesWithin("one", 2*time.Minute); updates != 3 {
		b.Errorf("%d updates in the first two minutes, want 3", updates)
	}
	b.wantConditions("one", "Ready False UpdateIneffective", "Synced False UpdateIneffective", "Stalled True UpdateIneffective")
	b.wantMessage("one", v1alpha1.ConditionReady, "accepts the update", "size (found 3, wanted 4)")
	if updates := b.updatesWithin("one", 24*time.Hour); updates < 10 || updates > 30 {
		b.Errorf("%d updates in a day, want a few", updates)
	}
	b.wantConditions("one", "Ready False UpdateIneffective", "Synced False UpdateIneffective", "Stalled True UpdateIneffective")
}

// What the server shows in place of what it was sent may be another value each time.
func TestAServerThatReformatsAnewIsNoReasonToGoOn(t *testing.T) {
	t.Parallel()
	b := newBench(t, upsertMapping, upsertThings())
	b.settled("one", "{size: 3, color: red}")
	b.advance(time.Hour)
	b.setSpec("one", "color", "blue")
	b.server.instead = func(req rest.Request) *rest.Exchange {
		switch req.Operation {
		case rest.Update:
			return &rest.Exchange{Response: &rest.Response{Status: http.StatusOK}}
		case rest.Read:
			body := map[string]any{"id": "one", "size": int64(3), "color": "blue at " + b.clock.Now().String()}
			return &rest.Exchange{Response: &rest.Response{Status: http.StatusOK, Body: body}}
		default:
			return nil
		}
	}
	if updates := b.updatesWithin("one", 5*time.Minute); updates != 3 {
		b.Errorf("%d updates, want 3", updates)
	}
}

// A server that shows the update late is found as specified soon, and without a further update.
func TestAServerThatTakesItsTimeIsWaitedFor(t *testing.T) {
	t.Parallel()
	b := newBench(t, upsertMapping, upsertThings())
	b.settled("one", "{size: 3}")
	b.advance(time.Hour)
	b.stubborn()
	b.setSpec("one", "size", int64(4))
	b.updatesWithin("one", time.Minute)
	b.server.instead = func(rest.Request) *rest.Exchange { return nil }
	b.become("one", "size", int64(4))
	b.events.take()
	if updates := b.updatesWithin("one", time.Minute); updates != 0 {
		b.Errorf("%d updates, want none", updates)
	}
	b.wantCondition("one", v1alpha1.ConditionReady, "True Available")
	b.wantEvents("Normal Recovered: no longer stalled")
}

// An edit is something new, and so is a difference in another field: both are sent at once.
func TestAfterAnUpdateWithoutEffectAnotherOneIsSentAtOnce(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(b *bench){
		"an edit":       func(b *bench) { b.setSpec("one", "size", int64(5)) },
		"a wish for it": func(b *bench) { b.annotate("one", v1alpha1.ForceUpdateAnnotation, "now") },
		"another field": func(b *bench) { b.become("one", "color", "green") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, upsertMapping, upsertThings())
			b.settled("one", "{size: 3, color: red}")
			b.advance(time.Hour)
			b.stubborn()
			b.setSpec("one", "size", int64(4))
			b.updatesWithin("one", 7*time.Minute)
			change(b)
			if updates := b.updatesWithin("one", time.Second); updates != 1 {
				b.Errorf("%d updates, want one", updates)
			}
		})
	}
}

func TestTheRestBetweenUpdatesWithoutEffectGrows(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		fruitless int
		interval  time.Duration
		want      time.Duration
	}{
		{1, 10 * time.Minute, 0},
		{2, 10 * time.Minute, 0},
		{3, 10 * time.Minute, 10 * time.Minute},
		{4, 10 * time.Minute, 20 * time.Minute},
		{6, 10 * time.Minute, time.Hour},
		{1000000, time.Second, time.Hour},
		{9, 3 * time.Hour, 3 * time.Hour},
	} {
		if got := lifecycle.Rest(tc.fruitless, tc.interval); got != tc.want {
			t.Errorf("Rest(%d, %v) = %v, want %v", tc.fruitless, tc.interval, got, tc.want)
		}
	}
}
