package controlplane

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Names of the files in the pki folder.
const (
	caFile             = "ca.crt"
	serverFile         = "server"
	adminFile          = "admin"
	serviceAccountFile = "service-account.key"
)

// authority issues the certificates of one control plane.
type authority struct {
	certificate *x509.Certificate
	key         crypto.Signer
	pem         []byte
	// addresses are further ones that its servers answer at.
	addresses []net.IP
}

// pair is a certificate with its key, both in PEM.
type pair struct{ certificate, key []byte }

// lifetime is how long certificates hold: longer than any demo runs.
const lifetime = 30 * 24 * time.Hour

func newAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("key of the certificate authority: %w", err)
	}
	template := template("restmapping control plane")
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("certificate authority: %w", err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("certificate authority: %w", err)
	}
	return &authority{certificate: certificate, key: key, pem: block("CERTIFICATE", der)}, nil
}

// issue signs a certificate for a client (user and groups) that also serves on loopback addresses.
func (a *authority) issue(user string, groups ...string) (pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, fmt.Errorf("key of %s: %w", user, err)
	}
	template := template(user)
	template.Subject.Organization = groups
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}
	template.IPAddresses = append([]net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(10, 0, 0, 1)}, a.addresses...)
	template.DNSNames = []string{"localhost", "kubernetes.default.svc"}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return pair{}, fmt.Errorf("certificate of %s: %w", user, err)
	}
	keyPEM, err := encodeKey(key)
	if err != nil {
		return pair{}, err
	}
	return pair{certificate: block("CERTIFICATE", der), key: keyPEM}, nil
}

func template(name string) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    now.Add(-time.Minute),
		NotAfter:     now.Add(lifetime),
	}
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode a key: %w", err)
	}
	// Not PKCS #8: kube-apiserver cannot read the public half of a ServiceAccount key from that.
	return block("EC PRIVATE KEY", der), nil
}

func block(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// credentials are the certificates of one control plane, in memory and as files below pki.
type credentials struct {
	dir   string
	ca    []byte
	admin pair
}

func (c *credentials) path(name string) string { return filepath.Join(c.dir, name) }

// writeCredentials makes new certificates below dir, also for the nodes' address where there is one. The key that signs ServiceAccount tokens is kept when it is there
// already, so that tokens stay valid when a control plane starts again on old data.
func writeCredentials(dir, nodeAddress string) (*credentials, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("folder of certificates: %w", err)
	}
	ca, err := newAuthority()
	if err != nil {
		return nil, err
	}
	if address := net.ParseIP(nodeAddress); address != nil {
		ca.addresses = append(ca.addresses, address)
	}
	server, err := ca.issue("kube-apiserver")
	if err != nil {
		return nil, err
	}
	admin, err := ca.issue("admin", "system:masters")
	if err != nil {
		return nil, err
	}
	c := &credentials{dir: dir, ca: ca.pem, admin: admin}
	files := map[string][]byte{
		caFile: ca.pem, serverFile + ".crt": server.certificate, serverFile + ".key": server.key,
		adminFile + ".crt": admin.certificate, adminFile + ".key": admin.key,
	}
	for name, content := range files {
		if err := os.WriteFile(c.path(name), content, 0o600); err != nil {
			return nil, fmt.Errorf("write %s: %w", name, err)
		}
	}
	return c, keepServiceAccountKey(c.path(serviceAccountFile))
}

func keepServiceAccountKey(path string) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("key of ServiceAccount tokens: %w", err)
	}
	encoded, err := encodeKey(key)
	if err != nil {
		return err
	}
	return os.WriteFile(path, encoded, 0o600)
}
