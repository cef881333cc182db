package httpapi

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

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
			wantFailure(t, exchange, rest.NotSent, "POST /things: not sent: no connection to 127.0.0.1:", tc.say)
		})
	}
}

// TestACertificateThatIsOutOfDate: it says since when, and whose it is: a new certificate of the server does not help where the
// authority's has ended.
func TestACertificateThatIsOutOfDate(t *testing.T) {
	t.Parallel()
	past, future := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	cases := map[string]struct {
		authority, server time.Time // when they end
		say               string    // empty: works
	}{
		"both are good":       {future, future, ""},
		"the server's ended":  {future, past, "the server's certificate is good from 2000-01-02T03:04:05Z to " + past.UTC().Format(time.RFC3339) + " and not now: renew it there"},
		"the authority ended": {past, future, `the certificate of the authority "test authority" behind the server's is good from 2000-01-02T03:04:05Z to ` + past.UTC().Format(time.RFC3339) + " and not now: renew it, and put the new one into tls.caBundle"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pair, bundle := issue(t, tc.authority, tc.server)
			base, _ := serveTLS(t, func(c *tls.Config) { c.Certificates = []tls.Certificate{pair} })
			exchange := connect(t, Config{BaseURL: base, TLS: TLSConfig{CABundle: bundle}}).Do(t.Context(), get("/x"))
			if tc.say == "" {
				wantStatus(t, exchange, 200)
				return
			}
			wantFailure(t, exchange, rest.NotSent, tc.say)
		})
	}
}

// issue makes an authority and a certificate for 127.0.0.1 that it signed.
func issue(t *testing.T, authorityEnds, serverEnds time.Time) (pair tls.Certificate, bundle []byte) {
	t.Helper()
	begin := time.Date(2000, 1, 2, 3, 4, 5, 0, time.UTC)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, NotBefore: begin, NotAfter: authorityEnds,
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	server := &x509.Certificate{
		SerialNumber: big.NewInt(2), NotBefore: begin, NotAfter: serverEnds, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	top, err := x509.CreateCertificate(rand.Reader, authority, authority, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.CreateCertificate(rand.Reader, server, authority, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{leaf}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: top})
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
