package controlplane

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"

	"github.com/restmapping/operator/internal/process"
)

// startEtcd starts the database. It writes nothing to disk in time (--unsafe-no-fsync): it need not survive a power
// cut. Only clients with a certificate of this control plane get in.
func (c *ControlPlane) startEtcd(ctx context.Context, clientPort, peerPort int) error {
	c.etcdURL = fmt.Sprintf("https://127.0.0.1:%d", clientPort)
	peerURL := fmt.Sprintf("http://127.0.0.1:%d", peerPort)
	args := []string{
		"--name=default", "--data-dir=" + filepath.Join(c.dir, "etcd"), "--unsafe-no-fsync",
		"--listen-client-urls=" + c.etcdURL, "--advertise-client-urls=" + c.etcdURL,
		"--listen-peer-urls=" + peerURL, "--initial-advertise-peer-urls=" + peerURL, "--initial-cluster=default=" + peerURL,
		// The peer port of an earlier start stands in the data; this member is always alone.
		"--force-new-cluster=" + fmt.Sprint(c.hasData()),
		"--client-cert-auth", "--trusted-ca-file=" + c.credentials.path(caFile),
		"--cert-file=" + c.credentials.path(serverFile+".crt"), "--key-file=" + c.credentials.path(serverFile+".key"),
		"--log-level=warn",
	}
	client, err := c.client()
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	config := process.Config{Name: "etcd", Path: c.programs.etcd, Args: args}
	return c.run(ctx, config, 10*time.Second, func(ctx context.Context) error {
		return get(ctx, client, c.etcdURL+"/health")
	})
}

// startAPIServer starts kube-apiserver. Priority and fairness is off, because it slows down one client that is as busy
// as a test.
func (c *ControlPlane) startAPIServer(ctx context.Context, port int) error {
	url := fmt.Sprintf("https://127.0.0.1:%d", port)
	c.admin = &rest.Config{
		Host:            url,
		TLSClientConfig: rest.TLSClientConfig{CAData: c.credentials.ca, CertData: c.credentials.admin.certificate, KeyData: c.credentials.admin.key},
		// No limit on the client's side: tests are to see how fast the server is.
		QPS: -1,
	}
	client, err := c.client()
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	config := process.Config{Name: "kube-apiserver", Path: c.programs.apiServer, Args: c.apiServerArguments(port)}
	return c.run(ctx, config, 3*time.Second, func(ctx context.Context) error {
		return get(ctx, client, url+"/readyz")
	})
}

func (c *ControlPlane) apiServerArguments(port int) []string {
	pki := c.credentials.path
	return append(c.addressArguments(), []string{
		fmt.Sprintf("--secure-port=%d", port),
		"--cert-dir=" + pki(""), "--tls-cert-file=" + pki(serverFile+".crt"), "--tls-private-key-file=" + pki(serverFile+".key"),
		"--client-ca-file=" + pki(caFile),
		"--etcd-servers=" + c.etcdURL, "--etcd-cafile=" + pki(caFile),
		"--etcd-certfile=" + pki(adminFile+".crt"), "--etcd-keyfile=" + pki(adminFile+".key"),
		"--authorization-mode=RBAC", "--anonymous-auth=false",
		"--service-account-issuer=https://kubernetes.default.svc", "--api-audiences=https://kubernetes.default.svc",
		"--service-account-signing-key-file=" + pki(serviceAccountFile), "--service-account-key-file=" + pki(serviceAccountFile),
		"--service-cluster-ip-range=10.0.0.0/24",
		"--enable-priority-and-fairness=false", "--allow-privileged", "--profiling=false",
	}...)
}

// addressArguments say where the API server listens. With nodes it also tells them, through the Service "kubernetes", and it
// asks kubelets for logs as the administrator.
func (c *ControlPlane) addressArguments() []string {
	if c.nodeAddress == "" {
		return []string{"--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none"}
	}
	return []string{
		"--bind-address=0.0.0.0", "--advertise-address=" + c.nodeAddress, "--kubelet-preferred-address-types=InternalIP",
		"--kubelet-client-certificate=" + c.credentials.path(adminFile+".crt"), "--kubelet-client-key=" + c.credentials.path(adminFile+".key"),
	}
}

// startControllerManager starts the controllers of Kubernetes itself, as the administrator.
func (c *ControlPlane) startControllerManager(ctx context.Context, port int) error {
	kubeconfig := c.credentials.path("controller-manager.kubeconfig")
	if err := WriteKubeconfig(kubeconfig, c.admin); err != nil {
		return err
	}
	pki := c.credentials.path
	args := []string{
		"--kubeconfig=" + kubeconfig, "--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port),
		"--cert-dir=" + pki(""), "--tls-cert-file=" + pki(serverFile+".crt"), "--tls-private-key-file=" + pki(serverFile+".key"),
		"--service-account-private-key-file=" + pki(serviceAccountFile), "--root-ca-file=" + pki(caFile),
		"--leader-elect=false", "--profiling=false",
	}
	client, err := c.client()
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	config := process.Config{Name: "kube-controller-manager", Path: c.programs.controllerManager, Args: args}
	return c.run(ctx, config, 3*time.Second, func(ctx context.Context) error {
		return get(ctx, client, fmt.Sprintf("https://127.0.0.1:%d/healthz", port))
	})
}

// hasData says whether an earlier start left a database behind.
func (c *ControlPlane) hasData() bool {
	found, err := filepath.Glob(filepath.Join(c.dir, "etcd", "member", "*"))
	return err == nil && len(found) > 0
}

// client is an HTTP client with the administrator's certificate. Its owner closes the idle connections.
func (c *ControlPlane) client() (*http.Client, error) {
	certificate, err := tls.X509KeyPair(c.credentials.admin.certificate, c.credentials.admin.key)
	if err != nil {
		return nil, fmt.Errorf("certificate of the administrator: %w", err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(c.credentials.ca)
	config := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, Certificates: []tls.Certificate{certificate}}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: config}, Timeout: 5 * time.Second}, nil
}

// get asks for a health page.
func get(ctx context.Context, client *http.Client, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", url, response.Status)
	}
	return nil
}
