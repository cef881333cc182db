// Package vaultfake is a server that speaks the part of Vault's HTTP API which the operator uses, for tests: reading from
// the KV engine, version 2, and the Kubernetes login. It is written after Vault's API documentation and takes nothing that
// Vault would not take: an unknown route, a missing X-Vault-Request, a token in another place. It must not be more generous.
package vaultfake

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"
)

// Server is one Vault. Change it by its methods alone.
type Server struct {
	*httptest.Server

	mu        sync.Mutex
	namespace string
	sealed    bool
	tokens    map[string]bool // client tokens that may read
	kept      map[string]*secret
	login     *Login
	logins    int
	reads     int
}

// Login is the Kubernetes auth method.
type Login struct {
	// Role is the one that exists.
	Role string
	// Review tells whether a JWT is that of an account which may log in.
	Review func(jwt string) bool
	// Lease is how long a login is good.
	Lease time.Duration
}

type secret struct {
	version int
	data    map[string]any // nil when the newest version is deleted
}

// New starts a Vault that is unsealed and empty.
func New() *Server {
	s := &Server{tokens: map[string]bool{}, kept: map[string]*secret{}}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	return s
}

// Allow lets a client token read, or no longer.
func (s *Server) Allow(token string, allowed bool) { s.do(func() { s.tokens[token] = allowed }) }

// AllowLogin mounts the Kubernetes auth method at auth/kubernetes.
func (s *Server) AllowLogin(l Login) { s.do(func() { s.login = &l }) }

// In puts everything into a namespace of Vault.
func (s *Server) In(namespace string) { s.do(func() { s.namespace = namespace }) }

// Seal seals and unseals.
func (s *Server) Seal(sealed bool) { s.do(func() { s.sealed = sealed }) }

// Put writes a new version at a path of the engine mounted at "secret"; nil data deletes the newest.
func (s *Server) Put(path string, data map[string]any) {
	s.do(func() {
		if s.kept[path] == nil {
			s.kept[path] = &secret{}
		}
		s.kept[path].version++
		s.kept[path].data = data
	})
}

// Revoke ends all tokens, those of logins included.
func (s *Server) Revoke() { s.do(func() { clear(s.tokens) }) }

// Counts gives how many logins and reads were answered with success.
func (s *Server) Counts() (logins, reads int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.logins, s.reads
}

func (s *Server) do(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	login, sealed, namespace := s.login, s.sealed, s.namespace
	s.mu.Unlock()
	path, below := strings.CutPrefix(r.URL.Path, "/v1/")
	data, isData := strings.CutPrefix(path, "secret/data/")
	switch {
	case sealed:
		refuse(w, http.StatusServiceUnavailable, "Vault is sealed")
	case r.Header.Get("X-Vault-Request") != "true":
		refuse(w, http.StatusPreconditionFailed, "missing the X-Vault-Request header")
	case !below || r.Header.Get("X-Vault-Namespace") != namespace:
		refuse(w, http.StatusNotFound, fmt.Sprintf("no handler for route %q. route entry not found.", path))
	case path == "auth/kubernetes/login" && login != nil && (r.Method == http.MethodPut || r.Method == http.MethodPost):
		s.logIn(w, r, *login) // the review may be slow, and is not done under the lock
	case isData && r.Method == http.MethodGet:
		s.read(w, r.Header.Get("X-Vault-Token"), data)
	default:
		refuse(w, http.StatusForbidden, "permission denied") // as Vault says to what it does not know
	}
}

func (s *Server) logIn(w http.ResponseWriter, r *http.Request, login Login) {
	var body struct{ Role, JWT string }
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20))
	decoder.DisallowUnknownFields()
	switch err := decoder.Decode(&body); {
	case err != nil:
		refuse(w, http.StatusBadRequest, "error parsing JSON")
	case body.JWT == "":
		refuse(w, http.StatusBadRequest, "missing jwt")
	case body.Role != login.Role:
		refuse(w, http.StatusBadRequest, fmt.Sprintf("invalid role name %q", body.Role))
	case !login.Review(body.JWT):
		refuse(w, http.StatusForbidden, "permission denied")
	default:
		s.mu.Lock()
		defer s.mu.Unlock()
		s.logins++
		token := fmt.Sprintf("hvs.login-%d", s.logins)
		s.tokens[token] = true
		answer(w, http.StatusOK, map[string]any{"auth": map[string]any{
			"client_token": token, "lease_duration": int(login.Lease.Seconds()), "renewable": true, "policies": []string{"default"},
		}})
	}
}

func (s *Server) read(w http.ResponseWriter, token, path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := s.kept[path]
	switch {
	case !s.tokens[token]:
		refuse(w, http.StatusForbidden, "permission denied")
	case kept == nil:
		refuse(w, http.StatusNotFound)
	default:
		s.reads++
		status, metadata := http.StatusOK, map[string]any{"version": kept.version, "created_time": "2026-01-02T03:04:05Z", "deletion_time": "", "destroyed": false, "custom_metadata": nil}
		if kept.data == nil {
			status, metadata["deletion_time"] = http.StatusNotFound, "2026-01-02T03:04:05Z"
		}
		var data any
		if kept.data != nil {
			data = kept.data
		}
		answer(w, status, map[string]any{"request_id": "1", "lease_duration": 0, "data": map[string]any{"data": data, "metadata": metadata}})
	}
}

func refuse(w http.ResponseWriter, status int, messages ...string) {
	answer(w, status, map[string]any{"errors": append([]string{}, messages...)})
}

func answer(w http.ResponseWriter, status int, body map[string]any) {
	text, err := json.Marshal(body)
	if err != nil {
		return // a test that puts in what JSON cannot hold
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(text) // whoever asked may be gone
}
