package pass

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine/fleet"
	"github.com/restmapping/operator/pkg/rest"
)

// maxReads bounds the answers that a plan keeps. More are asked for again.
const maxReads = 64

// reads keeps what a plan was answered, so that a list is read once for all custom resources, and an object once for both
// programs.
type reads struct {
	mu    sync.Mutex // guards known; never held during a request
	known map[[sha256.Size]byte]*oneRead
}

type oneRead struct {
	done     chan struct{} // closed when exchange is there
	exchange rest.Exchange
}

func newReads() *reads { return &reads{known: map[[sha256.Size]byte]*oneRead{}} }

// do sends a request, unless the same was sent before.
func (r *reads) do(ctx context.Context, to Endpoint, req rest.Request) rest.Exchange {
	one, first := r.find(to.Identity(), req)
	switch {
	case one == nil:
		return to.Do(ctx, req)
	case first:
		defer close(one.done)
		one.exchange = to.Do(ctx, req)
		return one.exchange
	}
	select {
	case <-one.done:
		return one.exchange
	case <-ctx.Done():
		return rest.Exchange{Failure: &rest.Failure{Kind: rest.NotSent, Message: req.Method + " " + req.Route + ": " + ctx.Err().Error(), Err: ctx.Err()}}
	}
}

// find gives the place of an answer, nil when there is no room for it. first tells that it is for the caller to fill.
func (r *reads) find(server string, req rest.Request) (one *oneRead, first bool) {
	text, err := json.Marshal(struct {
		Server  string
		Request rest.Request
	}{server, req})
	if err != nil {
		return nil, false // a request is plain data; it cannot fail
	}
	key := sha256.Sum256(text)
	r.mu.Lock()
	defer r.mu.Unlock()
	if known, ok := r.known[key]; ok {
		return known, false
	}
	if len(r.known) >= maxReads {
		return nil, false
	}
	one = &oneRead{done: make(chan struct{})}
	r.known[key] = one
	return one, true
}

// planEndpoints give endpoints to which nothing can be sent that changes anything.
type planEndpoints struct {
	Endpoints
	lists, items *reads
}

// Resolve implements Endpoints.
func (e planEndpoints) Resolve(ctx context.Context, kind v1alpha1.EndpointKind, namespace, name string) (Endpoint, error) {
	found, err := e.Endpoints.Resolve(ctx, kind, namespace, name)
	if err != nil {
		return nil, err
	}
	return planEndpoint{found, e.lists, e.items}, nil
}

type planEndpoint struct {
	Endpoint
	lists, items *reads
}

// Do implements Server.
func (e planEndpoint) Do(ctx context.Context, req rest.Request) rest.Exchange {
	switch req.Operation {
	case rest.Read:
		return e.items.do(ctx, e.Endpoint, req)
	case rest.List:
		return e.lists.do(ctx, e.Endpoint, req)
	default:
		return rest.Exchange{Failure: &rest.Failure{Kind: rest.NotSent, Message: req.Method + " " + req.Route + ": a plan sends nothing that may change anything"}}
	}
}

// planWriter writes nothing, and goes on as if it had.
type planWriter struct{ object *fleet.Object }

// PatchMetadata implements Writer.
func (w planWriter) PatchMetadata(context.Context, types.NamespacedName, map[string]any) (*fleet.Object, error) {
	return w.object, nil
}

// SwapAnnotation implements Writer.
func (w planWriter) SwapAnnotation(context.Context, types.NamespacedName, types.UID, string, string, string) (*fleet.Object, error) {
	return w.object, nil
}

// PatchStatus implements Writer.
func (w planWriter) PatchStatus(context.Context, types.NamespacedName, map[string]any) (*fleet.Object, error) {
	return w.object, nil
}

type noEvents struct{}

// Normal implements Events.
func (noEvents) Normal(*fleet.Object, string, string, string) {}

// Warning implements Events.
func (noEvents) Warning(*fleet.Object, string, string, string) {}
