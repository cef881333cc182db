package endpoints

import (
	"context"
	"fmt"
	"maps"
	"slices"
)

// Close refuses new callers, cancels probes, and waits for the requests in flight and closes their connections. When
// ctx ends first, it says how many clients still have requests; those close after their last one.
func (r *Registry) Close(ctx context.Context) error {
	for _, unsubscribe := range r.unsubscribe {
		unsubscribe()
	}
	r.mu.Lock()
	r.closed = true
	entries := slices.Collect(maps.Values(r.entries))
	clear(r.entries)
	r.mu.Unlock()
	r.builds.Close()
	r.probes.Close()
	for _, e := range entries {
		if e.shared != nil {
			e.shared.client.retire()
		}
	}
	return r.wait(ctx)
}

func (r *Registry) wait(ctx context.Context) error {
	for {
		r.mu.Lock()
		left, changed := len(r.draining), r.changed
		r.mu.Unlock()
		if left == 0 {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("close endpoints: %d still have requests in flight: %w", left, context.Cause(ctx))
		}
	}
}

// drained runs when the last request of a retired client has ended.
func (r *Registry) drained(c *sharedClient) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.draining[c]; !ok {
		return
	}
	delete(r.draining, c)
	close(r.changed)
	r.changed = make(chan struct{})
}
