package restfake

import (
	"io"
	"net/http"
	"sync"
	"time"
)

// requestBytes is the longest request body taken.
const requestBytes = 16 << 20

// Server is the scripted server. It is an http.Handler and safe for concurrent use.
type Server struct {
	now      func() time.Time
	hook     func(*Request) Fault
	noRecord bool

	stop     chan struct{}
	stopOnce sync.Once
	late     sync.WaitGroup

	mu          sync.Mutex
	closed      bool
	collections []*Collection
	objects     map[objectKey]*object
	creates     map[idempotencyKey]answeredCreate
	lastID      map[string]int64
	sequence    int64
	number      int
	requests    []*Request
	counts      map[countKey]int
	rules       []*ruleState
	observers   []func(Commit)
	duplicates  []Duplicate
	laters      []*later
	failures    []Failure
	operations  int
}

// Option changes a Server.
type Option func(*Server)

// WithFaults asks a hook about every request that no rule hits. The zero Fault is no fault. The hook may call the Server.
func WithFaults(hook func(*Request) Fault) Option { return func(s *Server) { s.hook = hook } }

// WithClock replaces the clock of records and of hidden changes; delays are real.
func WithClock(now func() time.Time) Option { return func(s *Server) { s.now = now } }

// WithoutRecord keeps counters only, for benchmarks of many requests.
func WithoutRecord() Option { return func(s *Server) { s.noRecord = true } }

// New makes a server. Close it, so that nothing hangs or commits later.
func New(collections []Collection, options ...Option) *Server {
	s := &Server{
		now: time.Now, hook: func(*Request) Fault { return Fault{} }, stop: make(chan struct{}),
		objects: map[objectKey]*object{}, creates: map[idempotencyKey]answeredCreate{}, lastID: map[string]int64{}, counts: map[countKey]int{},
	}
	for _, c := range collections {
		s.collections = append(s.collections, withDefaults(c))
	}
	for _, option := range options {
		option(s)
	}
	return s
}

// Close lets go of every request that hangs, gives up late commits, and waits for them.
func (s *Server) Close() {
	s.stopOnce.Do(func() {
		s.mu.Lock()
		s.closed = true
		s.mu.Unlock()
		close(s.stop)
	})
	s.late.Wait()
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, requestBytes))
	if err != nil {
		// The client went away while sending: nothing arrived.
		return
	}
	request, fault, hit := s.arrive(r, body)
	if !hit {
		fault = s.hook(request)
	}
	if !s.pause(r, fault.Delay) {
		// Returning would make net/http send an empty 200.
		panic(http.ErrAbortHandler)
	}
	usual := s.commit(request, fault)
	s.answer(w, r, request, fault, usual)
}

// commit lets the request take effect as the fault says, and gives the usual answer to it.
func (s *Server) commit(request *Request, fault Fault) reply {
	switch fault.Commit {
	case CommitNever:
		return reply{status: http.StatusServiceUnavailable}
	case CommitLater:
		s.commitLater(request, fault)
		return reply{status: http.StatusAccepted}
	default:
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.apply(request, fault.HiddenFor)
	}
}

// commitLater goes on when the client is long gone; Close ends and waits for it.
func (s *Server) commitLater(request *Request, fault Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.late.Go(func() {
		timer := time.NewTimer(fault.CommitAfter)
		defer timer.Stop()
		select {
		case <-s.stop:
		case <-timer.C:
			s.mu.Lock()
			defer s.mu.Unlock()
			s.apply(request, fault.HiddenFor)
		}
	})
}

// pause waits, and reports false when the client or the server is gone first.
func (s *Server) pause(r *http.Request, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
		return false
	case <-s.stop:
		return false
	}
}

// find gives the collection that serves a path, whether it is an item's, and the variables.
func (s *Server) find(path string) (*Collection, bool, map[string]string) {
	for _, c := range s.collections {
		if vars, ok := match(c.Path, path); ok {
			return c, false, vars
		}
	}
	for _, c := range s.collections {
		if vars, ok := match(c.ItemPath, path); ok {
			return c, true, vars
		}
	}
	return nil, false, nil
}
