package engine

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/restmapping/operator/pkg/engine/pass"
	"github.com/restmapping/operator/pkg/engine/queue"
)

// Reconcile has custom resources of a mapping looked at now, and gives how the passes ended: of those that did before ctx
// was over. The others are looked at nevertheless. ok is false when the mapping does not run.
func (e *Engine) Reconcile(ctx context.Context, name string, keys []types.NamespacedName) (ended map[types.NamespacedName]pass.Summary, ok bool) {
	r := e.runner(name)
	if r == nil {
		return nil, false
	}
	since := r.cfg.Clock.Now()
	asked := make(map[types.NamespacedName]*request, len(keys))
	for _, key := range keys {
		asked[key] = r.requests.add(key, since)
	}
	r.workers.Add(queue.Options{}, keys...)
	return r.requests.collect(ctx, asked), true
}

// requests are the people and scripts that wait for the end of passes over custom resources of one mapping.
type requests struct {
	mu      sync.Mutex // guards waiting
	waiting map[types.NamespacedName][]*request
}

// request wants a pass that began at since or later: one that was under way before may have looked already.
type request struct {
	since time.Time
	ended chan pass.Summary // with room for the one that it gets
}

func (r *requests) add(key types.NamespacedName, since time.Time) *request {
	q := &request{since: since, ended: make(chan pass.Summary, 1)}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiting == nil {
		r.waiting = map[types.NamespacedName][]*request{}
	}
	r.waiting[key] = append(r.waiting[key], q)
	return q
}

// answer tells those who wait for this pass.
func (r *requests) answer(s pass.Summary) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(s.Key, func(q *request) bool {
		if !s.Gone && s.Started.Before(q.since) {
			return false
		}
		q.ended <- s
		return true
	})
}

// collect waits for each request until ctx is over.
func (r *requests) collect(ctx context.Context, asked map[types.NamespacedName]*request) map[types.NamespacedName]pass.Summary {
	ended := make(map[types.NamespacedName]pass.Summary, len(asked))
	for key, q := range asked {
		select {
		case s := <-q.ended:
			ended[key] = s
		case <-ctx.Done():
			r.forget(key, q)
		}
	}
	return ended
}

func (r *requests) forget(key types.NamespacedName, gone *request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(key, func(q *request) bool { return q == gone })
}

// drop lets go of the requests that are over. The caller holds the lock.
func (r *requests) drop(key types.NamespacedName, over func(*request) bool) {
	left := slices.DeleteFunc(r.waiting[key], over)
	if len(left) == 0 {
		delete(r.waiting, key)
		return
	}
	r.waiting[key] = left
}
