package httpapi

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/restmapping/operator/pkg/rest"
)

// authority signs client certificates.
type authority struct {
	t           *testing.T
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{t: t, key: key}
	template := a.template("authority", time.Hour)
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	if a.certificate, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return a
}

func (a *authority) template(name string, lasts time.Duration) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: time.Now().Add(lasts),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
}

// issue gives a certificate of that name, which a server at 127.0.0.1 may use as well.
func (a *authority) issue(name string, lasts time.Duration) *ClientCertificate {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, a.template(name, lasts), a.certificate, key.Public(), a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	return &ClientCertificate{
		Certificate: NewSecret(string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))),
		Key:         NewSecret(string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))),
	}
}

func (a *authority) asksFor(version uint16) func(*tls.Config) {
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	return func(c *tls.Config) {
		c.ClientAuth, c.ClientCAs, c.MinVersion, c.MaxVersion = tls.RequireAndVerifyClientCert, pool, version, version
	}
}

func TestMutualTLS(t *testing.T) {
	t.Parallel()
	trusted, stranger := newAuthority(t), newAuthority(t)
	cases := map[string]struct {
		certificate *ClientCertificate
		say         string // empty: works
	}{
		"the right certificate":           {trusted.issue("operator", time.Hour), ""},
		"no certificate":                  {nil, "for a client certificate"},
		"a certificate that expired":      {trusted.issue("operator", -time.Hour), "it expired at "},
		"one of an authority not trusted": {stranger.issue("operator", time.Hour), "known and trusted there?"},
	}
	for version, label := range map[uint16]string{tls.VersionTLS12: "TLS 1.2", tls.VersionTLS13: "TLS 1.3"} {
		base, bundle := serveTLS(t, trusted.asksFor(version))
		for name, tc := range cases {
			t.Run(name+" under "+label, func(t *testing.T) {
				t.Parallel()
				client := connect(t, Config{BaseURL: base, TLS: TLSConfig{CABundle: bundle, ClientCertificate: tc.certificate}})
				exchange := client.Do(t.Context(), write(http.MethodPost, "/x", "{}"))
				if tc.say == "" {
					wantStatus(t, exchange, 200)
					return
				}
				// A create that the server's TLS refused was not read by anybody, and may be sent again.
				wantFailure(t, exchange, rest.NotSent, "POST /things: not sent: ", tc.say)
			})
		}
	}
}

func TestAClientCertificateStandsBesideACredential(t *testing.T) {
	t.Parallel()
	trusted := newAuthority(t)
	base, bundle := serveTLS(t, trusted.asksFor(tls.VersionTLS13))
	client := connect(t, Config{
		BaseURL: base, Credential: Credential{Bearer: &Bearer{NewSecret("t")}},
		TLS: TLSConfig{CABundle: bundle, ClientCertificate: trusted.issue("operator", time.Hour)},
	})
	wantStatus(t, client.Do(t.Context(), get("/x")), 200)
}

func TestAClientCertificateIsChecked(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	one, two := a.issue("one", time.Hour), a.issue("two", time.Hour)
	planted := func(kind string) Secret {
		return NewSecret(string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: []byte(canary)})))
	}
	cases := map[string]struct {
		pair ClientCertificate
		say  string
	}{
		"nothing":                    {ClientCertificate{}, "tls.crt of the Secret holds no PEM certificate"},
		"no PEM":                     {ClientCertificate{NewSecret(canary), one.Key}, "tls.crt of the Secret holds no PEM certificate"},
		"another block":              {ClientCertificate{planted(canary), one.Key}, "tls.crt of the Secret holds no PEM certificate"},
		"no key":                     {ClientCertificate{one.Certificate, NewSecret(canary)}, "tls.key of the Secret holds no PEM private key"},
		"an encrypted key":           {ClientCertificate{one.Certificate, planted("ENCRYPTED PRIVATE KEY")}, "not encrypted"},
		"the key of another one":     {ClientCertificate{one.Certificate, two.Key}, "do not belong together"},
		"a certificate that is none": {ClientCertificate{planted("CERTIFICATE"), one.Key}, "cannot be read"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := NewClient(Config{BaseURL: "https://h", TLS: TLSConfig{ClientCertificate: &tc.pair}})
			wrong := (*ConfigError)(nil)
			if !errors.As(err, &wrong) || wrong.Field != "tls.clientCertificate" || !strings.Contains(wrong.Message, tc.say) {
				t.Fatalf("error %v, want one that says %q", err, tc.say)
			}
			if strings.Contains(err.Error(), canary) {
				t.Errorf("the error shows a value: %v", err)
			}
		})
	}
}

func TestTheKeyOfAClientCertificateIsNotPrinted(t *testing.T) {
	t.Parallel()
	pair := newAuthority(t).issue("operator", time.Hour)
	client := connect(t, Config{BaseURL: "https://h", TLS: TLSConfig{ClientCertificate: pair}})
	key, _ := pem.Decode([]byte(pair.Key.Reveal()))
	for _, text := range []string{fmt.Sprintf("%+v %#v", pair, *pair), fmt.Sprintf("%+v", *client)} {
		if strings.Contains(text, "PRIVATE KEY") || bytes.Contains([]byte(text), key.Bytes) {
			t.Errorf("a key is shown: %s", text)
		}
	}
}
