package fleet

import "sync"

// health remembers whether a watch works. The zero value is healthy.
type health struct {
	mu       sync.Mutex
	err      *WatchError
	onChange func() // called without the lock; says "look again"
}

// fail records why the watch does not work. The same reason again is no news.
func (h *health) fail(err *WatchError) {
	h.mu.Lock()
	changed := h.err == nil || h.err.Error() != err.Error()
	h.err = err
	h.mu.Unlock()
	if changed {
		h.onChange()
	}
}

// recovered takes back the last error, because the watch works.
func (h *health) recovered() {
	h.mu.Lock()
	changed := h.err != nil
	h.err = nil
	h.mu.Unlock()
	if changed {
		h.onChange()
	}
}

// last returns the present error, or nil when the watch works or has not been tried yet.
func (h *health) last() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err == nil {
		return nil // not a nil *WatchError, which would not be a nil error
	}
	return h.err
}
