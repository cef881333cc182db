package servers

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/restmapping/operator/internal/process"
)

// lxdProgram is where Debian and Ubuntu install it.
const lxdProgram = "/usr/bin/lxd"

// ErrNotRoot says that a server cannot run without privileges.
var ErrNotRoot = errors.New("lxd needs root")

// LXD is a running LXD that trusts one client certificate. Its owner must call Stop.
type LXD struct {
	*single
	// ServerCertificate is what the server shows, and ClientCertificate and ClientKey are what it trusts, all PEM.
	ServerCertificate, ClientCertificate, ClientKey string
}

// StartLXD starts an LXD with its own data and returns when its API answers over TLS at BaseURL. It needs root. The
// context bounds the start alone.
func StartLXD(ctx context.Context, options Options) (*LXD, error) {
	if os.Geteuid() != 0 {
		return nil, ErrNotRoot
	}
	s, err := startSingle(ctx, options, singleConfig{
		name: "lxd", program: lxdProgram, asRoot: true,
		args: func(dir, _ string) []string { return []string{"--logfile", filepath.Join(dir, "daemon.log")} },
		env:  func(dir string) []string { return []string{"LXD_DIR=" + filepath.Join(dir, "var")} },
	})
	if err != nil {
		return nil, err
	}
	l := &LXD{single: s}
	if err := l.open(ctx); err != nil {
		_ = l.Stop()
		return nil, fmt.Errorf("start lxd: %w", err)
	}
	return l, nil
}

// open makes the server listen on a port and trust a new certificate.
func (l *LXD) open(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	err := l.started[0].WaitReady(ctx, func(ctx context.Context) error { return l.local(ctx, http.MethodGet, "/1.0", nil) })
	if err != nil {
		return err
	}
	der, err := l.makeCertificate()
	if err != nil {
		return err
	}
	trust := map[string]string{"type": "client", "name": "operator", "certificate": base64.StdEncoding.EncodeToString(der)}
	if err := l.local(ctx, http.MethodPost, "/1.0/certificates", trust); err != nil {
		return err
	}
	ports, err := process.FreePorts(ctx, 1)
	if err != nil {
		return err
	}
	address := fmt.Sprintf("127.0.0.1:%d", ports[0])
	config := map[string]any{"config": map[string]string{"core.https_address": address}}
	if err := l.local(ctx, http.MethodPatch, "/1.0", config); err != nil {
		return err
	}
	shown, err := os.ReadFile(filepath.Join(l.folder.path, "var", "server.crt"))
	l.BaseURL, l.ServerCertificate = "https://"+address, string(shown)
	return err
}

// local sends a request through the server's own socket, which needs no certificate.
func (l *LXD) local(ctx context.Context, method, path string, body any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://lxd"+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	socket := filepath.Join(l.folder.path, "var", "unix.socket")
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}
	client := &http.Client{Timeout: startLimit, Transport: &http.Transport{DisableKeepAlives: true, DialContext: dial}}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err == nil && response.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("%s %s: %s: %.300s", method, path, response.Status, answer)
	}
	return err
}

// makeCertificate makes the client's key pair and gives its certificate in DER.
func (l *LXD) makeCertificate() ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	const life = 30 * 24 * time.Hour
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "operator"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(life),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	l.ClientCertificate = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	l.ClientKey = string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
	return der, nil
}

// Stop ends LXD, takes away what it mounted, and removes its temporary folder.
func (l *LXD) Stop() error {
	stopAll(l.started)
	for _, name := range []string{"shmounts", "devlxd", "guestapi"} {
		_ = syscall.Unmount(filepath.Join(l.folder.path, "var", name), syscall.MNT_DETACH) // it may not be there
	}
	return l.folder.remove()
}
