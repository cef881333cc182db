package controlplane

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"os"
	"testing"
)

func TestCredentials(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, err := writeCredentials(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	key, err := os.ReadFile(first.path(serviceAccountFile))
	if err != nil {
		t.Fatal(err)
	}
	second, err := writeCredentials(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	again, err := os.ReadFile(second.path(serviceAccountFile))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(key, again) {
		t.Error("the key of ServiceAccount tokens was not kept")
	}
	if bytes.Equal(first.ca, second.ca) {
		t.Error("two starts share a certificate authority")
	}
	if info, err := os.Stat(second.path(serviceAccountFile)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others can read the key: %v, %v", info.Mode(), err)
	}
}

func TestCertificatesServeAllAddressesAndNameTheGroup(t *testing.T) {
	t.Parallel()
	c, err := writeCredentials(t.TempDir(), "172.30.99.1")
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := tls.LoadX509KeyPair(c.path(serverFile+".crt"), c.path(serverFile+".key"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(c.ca)
	for _, name := range []string{"127.0.0.1", "10.0.0.1", "172.30.99.1", "localhost", "kubernetes.default.svc"} {
		if _, err := loaded.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: name}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	admin, err := tls.X509KeyPair(c.admin.certificate, c.admin.key)
	if err != nil {
		t.Fatal(err)
	}
	if groups := admin.Leaf.Subject.Organization; len(groups) != 1 || groups[0] != "system:masters" {
		t.Errorf("groups of the administrator: %v", groups)
	}
	if groups := loaded.Leaf.Subject.Organization; len(groups) != 0 {
		t.Errorf("the server's certificate has the groups %v", groups)
	}
}
