package flight

import (
	"context"
	"errors"
	"sync"
	"time"
)

// ErrClosed is what Do gives after Close.
var ErrClosed = errors.New("it was stopped because the operator is shutting down")

// Group shares work by key. The zero value is ready for use.
type Group[T any] struct {
	mu     sync.Mutex
	calls  map[string]*call[T]
	closed bool
	work   sync.WaitGroup
}

type call[T any] struct {
	done   chan struct{}
	cancel context.CancelFunc
	value  T
	err    error
}

// Do gives the result of work, started now or already under way for the same key. A caller whose context ends stops
// waiting; the work goes on for the others, no longer than limit.
func (g *Group[T]) Do(ctx context.Context, key string, limit time.Duration, work func(context.Context) (T, error)) (T, error) {
	var zero T
	c, err := g.join(ctx, key, limit, work)
	if err != nil {
		return zero, err
	}
	select {
	case <-c.done:
		return c.value, c.err
	case <-ctx.Done():
		return zero, context.Cause(ctx)
	}
}

// Close cancels the work under way, waits for it and refuses any more.
func (g *Group[T]) Close() {
	g.mu.Lock()
	g.closed = true
	for _, c := range g.calls {
		c.cancel()
	}
	g.mu.Unlock()
	g.work.Wait()
}

func (g *Group[T]) join(ctx context.Context, key string, limit time.Duration, work func(context.Context) (T, error)) (*call[T], error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, ErrClosed
	}
	if c, ok := g.calls[key]; ok {
		return c, nil
	}
	// Values of the first caller's context (logger, trace) go with the work, its cancellation does not.
	workCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit) //nolint:gosec // run cancels it when the work ends
	c := &call[T]{done: make(chan struct{}), cancel: cancel}
	if g.calls == nil {
		g.calls = map[string]*call[T]{}
	}
	g.calls[key] = c
	g.work.Go(func() { g.run(workCtx, key, c, work) })
	return c, nil
}

func (g *Group[T]) run(ctx context.Context, key string, c *call[T], work func(context.Context) (T, error)) {
	defer c.cancel()
	c.value, c.err = work(ctx)
	g.mu.Lock()
	delete(g.calls, key)
	g.mu.Unlock()
	close(c.done)
}
