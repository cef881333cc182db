package restfake

import (
	"net/http"
	"net/url"
	"slices"
	"time"
)

// Request is one request as it arrived, and what became of it.
type Request struct {
	// Number counts from 1 over the life of the server.
	Number int
	Method string
	Host   string
	// Path is percent-encoded as it came.
	Path   string
	Query  url.Values
	Header http.Header
	Body   []byte
	Time   time.Time
	// Route is the pattern of the collection that serves the path; empty when none does.
	Route string
	// Status is what was answered; zero while there is no answer, and for ever when the connection was dropped.
	Status int
	// Committed tells that the request changed something.
	Committed bool
}

// Requests gives all requests so far, in order of arrival.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]Request, 0, len(s.requests))
	for _, r := range s.requests {
		list = append(list, *r)
	}
	return list
}

// Forget drops the recorded requests and counters; objects and rules stay. Long benchmarks call it.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = nil
	clear(s.counts)
}

// Count is how many requests of a method arrived at a route, such as ("POST", "/things"). An empty method or route is any.
func (s *Server) Count(method, route string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	total := 0
	for key, n := range s.counts {
		if (method == "" || key.method == method) && (route == "" || key.route == route) {
			total += n
		}
	}
	return total
}

// Counts gives all counters under "METHOD route".
func (s *Server) Counts() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := make(map[string]int, len(s.counts))
	for key, n := range s.counts {
		counts[key.method+" "+key.route] = n
	}
	return counts
}

type countKey struct{ method, route string }

// arrive records a request and picks its fault from the rules; the first rule that hits wins.
func (s *Server) arrive(r *http.Request, body []byte) (*Request, Fault, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.number++
	request := &Request{
		Number: s.number, Method: r.Method, Host: r.Host, Path: r.URL.EscapedPath(), Query: r.URL.Query(),
		Header: r.Header.Clone(), Body: body, Time: s.now(),
	}
	request.Route = s.route(request.Path)
	if !s.noRecord {
		s.requests = append(s.requests, request)
	}
	s.counts[countKey{request.Method, request.Route}]++
	for _, rule := range s.rules {
		if rule.hit(request) {
			return request, rule.Fault, true
		}
	}
	return request, Fault{}, false
}

func (s *Server) route(path string) string {
	if c, item, _ := s.find(path); c != nil && item {
		return c.ItemPath
	} else if c != nil {
		return c.Path
	}
	return ""
}

// answered notes the status before it is written, so that a client that has the answer finds it in the record.
func (s *Server) answered(request *Request, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	request.Status = status
}

// AddRule puts a fault on requests to come. Rules are tried in the order they were added, before the hook.
func (s *Server) AddRule(rule Rule) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = append(s.rules, &ruleState{Rule: rule})
}

// ClearRules takes all rules away.
func (s *Server) ClearRules() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = nil
}

// Duplicates lists every time that a second live object with the same DuplicateKey was committed, also when one of them
// is gone by now.
func (s *Server) Duplicates() []Duplicate {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.duplicates)
}
