package restfake

import (
	"maps"
	"time"
)

// Change says what a commit did.
type Change string

// The changes.
const (
	Created Change = "Created"
	Updated Change = "Updated"
	Deleted Change = "Deleted"
)

// Commit is one change at the moment it takes effect.
type Commit struct {
	Change Change
	Object Object
	// Before is the object's fields before, nil for Created.
	Before map[string]any
	// Request is what asked for it; nil for a change that the test made itself.
	Request *Request
	Time    time.Time
}

// Object is one live object.
type Object struct {
	// Collection is the Path of its collection.
	Collection string
	// Path is the escaped path of the object.
	Path   string
	ID     string
	Fields map[string]any
}

// Duplicate is a violation: two live objects with one key.
type Duplicate struct {
	Collection string
	Key        string
	// Paths of the objects that were live together, the new one last.
	Paths []string
	// Request is the number of the request that made the second.
	Request int
	Time    time.Time
}

// OnCommit is told of every change at the moment it takes effect, one at a time and before the next request is looked
// at. It must not call the Server.
func (s *Server) OnCommit(observe func(Commit)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.observers = append(s.observers, observe)
}

// committed marks the request, looks for duplicates and tells the observers. The lock is held.
func (s *Server) committed(change Change, c *Collection, o *object, before map[string]any, request *Request) {
	if request != nil {
		request.Committed = true
	}
	if change != Deleted {
		s.checkDuplicate(c, o, request)
	}
	for _, observe := range s.observers {
		observe(Commit{Change: change, Object: o.export(c), Before: maps.Clone(before), Request: request, Time: s.now()})
	}
}

func (s *Server) checkDuplicate(c *Collection, o *object, request *Request) {
	key := text(o.fields[c.DuplicateKey])
	if c.DuplicateKey == "" || key == "" {
		return
	}
	var paths []string
	for _, other := range s.objects {
		if other != o && other.alive && other.place.collection == c.Path && text(other.fields[c.DuplicateKey]) == key {
			paths = append(paths, c.itemPath(other.vars, other.id))
		}
	}
	if len(paths) == 0 {
		return
	}
	number := 0
	if request != nil {
		number = request.Number
	}
	s.duplicates = append(s.duplicates, Duplicate{
		Collection: c.Path, Key: key, Paths: append(paths, c.itemPath(o.vars, o.id)), Request: number, Time: s.now(),
	})
}
