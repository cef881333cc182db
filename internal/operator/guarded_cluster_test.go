//go:build cluster

package operator_test

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/restmapping/operator/internal/restfake"
)

// guarded is a REST server that takes only whom it is told to take, and repeats the credential of whom it refuses.
type guarded struct {
	*httptest.Server
	fake *restfake.Server

	mu      sync.Mutex
	takes   func(*http.Request) bool
	login   http.HandlerFunc // answers POST /login, if set
	refused int
	served  int
}

// newGuarded makes a server that takes everybody. It speaks HTTP until certified makes it speak TLS.
func newGuarded(t *testing.T, collection restfake.Collection) *guarded {
	t.Helper()
	g := &guarded{fake: restfake.New([]restfake.Collection{collection}), takes: func(*http.Request) bool { return true }}
	g.Server = httptest.NewUnstartedServer(g)
	g.Config.ErrorLog = log.New(io.Discard, "", 0)
	g.Start()
	t.Cleanup(func() {
		g.fake.Close()
		g.Close()
	})
	return g
}

// only lets the server take those whom the function knows from now on.
func (g *guarded) only(takes func(*http.Request) bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.takes = takes
}

// counts gives how many requests were refused and served so far.
func (g *guarded) counts() (refused, served int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.refused, g.served
}

// ServeHTTP implements http.Handler.
func (g *guarded) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	login, taken := g.login, g.takes(r)
	isLogin := login != nil && r.Method == http.MethodPost && r.URL.Path == "/login"
	switch {
	case isLogin:
	case taken:
		g.served++
	default:
		g.refused++
	}
	g.mu.Unlock()
	switch {
	case isLogin:
		login(w, r)
	case taken:
		g.fake.ServeHTTP(w, r)
	default:
		refuse(w, http.StatusUnauthorized, fmt.Sprint("I do not know ", r.Header.Values("Authorization"), r.Header.Values("Cookie"), r.Header.Values("X-Key"), r.URL.RawQuery))
	}
}

func refuse(w http.ResponseWriter, status int, message string) {
	text, err := json.Marshal(map[string]string{"message": message})
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(text)
}

// byHeader takes requests with this value of a header.
func byHeader(name, value string) func(*http.Request) bool {
	return func(r *http.Request) bool { return r.Header.Get(name) == value }
}

// byPassword takes requests with this password.
func byPassword(password string) func(*http.Request) bool {
	return func(r *http.Request) bool {
		_, got, ok := r.BasicAuth()
		return ok && got == password
	}
}

// authority hands out tokens at a token endpoint, or what else it is told to do.
type authority struct {
	*httptest.Server
	address string

	mu     sync.Mutex
	tokens map[string]bool
	issued int
	answer func(http.ResponseWriter, *http.Request) (done bool)
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{tokens: map[string]bool{}, address: "127.0.0.1:0"}
	a.up(t)
	t.Cleanup(a.down)
	return a
}

// up starts it, at the address that it had before.
func (a *authority) up(t *testing.T) {
	t.Helper()
	listener, err := net.Listen("tcp", a.address)
	if err != nil {
		t.Fatal(err)
	}
	a.address = listener.Addr().String()
	a.Server = httptest.NewUnstartedServer(a)
	_ = a.Listener.Close()
	a.Listener = listener
	a.Start()
}

func (a *authority) down() {
	a.CloseClientConnections()
	a.Close()
}

// instead answers before the usual answer, until it is nil again.
func (a *authority) instead(answer func(http.ResponseWriter, *http.Request) bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answer = answer
}

// ServeHTTP implements http.Handler.
func (a *authority) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	answer := a.answer
	a.mu.Unlock()
	if answer != nil && answer(w, r) {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"access_token": %q, "token_type": "Bearer", "expires_in": 3600}`, a.issue())
}

// issue makes a token that is good until it is revoked.
func (a *authority) issue() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.issued++
	token := fmt.Sprintf("issued-t0ken-%d", a.issued)
	a.tokens[token] = true
	return token
}

// revoke ends all tokens that were issued so far.
func (a *authority) revoke() {
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.tokens)
}

func (a *authority) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.issued
}

// knows takes a token that is good, as a bearer token or as the cookie sid.
func (a *authority) knows(r *http.Request) bool {
	token := r.Header.Get("Authorization")
	if cookie, err := r.Cookie("sid"); err == nil {
		token = "Bearer " + cookie.Value
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(token) > len("Bearer ") && a.tokens[token[len("Bearer "):]]
}

// tunnel is a proxy that opens ways (CONNECT), or says what it is told to say.
type tunnel struct {
	*httptest.Server
	mu     sync.Mutex
	status int
	opened int
}

func newTunnel(t *testing.T) *tunnel {
	t.Helper()
	p := &tunnel{}
	p.Server = httptest.NewServer(p)
	t.Cleanup(func() {
		p.CloseClientConnections()
		p.Close()
	})
	return p
}

// refuseWith makes it answer with a status from now on; 0 opens it again.
func (p *tunnel) refuseWith(status int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status = status
}

// ServeHTTP implements http.Handler.
func (p *tunnel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	status := p.status
	p.opened++
	p.mu.Unlock()
	if status != 0 || r.Method != http.MethodConnect {
		w.WriteHeader(max(status, http.StatusBadRequest))
		return
	}
	there, err := net.Dial("tcp", r.Host)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	here, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		_ = there.Close()
		return
	}
	_, _ = io.WriteString(here, "HTTP/1.1 200 OK\r\n\r\n")
	var ways sync.WaitGroup
	way := func(to net.Conn, from io.Reader) {
		_, _ = io.Copy(to, from)
		_ = here.Close()
		_ = there.Close()
	}
	ways.Go(func() { way(there, buffered) })
	ways.Go(func() { way(here, there) })
	ways.Wait()
}

// certified makes the server speak TLS, at another address, and show what the function gives at every new connection.
func (g *guarded) certified(configure func(*tls.Config), current func() tls.Certificate) {
	g.Close()
	g.Server = httptest.NewUnstartedServer(g)
	g.Config.ErrorLog = log.New(io.Discard, "", 0)
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if configure != nil {
		configure(config)
	}
	g.TLS = &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		fresh := config.Clone()
		fresh.Certificates = []tls.Certificate{current()}
		return fresh, nil
	}}
	g.StartTLS()
}
