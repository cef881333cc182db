package restfake

import (
	"net/http"
	"strconv"
	"time"
)

// reply is an answer before it is written. A nil body sends none.
type reply struct {
	status int
	header map[string]string
	body   any
}

func problem(status int, message string) reply {
	return reply{status: status, body: map[string]any{"message": message}}
}

// apply does what a request asks, or takes it on for later. The lock is held.
func (s *Server) apply(request *Request, hidden time.Duration) reply {
	s.finishDue()
	if answer, ok := s.operation(request); ok {
		return answer
	}
	c, item, vars := s.find(request.Path)
	if c == nil {
		return problem(http.StatusNotFound, "no such path")
	}
	return s.once(c, vars, request, func() reply {
		if c.Later.takes(request.Method) {
			return s.accept(c.Later, func() reply { return s.perform(c, item, vars, request, hidden) })
		}
		return s.perform(c, item, vars, request, hidden)
	})
}

func (s *Server) perform(c *Collection, item bool, vars map[string]string, request *Request, hidden time.Duration) reply {
	where := newPlace(c, vars)
	change := operation{server: s, c: c, where: where, vars: vars, request: request, hidden: hidden}
	if !item {
		switch request.Method {
		case http.MethodGet, http.MethodHead:
			return s.list(c, where, request)
		case http.MethodPost:
			return change.post()
		}
		return problem(http.StatusMethodNotAllowed, "method not allowed")
	}
	change.object = s.objects[objectKey{where, vars["id"]}]
	switch {
	case request.Method == http.MethodGet || request.Method == http.MethodHead:
		return s.get(c, change.object)
	case request.Method == http.MethodPut && !c.NoPut:
		return change.put()
	case request.Method == http.MethodPatch && !c.NoPatch:
		return change.patch()
	case request.Method == http.MethodDelete:
		return change.delete()
	}
	return problem(http.StatusMethodNotAllowed, "method not allowed")
}

func (s *Server) get(c *Collection, o *object) reply {
	fields := o.visible(s.now())
	if fields == nil {
		return problem(http.StatusNotFound, "not found")
	}
	return reply{status: http.StatusOK, body: c.show(fields)}
}

// operation is one change under way.
type operation struct {
	server  *Server
	c       *Collection
	where   place
	vars    map[string]string
	object  *object // of an item path; nil when there is none
	request *Request
	hidden  time.Duration
}

func (op operation) post() reply {
	fields, bad := op.body()
	if bad != nil {
		return *bad
	}
	id := text(fields[op.c.IDField])
	if op.c.IDs == Chosen {
		if id == "" {
			return problem(http.StatusUnprocessableEntity, "the field "+op.c.IDField+" is required")
		}
		if o := op.server.objects[objectKey{op.where, id}]; o != nil && o.alive {
			return problem(op.c.ConflictStatus, "already exists")
		}
	}
	return op.create(id, fields)
}

func (op operation) put() reply {
	fields, bad := op.body()
	if bad != nil {
		return *bad
	}
	if op.object == nil || !op.object.alive {
		if !op.c.Upsert {
			return problem(http.StatusNotFound, "not found")
		}
		return op.create(op.vars["id"], fields)
	}
	for _, name := range op.c.WriteOnly {
		// What a client cannot read it cannot send back; leaving it out keeps it.
		if _, sent := fields[name]; !sent && op.object.fields[name] != nil {
			fields[name] = op.object.fields[name]
		}
	}
	return op.update(fields)
}

func (op operation) patch() reply {
	if op.object == nil || !op.object.alive {
		return problem(http.StatusNotFound, "not found")
	}
	patch, bad := op.body()
	if bad != nil {
		return *bad
	}
	return op.update(mergePatch(op.object.fields, patch))
}

func (op operation) delete() reply {
	if op.object == nil || !op.object.alive {
		return problem(http.StatusNotFound, "not found")
	}
	before := op.object.fields
	op.object.hide(op.server.now(), op.hidden)
	op.object.alive = false
	if op.hidden <= 0 {
		delete(op.server.objects, objectKey{op.where, op.object.id})
	}
	op.server.committed(Deleted, op.c, op.object, before, op.request)
	return reply{status: op.c.DeleteStatus}
}

// create makes an object. An empty id, or one the collection does not let clients choose, is assigned.
func (op operation) create(id string, fields map[string]any) reply {
	for _, name := range op.c.Required {
		if fields[name] == nil {
			return problem(http.StatusUnprocessableEntity, "the field "+name+" is required")
		}
	}
	if op.server.conflict(op.c, op.where, fields, nil) {
		return problem(op.c.ConflictStatus, "already exists")
	}
	fields = mergePatch(op.c.Defaults, fields)
	created := op.server.insert(op.c, op.vars, id, fields, op.hidden)
	op.server.committed(Created, op.c, created, nil, op.request)
	answer := reply{status: http.StatusCreated, header: map[string]string{"Location": op.c.itemPath(op.vars, created.id)}}
	switch op.c.Answer {
	case AnswerLocation:
	case AnswerNothing:
		answer = reply{status: http.StatusNoContent}
	default:
		answer.body = op.c.show(created.fields)
	}
	return answer
}

// insert stores a new object with its id.
func (s *Server) insert(c *Collection, vars map[string]string, id string, fields map[string]any, hidden time.Duration) *object {
	s.sequence++
	switch c.IDs {
	case Chosen:
		fields[c.IDField] = id
	default:
		s.lastID[c.Path]++
		n := s.lastID[c.Path]
		id = strconv.FormatInt(n, 10)
		fields[c.IDField] = n
		if c.IDs == AssignedText {
			id = "obj-" + id
			fields[c.IDField] = id
		}
	}
	o := &object{place: newPlace(c, vars), vars: vars, id: id, sequence: s.sequence}
	o.hide(s.now(), hidden)
	o.fields, o.alive = fields, true
	s.objects[objectKey{o.place, id}] = o
	return o
}

func (op operation) update(fields map[string]any) reply {
	o := op.object
	fields[op.c.IDField] = o.fields[op.c.IDField]
	if op.server.conflict(op.c, op.where, fields, o) {
		return problem(op.c.ConflictStatus, "already exists")
	}
	before := o.fields
	o.hide(op.server.now(), op.hidden)
	o.fields = fields
	op.server.committed(Updated, op.c, o, before, op.request)
	answer := reply{status: op.c.UpdateStatus}
	if answer.status != http.StatusNoContent {
		answer.body = op.c.show(fields)
	}
	return answer
}

// body reads a JSON object with exact whole numbers.
func (op operation) body() (map[string]any, *reply) {
	fields, err := decode(op.request.Body)
	if err != nil {
		bad := problem(http.StatusBadRequest, "the body is not a JSON object")
		return nil, &bad
	}
	return fields, nil
}
