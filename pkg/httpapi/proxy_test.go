package httpapi

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/restmapping/operator/pkg/rest"
)

// gate is an HTTP proxy that notes what it was asked.
type gate struct {
	*httptest.Server
	mu     sync.Mutex
	seen   []string
	status int
}

func newGate(t *testing.T) *gate {
	t.Helper()
	g := &gate{}
	g.Server = httptest.NewServer(g)
	t.Cleanup(g.Close)
	return g
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	g.seen = append(g.seen, r.Method+" "+r.Host+" "+r.Header.Get("Proxy-Authorization"))
	status := g.status
	g.mu.Unlock()
	if status != 0 {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, canary)
		return
	}
	if r.Method != http.MethodConnect {
		_, _ = io.WriteString(w, "through the proxy")
		return
	}
	there, err := net.Dial("tcp", r.Host)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	here, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	_, _ = io.WriteString(here, "HTTP/1.1 200 OK\r\n\r\n")
	go pour(there, here)
	go pour(here, there)
}

// pour copies until one side ends, and ends both.
func pour(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	_ = to.Close()
	_ = from.Close()
}

func basicPair(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

func TestAProxyIsUsed(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	secure, bundle := serveTLS(t, nil)
	host := strings.TrimPrefix(secure, "https://")
	through := connect(t, Config{BaseURL: secure, TLS: TLSConfig{CABundle: bundle}, Proxy: &Proxy{
		URL: g.URL, Basic: &Basic{NewSecret("me"), NewSecret("a:b/c@d")},
	}})
	wantStatus(t, through.Do(t.Context(), get("/x")), 200)
	plain := connect(t, Config{BaseURL: "http://nowhere.invalid", Proxy: &Proxy{URL: g.URL + "/"}})
	if got := wantStatus(t, plain.Do(t.Context(), get("/x")), 200).Body; got != "through the proxy" {
		t.Errorf("answer %v", got)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	want := []string{"CONNECT " + host + " " + basicPair("me", "a:b/c@d"), "GET nowhere.invalid "}
	if diff := cmp.Diff(want, g.seen); diff != "" {
		t.Errorf("at the proxy (-want +got):\n%s", diff)
	}
	text := "it was me with " + basicPair("me", "a:b/c@d") + " and a:b/c@d"
	if got := through.Redact(text); got != "it was me with Basic [redacted] and [redacted]" {
		t.Errorf("left: %s", got)
	}
}

func TestTheTokenEndpointIsAskedThroughTheProxy(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	base, bundle := serveTLS(t, nil)
	client := connect(t, Config{
		BaseURL: base, TLS: TLSConfig{CABundle: bundle}, Proxy: &Proxy{URL: g.URL},
		Credential: Credential{OAuth2: &OAuth2{TokenURL: "http://login.invalid/token", ClientID: "me", ClientSecret: NewSecret("s")}},
	})
	wantFailure(t, client.Do(t.Context(), get("/x")), rest.NotSent, "the OAuth2 token endpoint at login.invalid")
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.seen) == 0 || !strings.HasPrefix(g.seen[0], "POST login.invalid") {
		t.Errorf("at the proxy: %v", g.seen)
	}
}

func TestAProxyThatRefuses(t *testing.T) {
	t.Parallel()
	refusing := func(status int) string {
		g := newGate(t)
		g.status = status
		return g.URL
	}
	cases := map[string]struct {
		url string
		say []string
	}{
		"it wants a password":        {refusing(407), []string{"the proxy 127.0.0.1:", " answered 407: ", "check proxy.basic"}},
		"it does not lead there":     {refusing(403), []string{"answered 403: may it lead to that host and port?"}},
		"it finds nobody":            {newGate(t).URL, []string{"answered 502"}},
		"it is down":                 {"http://127.0.0.1:1", []string{"the proxy 127.0.0.1:1 cannot be reached: connection refused: is proxy.url right"}},
		"its name is not known":      {"http://does-not-exist.invalid:3128", []string{"the proxy does-not-exist.invalid:3128 cannot be reached: the host of proxy.url"}},
		"it speaks no TLS":           {strings.Replace(newGate(t).URL, "http:", "https:", 1), []string{"the proxy 127.0.0.1:", " cannot be reached: ", "is http:// meant in proxy.url?"}},
		"a SOCKS proxy that refuses": {"socks5://" + socksThatRefuses(t), []string{"the SOCKS proxy 127.0.0.1:", " did not open a way"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := connect(t, Config{BaseURL: "https://nowhere.invalid", Proxy: &Proxy{
				URL: tc.url, Basic: &Basic{NewSecret(canary), NewSecret(canary)},
			}})
			exchange := client.Do(t.Context(), write(http.MethodPost, "/x", "{}"))
			failure := wantFailure(t, exchange, rest.NotSent, append(tc.say, "POST /things: not sent: no connection to nowhere.invalid:443: ")...)
			for _, text := range []string{failure.Message, fmt.Sprintf("%v %+v %#v", failure.Err, failure.Err, failure.Err), fmt.Sprintf("%+v", *client)} {
				if strings.Contains(text, canary) {
					t.Errorf("a secret is shown: %s", text)
				}
			}
		})
	}
}

// socksThatRefuses accepts no way to authenticate (RFC 1928, section 3).
func socksThatRefuses(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { _ = listener.Close(); <-done })
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte{5, 0xff})
			_ = conn.Close()
		}
	}()
	return listener.Addr().String()
}

func TestAProxyIsChecked(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		field string
		proxy Proxy
	}{
		"no URL":              {"proxy.url", Proxy{URL: "http://a b" + canary}},
		"another scheme":      {"proxy.url", Proxy{URL: "ftp://h"}},
		"no host":             {"proxy.url", Proxy{URL: "http:///"}},
		"a password":          {"proxy.url", Proxy{URL: "http://u:" + canary + "@h"}},
		"a path":              {"proxy.url", Proxy{URL: "http://h/" + canary}},
		"an empty password":   {"proxy.basic", Proxy{URL: "http://h", Basic: &Basic{Username: NewSecret(canary)}}},
		"a user with a colon": {"proxy.basic", Proxy{URL: "http://h", Basic: &Basic{NewSecret(canary + ":"), NewSecret(canary)}}},
	} {
		_, err := NewClient(Config{BaseURL: "https://h", Proxy: &tc.proxy})
		wrong := (*ConfigError)(nil)
		if !errors.As(err, &wrong) || wrong.Field != tc.field || strings.Contains(err.Error(), canary) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
