package node

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"github.com/restmapping/operator/internal/process"
)

// startScheduler starts what the control plane lacks.
func (c *Cluster) startScheduler(ctx context.Context) error {
	ports, err := process.FreePorts(ctx, 1)
	if err != nil {
		return err
	}
	scheduler := process.Config{Name: "kube-scheduler", Path: c.tools.scheduler, Args: []string{
		"--kubeconfig=" + c.kubeconfig(), "--leader-elect=false", "--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", ports[0]),
		"--cert-dir=" + filepath.Join(c.dir, "scheduler"), "--profiling=false",
		// Else it asks the API server for a certificate authority and waits for it.
		"--authentication-skip-lookup",
	}}
	return c.run(ctx, scheduler, nil)
}

// startProxy starts one kube-proxy for the one network of all nodes. It looks for its node first, and waits long when that is
// not there yet.
func (c *Cluster) startProxy(ctx context.Context) error {
	ports, err := process.FreePorts(ctx, 2)
	if err != nil {
		return err
	}
	file := filepath.Join(c.dir, "kube-proxy.yaml")
	if err := os.WriteFile(file, []byte(proxyConfig(c.kubeconfig(), ports[0], ports[1])), 0o600); err != nil {
		return fmt.Errorf("configuration of kube-proxy: %w", err)
	}
	return c.run(ctx, process.Config{Name: "kube-proxy", Path: c.tools.proxy, Args: []string{"--config=" + file}}, func(ctx context.Context) error {
		return get(ctx, fmt.Sprintf("http://127.0.0.1:%d/livez", ports[0]))
	})
}

// proxyConfig leaves the connection tracking of the kernel as it is: it belongs to the machine.
func proxyConfig(kubeconfig string, health, metrics int) string {
	return fmt.Sprintf(`
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: iptables
clientConnection: {kubeconfig: %s}
hostnameOverride: node-1
bindAddress: %s
healthzBindAddress: 127.0.0.1:%d
metricsBindAddress: 127.0.0.1:%d
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
`, kubeconfig, address(1), health, metrics)
}

// get asks for a health page.
func get(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", url, response.Status)
	}
	return nil
}
