package endpoints

import (
	"context"
	"net/http"
	"sync"

	"github.com/restmapping/operator/pkg/httpapi"
	"github.com/restmapping/operator/pkg/rest"
)

// sharedClient sends requests to one endpoint. It is shared and safe for concurrent use, and goes on working for whoever
// still holds it after it was replaced.
type sharedClient struct {
	inner *httpapi.Client
	// drained runs once, when the client is retired and its last request has ended.
	drained func(*sharedClient)
	// refused, if set, is told that the server did not take the credential.
	refused func()

	mu       sync.Mutex
	inFlight int
	retired  bool
}

// Do sends one request once. See httpapi.Client.Do.
func (c *sharedClient) Do(ctx context.Context, request rest.Request) rest.Exchange {
	c.enter()
	defer c.leave()
	exchange := c.inner.Do(ctx, request)
	if c.refused != nil && exchange.Response != nil && exchange.Response.Status == http.StatusUnauthorized {
		c.refused()
	}
	return exchange
}

// ready fetches what requests carry, if that is made elsewhere.
func (c *sharedClient) ready(ctx context.Context) error {
	c.enter()
	defer c.leave()
	return c.inner.Ready(ctx)
}

func (c *sharedClient) enter() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inFlight++
}

func (c *sharedClient) leave() {
	c.mu.Lock()
	c.inFlight--
	end := c.retired && c.inFlight == 0
	c.mu.Unlock()
	if end {
		c.end()
	}
}

// retire closes the client now, or after its last request.
func (c *sharedClient) retire() {
	c.mu.Lock()
	c.retired = true
	end := c.inFlight == 0
	c.mu.Unlock()
	if end {
		c.end()
	}
}

// end may run more than once, when somebody who still holds a retired client sends another request: its idle
// connection is to be closed then, too.
func (c *sharedClient) end() {
	c.inner.Close()
	c.drained(c)
}
