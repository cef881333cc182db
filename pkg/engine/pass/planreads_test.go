package pass

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/restmapping/operator/pkg/rest"
)

// counting is an endpoint that counts what it is sent.
type counting struct {
	Endpoint
	sent atomic.Int64
}

// Do implements Server.
func (c *counting) Do(context.Context, rest.Request) rest.Exchange {
	c.sent.Add(1)
	return rest.Exchange{Response: &rest.Response{Status: 200}}
}

// Identity implements Endpoint.
func (c *counting) Identity() string { return "server" }

// Whatever a plan may come to ask for, nothing but a read or a list gets through.
func TestAPlanCanOnlyRead(t *testing.T) {
	t.Parallel()
	server := &counting{}
	guarded := planEndpoint{server, newReads(), newReads()}
	for _, operation := range []rest.Operation{rest.Create, rest.Update, rest.Delete, rest.Poll, rest.Probe, "Other"} {
		if x := guarded.Do(t.Context(), rest.Request{Operation: operation, Method: "GET", Route: "/things"}); x.Failure == nil || x.Failure.Kind != rest.NotSent {
			t.Errorf("%s: %+v", operation, x)
		}
	}
	if n := server.sent.Load(); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

func TestTheSameIsReadOnce(t *testing.T) {
	t.Parallel()
	server := &counting{}
	guarded := planEndpoint{server, newReads(), newReads()}
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			for _, operation := range []rest.Operation{rest.Read, rest.List} {
				if x := guarded.Do(t.Context(), rest.Request{Operation: operation, Path: "/things"}); x.Response == nil {
					t.Errorf("%+v", x)
				}
			}
		})
	}
	wg.Wait()
	if n := server.sent.Load(); n != 2 {
		t.Errorf("%d requests were sent", n)
	}
	guarded.Do(t.Context(), rest.Request{Operation: rest.Read, Path: "/other"})
	if n := server.sent.Load(); n != 3 {
		t.Errorf("another request was not sent: %d", n)
	}
}

// What does not fit is asked for again: memory stays bounded.
func TestAnswersAreNotKeptWithoutEnd(t *testing.T) {
	t.Parallel()
	server, kept := &counting{}, newReads()
	for i := range 3 * maxReads {
		kept.do(t.Context(), server, rest.Request{Operation: rest.Read, Path: string(rune('a' + i))})
	}
	if len(kept.known) > maxReads {
		t.Errorf("%d answers are kept", len(kept.known))
	}
}

func TestWhoWaitsForAnAnswerGoesWithItsContext(t *testing.T) {
	t.Parallel()
	kept := newReads()
	request := rest.Request{Operation: rest.Read, Path: "/slow"}
	kept.find("server", request) // somebody is at it
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if x := kept.do(ctx, &counting{}, request); x.Failure == nil {
		t.Errorf("%+v", x)
	}
}
