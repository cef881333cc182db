package restfake

import (
	"cmp"
	"errors"
	"slices"
)

// ErrNotFound says that there is no such collection or object.
var ErrNotFound = errors.New("restfake: no such path")

// Live lists the objects that exist now, visible or not, in order of creation. An empty collection is all.
func (s *Server) Live(collection string) []Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finishDue()
	var alive []*object
	for key, o := range s.objects {
		if o.alive && (collection == "" || key.place.collection == collection) {
			alive = append(alive, o)
		}
	}
	slices.SortFunc(alive, func(a, b *object) int { return cmp.Compare(a.sequence, b.sequence) })
	list := make([]Object, 0, len(alive))
	for _, o := range alive {
		list = append(list, o.export(s.collection(o.place.collection)))
	}
	return list
}

// Get gives the object at an escaped path, with its write-only fields.
func (s *Server) Get(path string) (Object, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, o := s.live(path)
	if o == nil {
		return Object{}, false
	}
	return o.export(c), true
}

// Insert puts an object into the collection at an escaped path behind everybody's back, and gives it as stored. It
// asks nothing: neither unique keys nor required fields. A Chosen id is taken from the fields.
func (s *Server) Insert(collectionPath string, fields map[string]any) (Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, item, vars := s.find(collectionPath)
	if c == nil || item {
		return Object{}, ErrNotFound
	}
	fields = cloneFields(fields)
	if fields == nil {
		fields = map[string]any{}
	}
	o := s.insert(c, vars, text(fields[c.IDField]), fields, 0)
	s.committed(Created, c, o, nil, nil)
	return o.export(c), nil
}

// Change edits an object behind everybody's back: drift. The function may change the map it is given.
func (s *Server) Change(path string, edit func(fields map[string]any)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, o := s.live(path)
	if o == nil {
		return ErrNotFound
	}
	before := o.fields
	o.fields = cloneFields(o.fields)
	edit(o.fields)
	s.committed(Updated, c, o, before, nil)
	return nil
}

// Remove deletes an object behind everybody's back.
func (s *Server) Remove(path string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, o := s.live(path)
	if o == nil {
		return ErrNotFound
	}
	o.alive = false
	delete(s.objects, objectKey{o.place, o.id})
	s.committed(Deleted, c, o, o.fields, nil)
	return nil
}

func (s *Server) live(path string) (*Collection, *object) {
	c, item, vars := s.find(path)
	if c == nil || !item {
		return nil, nil
	}
	o := s.objects[objectKey{newPlace(c, vars), vars["id"]}]
	if o == nil || !o.alive {
		return nil, nil
	}
	return c, o
}

func (s *Server) collection(path string) *Collection {
	for _, c := range s.collections {
		if c.Path == path {
			return c
		}
	}
	return nil
}
