package httpapi

import (
	"crypto/tls"
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/restmapping/operator/pkg/rest"
)

// serveTLS starts a server whose certificate is for example.com and 127.0.0.1, and gives its CA bundle.
func serveTLS(t *testing.T, configure func(*tls.Config)) (base string, bundle []byte) {
	t.Helper()
	server := httptest.NewUnstartedServer(answer(200, "", "ok"))
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS10}
	server.EnableHTTP2 = true
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	if configure != nil {
		configure(server.TLS)
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}

func TestTLS(t *testing.T) {
	t.Parallel()
	base, bundle := serveTLS(t, nil)
	cases := map[string]struct {
		config TLSConfig
		say    string // empty: works
	}{
		"the right CA":            {TLSConfig{CABundle: bundle}, ""},
		"another name that is in": {TLSConfig{CABundle: bundle, ServerName: "example.com"}, ""},
		"no check at all":         {TLSConfig{InsecureSkipVerify: true}, ""},
		"an unknown CA":           {TLSConfig{}, "signed by an unknown authority: set tls.caBundle"},
		"a wrong name":            {TLSConfig{CABundle: bundle, ServerName: "other.test"}, "not other.test: set tls.serverName or fix baseURL"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			exchange := connect(t, Config{BaseURL: base, TLS: tc.config}).Do(t.Context(), write(http.MethodPost, "/x", "{}"))
			if tc.say == "" {
				wantStatus(t, exchange, 200)
				return
			}
			wantFailure(t, exchange, rest.NotSent, "POST /things: not sent: ", tc.say)
		})
	}
}

func TestOldTLSIsRefused(t *testing.T) {
	t.Parallel()
	base, bundle := serveTLS(t, func(c *tls.Config) { c.MaxVersion = tls.VersionTLS11 })
	client := connect(t, Config{BaseURL: base, TLS: TLSConfig{CABundle: bundle}})
	wantFailure(t, client.Do(t.Context(), get("/x")), rest.NotSent)
}

func TestAClientCertificateThatIsMissing(t *testing.T) {
	t.Parallel()
	base, bundle := serveTLS(t, func(c *tls.Config) {
		c.ClientAuth, c.MaxVersion = tls.RequireAnyClientCert, tls.VersionTLS12
	})
	client := connect(t, Config{BaseURL: base, TLS: TLSConfig{CABundle: bundle}})
	wantFailure(t, client.Do(t.Context(), get("/x")), rest.NotSent, "client certificate")
}

func TestHTTP2IsNotSpoken(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Proto)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	client := connect(t, Config{BaseURL: server.URL, TLS: TLSConfig{InsecureSkipVerify: true}})
	if got := wantStatus(t, client.Do(t.Context(), get("/x")), 200).Body; got != "HTTP/1.1" {
		t.Errorf("the server was asked in %v", got)
	}
}

func TestAHandshakeThatHangsIsNotSent(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() }) // nobody accepts: the handshake gets no answer
	client := connect(t, Config{BaseURL: "https://" + listener.Addr().String(), Timeout: 50 * 1e6})
	wantFailure(t, client.Do(t.Context(), write(http.MethodPost, "/x", "{}")), rest.NotSent)
}

func TestABundleWithoutCertificateIsRefused(t *testing.T) {
	t.Parallel()
	_, err := NewClient(Config{BaseURL: "https://h", TLS: TLSConfig{CABundle: []byte("x")}})
	if err == nil || err.Error() != "tls.caBundle: holds no PEM certificate (-----BEGIN CERTIFICATE-----)" {
		t.Errorf("error %v", err)
	}
}
