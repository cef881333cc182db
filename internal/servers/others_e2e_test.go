//go:build e2e

package servers_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/restmapping/operator/internal/servers"
)

// ended stops a server and checks that it left nothing.
func ended(t *testing.T, dir string, stop func() error) {
	t.Helper()
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if left, _ := running(t, dir); len(left) > 0 {
		t.Errorf("still running after Stop: %v", left)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
}

func nobody(*http.Request) {}

func TestAlertmanager(t *testing.T) {
	t.Parallel()
	a, err := servers.StartAlertmanager(t.Context(), servers.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var silences []any
	if code := get(t, a.BaseURL+"/silences", nobody, &silences); code != http.StatusOK || len(silences) != 0 {
		t.Errorf("silences: %d %v", code, silences)
	}
	if _, root := running(t, a.Dir()); root {
		t.Error("it runs as root")
	}
	ended(t, a.Dir(), a.Stop)
}

func TestPowerDNS(t *testing.T) {
	t.Parallel()
	p, err := servers.StartPowerDNS(t.Context(), servers.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var zones []any
	key := func(r *http.Request) { r.Header.Set("X-API-Key", p.Key) }
	if code := get(t, p.BaseURL+"/zones", key, &zones); code != http.StatusOK || len(zones) != 0 {
		t.Errorf("zones: %d %v", code, zones)
	}
	if _, root := running(t, p.Dir()); root {
		t.Error("it runs as root")
	}
	ended(t, p.Dir(), p.Stop)
}

func TestToxiproxy(t *testing.T) {
	t.Parallel()
	p, err := servers.StartToxiproxy(t.Context(), servers.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var proxies map[string]any
	if code := get(t, p.BaseURL+"/proxies", nobody, &proxies); code != http.StatusOK || len(proxies) != 0 {
		t.Errorf("proxies: %d %v", code, proxies)
	}
	ended(t, p.Dir(), p.Stop)
}

func TestPocketBase(t *testing.T) {
	t.Parallel()
	p, err := servers.StartPocketBase(t.Context(), servers.Options{})
	if err != nil {
		t.Fatal(err)
	}
	login := strings.NewReader(`{"identity":"` + p.User + `","password":"` + p.Password + `"}`)
	response, err := http.Post(p.BaseURL+"/api/collections/_superusers/auth-with-password", "application/json", login)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Errorf("the superuser logs in: %s", response.Status)
	}
	ended(t, p.Dir(), p.Stop)
}

func TestLXD(t *testing.T) {
	t.Parallel()
	l, err := servers.StartLXD(t.Context(), servers.Options{})
	if errors.Is(err, servers.ErrNotRoot) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair([]byte(l.ClientCertificate), []byte(l.ClientKey))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(l.ServerCertificate))
	for name, c := range map[string]struct {
		certificates []tls.Certificate
		want         int
	}{"trusted": {[]tls.Certificate{pair}, http.StatusOK}, "without a certificate": {nil, http.StatusForbidden}} {
		config := &tls.Config{RootCAs: roots, Certificates: c.certificates}
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: config}}
		response, err := client.Get(l.BaseURL + "/1.0/projects")
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != c.want {
			t.Errorf("%s: %s", name, response.Status)
		}
	}
	ended(t, l.Dir(), l.Stop)
}
