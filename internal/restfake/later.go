package restfake

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Later makes a collection answer changes with 202 and the Location of an operation, and do them afterwards, as LXD and
// Azure do. Whatever is wrong with a change shows inside the operation alone: a taken key, too. The operation is asked
// about at /operations/{id} and answers 200 with {id, status, error, resource}, where status is Running, Success or
// Failure.
type Later struct {
	// Methods are those done later; every change by default.
	Methods []string
	// Polls is how many questions are answered with Running before the change is made.
	Polls int
	// After is how long the change takes on the server's clock, whether anybody asks or not. It counts when Polls is 0.
	After time.Duration
	// ForgetAfter is how long an operation that has ended is known; for ever by default.
	ForgetAfter time.Duration
	// RetryAfter is sent with every answer about an operation that is running.
	RetryAfter string
}

// Failure is how the next operation ends badly.
type Failure struct {
	// Message stands in the operation.
	Message string
	// Half makes the change all the same.
	Half bool
}

// later is one operation.
type later struct {
	id      string
	change  func() reply
	failure *Failure
	config  *Later
	due     time.Time
	polls   int
	answer  *reply
	ended   time.Time
}

const operationsPath = "/operations/"

// FailNext lets the next operations end so, one each.
func (s *Server) FailNext(failures ...Failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures = append(s.failures, failures...)
}

// ForgetOperations lets the server forget every operation that it knows, ended or not; those go on.
func (s *Server) ForgetOperations() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.laters {
		l.id = ""
	}
}

// FinishOperations ends every operation that is running.
func (s *Server) FinishOperations() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.laters {
		s.finish(l)
	}
}

// Running counts the operations that are not at their end.
func (s *Server) Running() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finishDue()
	n := 0
	for _, l := range s.laters {
		if l.answer == nil {
			n++
		}
	}
	return n
}

// accept takes a change on for later. The lock is held.
func (s *Server) accept(config *Later, change func() reply) reply {
	s.operations++
	l := &later{id: fmt.Sprintf("op-%d", s.operations), change: change, config: config, due: s.now().Add(config.After)}
	if len(s.failures) > 0 {
		l.failure, s.failures = &s.failures[0], s.failures[1:]
	}
	s.laters = append(s.laters, l)
	return reply{
		status: http.StatusAccepted, header: map[string]string{"Location": operationsPath + l.id},
		body: map[string]any{"operation": operationsPath + l.id},
	}
}

func (l *Later) takes(method string) bool {
	changes := []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}
	return l != nil && slices.Contains(changes, method) && (len(l.Methods) == 0 || slices.Contains(l.Methods, method))
}

// finishDue ends what time has brought to its end. The lock is held.
func (s *Server) finishDue() {
	for _, l := range s.laters {
		if l.config.After > 0 && !s.now().Before(l.due) {
			s.finish(l)
		}
	}
}

func (s *Server) finish(l *later) {
	if l.answer != nil {
		return
	}
	l.ended = s.now()
	if l.failure == nil || l.failure.Half {
		answer := l.change()
		l.answer = &answer
	}
	if l.failure != nil {
		failed := problem(http.StatusBadRequest, l.failure.Message)
		l.answer = &failed
	}
}

// operation answers a question about an operation. The lock is held.
func (s *Server) operation(request *Request) (reply, bool) {
	id, ok := strings.CutPrefix(request.Path, operationsPath)
	if !ok || request.Method != http.MethodGet {
		return reply{}, false
	}
	for _, l := range s.laters {
		if l.id != id {
			continue
		}
		l.polls++
		if l.config.After == 0 && l.polls > l.config.Polls {
			s.finish(l)
		}
		forgotten := l.answer != nil && l.config.ForgetAfter > 0 && s.now().Sub(l.ended) >= l.config.ForgetAfter
		if !forgotten {
			return l.report(), true
		}
	}
	return problem(http.StatusNotFound, "no such operation"), true
}

func (l *later) report() reply {
	body := map[string]any{"id": l.id, "status": "Running"}
	header := map[string]string{}
	switch {
	case l.answer == nil && l.config.RetryAfter != "":
		header["Retry-After"] = l.config.RetryAfter
	case l.answer == nil:
	case l.answer.status < http.StatusMultipleChoices:
		body["status"], body["resource"] = "Success", l.answer.body
	default:
		body["status"] = "Failure"
		if object, ok := l.answer.body.(map[string]any); ok {
			body["error"], body["code"] = object["message"], l.answer.status
		}
	}
	return reply{status: http.StatusOK, header: header, body: body}
}
