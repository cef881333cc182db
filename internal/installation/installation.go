// Package installation puts the operator on a control plane as the chart does, and runs the built program as a child
// process with exactly the chart's ServiceAccount. The demo, the end-to-end tests and the benchmarks use it; the
// operator itself must not import it.
package installation

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/restmapping/operator/internal/chart"
	"github.com/restmapping/operator/internal/controlplane"
	"github.com/restmapping/operator/internal/process"
)

const (
	// Release is the chart's release, and so the ServiceAccount's name.
	Release = "restmapping-operator"
	// Namespace is the operator's own.
	Namespace = "restmapping-system"
)

// Prepare applies what the chart installs beside the Deployment: CRDs, ServiceAccount and rights. root is the
// repository's folder.
func Prepare(ctx context.Context, admin *rest.Config, root string, values map[string]any) error {
	manifest, err := chart.Render(ctx, filepath.Join(root, "bin", "helm"), filepath.Join(root, filepath.FromSlash(chart.Dir)), Release, Namespace, values)
	if err != nil {
		return err
	}
	objects, err := chart.Decode(manifest)
	if err != nil {
		return err
	}
	namespace := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": Namespace},
	}}
	wanted := append([]*unstructured.Unstructured{namespace}, chart.Definitions(objects)...)
	content, err := chart.Encode(append(wanted, chart.Identity(objects)...))
	if err != nil {
		return err
	}
	return controlplane.ApplyYAML(ctx, admin, content)
}

// AllowLoopback lets endpoints reach servers on this machine, where tests and the demo have theirs.
const AllowLoopback = "--allow-cidrs=127.0.0.0/8,::1/128"

// Options say how to run the operator.
type Options struct {
	// Root is the repository's folder, Dir where kubeconfig and log go.
	Root, Dir string
	// Program is the operator; bin/operator of the repository by default.
	Program string
	// Args are further flags, Env further variables.
	Args, Env []string
}

// Operator is the operator as a child process. Its owner must call Stop.
type Operator struct {
	child *process.Process
	// Metrics and Health are base URLs. LogFile is what it prints.
	Metrics, Health, LogFile string
}

// Start runs the operator with the chart's ServiceAccount and waits until it is ready.
func Start(ctx context.Context, plane *controlplane.ControlPlane, o Options) (*Operator, error) {
	account, err := plane.As(ctx, Namespace, Release)
	if err != nil {
		return nil, err
	}
	kubeconfig := filepath.Join(o.Dir, "operator.kubeconfig")
	if err := controlplane.WriteKubeconfig(kubeconfig, account); err != nil {
		return nil, err
	}
	if o.Program == "" {
		o.Program = filepath.Join(o.Root, "bin", "operator")
	}
	return process.Retry(func() (*Operator, error) { return start(ctx, o, kubeconfig) })
}

const readyTimeout = time.Minute

func start(ctx context.Context, o Options, kubeconfig string) (*Operator, error) {
	ports, err := process.FreePorts(ctx, 2)
	if err != nil {
		return nil, err
	}
	op := &Operator{
		Metrics: fmt.Sprintf("http://127.0.0.1:%d/metrics", ports[0]),
		Health:  fmt.Sprintf("http://127.0.0.1:%d", ports[1]),
		LogFile: filepath.Join(o.Dir, "operator.log"),
	}
	args := append([]string{
		"--kubeconfig=" + kubeconfig, "--namespace=" + Namespace,
		fmt.Sprintf("--metrics-bind-address=127.0.0.1:%d", ports[0]), fmt.Sprintf("--health-probe-bind-address=127.0.0.1:%d", ports[1]),
	}, o.Args...)
	op.child, err = process.Start(process.Config{Name: "operator", Path: o.Program, Args: args, Env: environment(o.Env), LogFile: op.LogFile})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	if err := op.child.WaitReady(ctx, op.ready); err != nil {
		op.Stop()
		return nil, err
	}
	return op, nil
}

// ready asks readyz.
func (o *Operator) ready(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, o.Health+"/readyz", nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 4096))
		return fmt.Errorf("readyz answered %d: %s", resp.StatusCode, text)
	}
	return nil
}

// PID is the process's number.
func (o *Operator) PID() int { return o.child.PID() }

// Done is closed when the process has ended.
func (o *Operator) Done() <-chan struct{} { return o.child.Done() }

// stopGrace is above the operator's default drain time.
const stopGrace = 75 * time.Second

// Stop ends the operator in order, as a pod is ended.
func (o *Operator) Stop() { o.child.Stop(stopGrace) }

// Kill ends the operator as a power cut does.
func (o *Operator) Kill() error {
	if err := syscall.Kill(o.child.PID(), syscall.SIGKILL); err != nil {
		return fmt.Errorf("kill the operator: %w", err)
	}
	<-o.child.Done()
	return nil
}
