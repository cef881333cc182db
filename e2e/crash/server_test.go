//go:build crash

package crash_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/restmapping/operator/internal/restfake"
)

// foreign begins the owner of objects that belong to nobody here.
const foreign = "foreign"

// server is the REST server of one test. It judges every change at the moment it takes effect.
type server struct {
	*restfake.Listener

	mu         sync.Mutex
	violations []string
	commits    map[restfake.Change]int
	// fault decides about each request; nil is none. created is told of each object that is made.
	fault   func(*restfake.Request) restfake.Fault
	created func(restfake.Object)
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{commits: map[restfake.Change]int{}}
	listener, err := restfake.Start(t.Context(), "127.0.0.1:0", restfake.New(collections(), restfake.WithFaults(s.decide)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(listener.Close)
	s.Listener = listener
	for _, c := range classes() {
		for i := range 2 {
			name := fmt.Sprintf("%s-%d", foreign, i)
			if _, err := s.Insert(c.path(), map[string]any{"id": name, "name": name, "owner": name, "size": 1}); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.OnCommit(s.judge)
	return s
}

// set changes what becomes of requests from now on.
func (s *server) set(fault func(*restfake.Request) restfake.Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = fault
}

func (s *server) decide(r *restfake.Request) restfake.Fault {
	s.mu.Lock()
	fault := s.fault
	s.mu.Unlock()
	if fault == nil {
		return restfake.Fault{}
	}
	return fault(r)
}

// judge holds a change against the rule that objects of others are left alone. That there are never two of one custom
// resource is judged by the server itself.
func (s *server) judge(c restfake.Commit) {
	s.mu.Lock()
	s.commits[c.Change]++
	if owner := fmt.Sprint(c.Before["owner"]); c.Request != nil && c.Before != nil && strings.HasPrefix(owner, foreign) {
		s.violations = append(s.violations, fmt.Sprintf("%s %s changed an object of %s", c.Request.Method, c.Request.Path, owner))
	}
	if c.Change == restfake.Deleted && c.Before["state"] == stateOn && c.Request != nil {
		s.violations = append(s.violations, fmt.Sprintf("%s %s deleted an object that was not made ready for it", c.Request.Method, c.Request.Path))
	}
	created := s.created
	s.mu.Unlock()
	if c.Change == restfake.Created && c.Request != nil && created != nil {
		created(c.Object)
	}
}

// ours are the live objects that custom resources made, by class.
func (s *server) ours() []restfake.Object {
	var list []restfake.Object
	for _, o := range s.Live("") {
		if !strings.HasPrefix(owner(o), foreign) {
			list = append(list, o)
		}
	}
	return list
}

func owner(o restfake.Object) string { return fmt.Sprint(o.Fields["owner"]) }

// of gives the live objects of a custom resource.
func (s *server) of(c class, uid string) []restfake.Object {
	var list []restfake.Object
	for _, o := range s.Live(c.path()) {
		if owner(o) == uid {
			list = append(list, o)
		}
	}
	return list
}

// count gives how many changes of a sort have taken effect.
func (s *server) count(change restfake.Change) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.commits[change]
}

// broken gives every breach of a rule so far.
func (s *server) broken() []string {
	s.mu.Lock()
	list := append([]string(nil), s.violations...)
	s.mu.Unlock()
	for _, d := range s.Duplicates() {
		list = append(list, fmt.Sprintf("duplicate: %v of %s", d.Paths, d.Key))
	}
	return list
}

// isCreate tells the creates of all classes.
func isCreate(r *restfake.Request) bool {
	return r.Method == http.MethodPost || r.Method == http.MethodPut && strings.Contains(r.Path, "upserts/")
}
