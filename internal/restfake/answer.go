package restfake

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strconv"
)

// answer writes what the fault says, or the usual reply.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, request *Request, fault Fault, usual reply) {
	switch fault.Answer {
	case AnswerHang:
		select {
		case <-r.Context().Done():
		case <-s.stop:
		}
		// Without this net/http would send an empty 200.
		panic(http.ErrAbortHandler)
	case AnswerDrop:
		panic(http.ErrAbortHandler)
	case AnswerReset:
		reset(w)
	case AnswerInstead:
		s.instead(w, request, fault)
	case AnswerTruncated:
		s.write(w, request, usual, true)
	default:
		s.write(w, request, usual, false)
	}
}

// reset ends a TCP connection with RST; any other kind it just closes.
func reset(w http.ResponseWriter) {
	hijacker, ok := w.(http.Hijacker)
	if !ok {
		panic(http.ErrAbortHandler)
	}
	conn, _, err := hijacker.Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

func (s *Server) instead(w http.ResponseWriter, request *Request, fault Fault) {
	status := fault.Status
	if status == 0 {
		status = http.StatusOK
	}
	for name, value := range fault.Header {
		w.Header().Set(name, value)
	}
	s.answered(request, status)
	w.WriteHeader(status)
	if request.Method == http.MethodHead {
		return
	}
	// A client that has enough closes the connection; that is no error of a test server.
	_, _ = io.WriteString(w, fault.Body)
	_, _ = io.CopyN(w, spaces{}, fault.BodyBytes)
}

// spaces is an endless run of white space, which keeps a JSON document one.
type spaces struct{}

// Read implements io.Reader.
func (spaces) Read(p []byte) (int, error) {
	return copy(p, bytes.Repeat([]byte{' '}, len(p))), nil
}

func (s *Server) write(w http.ResponseWriter, request *Request, answer reply, truncate bool) {
	var body []byte
	if answer.body != nil {
		var err error
		if body, err = json.Marshal(answer.body); err != nil {
			answer.status, body = http.StatusInternalServerError, nil
		}
		w.Header().Set("Content-Type", "application/json")
	}
	for name, value := range answer.header {
		w.Header().Set(name, value)
	}
	if answer.status != http.StatusNoContent {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	s.answered(request, answer.status)
	w.WriteHeader(answer.status)
	if truncate {
		body = body[:len(body)/2]
	}
	if request.Method != http.MethodHead {
		_, _ = w.Write(body)
	}
	if truncate {
		if flusher, ok := w.(http.Flusher); ok {
			flusher.Flush()
		}
		panic(http.ErrAbortHandler)
	}
}
