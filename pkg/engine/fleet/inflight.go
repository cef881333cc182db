package fleet

import "sync"

// inflight counts the goroutines that client-go starts on our behalf and does not wait for. A sync.WaitGroup cannot do
// this: a new one may begin while somebody already waits.
type inflight struct {
	mu     sync.Mutex
	count  int
	closed bool
	idle   chan struct{} // closed when closed is set and count is zero
}

func newInflight() *inflight { return &inflight{idle: make(chan struct{})} }

// begin reports whether the work may start. If so, end must be called once it is done.
func (i *inflight) begin() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed {
		return false
	}
	i.count++
	return true
}

func (i *inflight) end() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.count--
	i.closeIdle()
}

// closeAndWait lets nothing new begin and returns when all that had begun has ended. The caller must have told them to
// end: it does not do so itself.
func (i *inflight) closeAndWait() {
	i.mu.Lock()
	if !i.closed {
		i.closed = true
		i.closeIdle()
	}
	i.mu.Unlock()
	<-i.idle
}

// closeIdle is called with the lock held.
func (i *inflight) closeIdle() {
	if i.closed && i.count == 0 {
		close(i.idle)
	}
}
