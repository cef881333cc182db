package restfake

import (
	"bytes"
	"maps"
	"net/http"
	"time"
)

// Idempotency lets a collection know a create again that carries the same key, as Stripe does: for a while it gives the answer of
// the first, with the header Idempotent-Replayed. With another body it refuses by 422. A create that came to nothing is
// not remembered, nor is one without a key.
type Idempotency struct {
	// Header names the request header of the key.
	Header string
	// Window is how long a key is known on the server's clock after it came first.
	Window time.Duration
}

// answeredCreate is a create that is known by its key.
type answeredCreate struct {
	body   []byte
	answer reply
	until  time.Time
}

type idempotencyKey struct {
	where place
	key   string
}

// once does a create, or gives the answer of the one that came with its key before. The lock is held.
func (s *Server) once(c *Collection, vars map[string]string, request *Request, do func() reply) reply {
	key := ""
	if c.Idempotency != nil && request.Method == http.MethodPost {
		key = request.Header.Get(c.Idempotency.Header)
	}
	if key == "" {
		return do()
	}
	at := idempotencyKey{newPlace(c, vars), key}
	if known, ok := s.creates[at]; ok && s.now().Before(known.until) {
		if !bytes.Equal(known.body, request.Body) {
			return problem(http.StatusUnprocessableEntity, "this key was used with another body")
		}
		answer := known.answer
		answer.header = map[string]string{"Idempotent-Replayed": "true"}
		maps.Copy(answer.header, known.answer.header)
		return answer
	}
	answer := do()
	if answer.status < http.StatusMultipleChoices {
		s.creates[at] = answeredCreate{body: request.Body, answer: answer, until: s.now().Add(c.Idempotency.Window)}
	}
	return answer
}
