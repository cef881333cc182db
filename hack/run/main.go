// Command run starts a control plane and the operator against it, for development: "make run". The data stay in
// .cache/run, so the next start goes on where this one ended. It must not be used for anything that matters: the
// operator is an administrator here.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/restmapping/operator/internal/controlplane"
	"github.com/restmapping/operator/internal/installation"
	"github.com/restmapping/operator/internal/repository"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "run:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	root, err := repository.Root()
	if err != nil {
		return err
	}
	dir := filepath.Join(root, ".cache", "run")
	options := controlplane.Options{Dir: filepath.Join(dir, "controlplane"), ControllerManager: true, Log: os.Stdout}
	plane, err := controlplane.Start(ctx, options)
	if err != nil {
		return err
	}
	kubeconfig := filepath.Join(dir, "kubeconfig")
	err = prepare(ctx, root, kubeconfig, plane)
	if err == nil {
		fmt.Printf("\n  export KUBECONFIG=%s\n  %s get restmappings\n\nCtrl-C ends it.\n\n", kubeconfig, filepath.Join(root, "bin", "kubectl"))
		err = operate(ctx, filepath.Join(root, "bin", "operator"), kubeconfig, args)
	}
	if stopErr := plane.Stop(); err == nil {
		err = stopErr
	}
	return err
}

// prepare writes the kubeconfig, and installs the CRDs and the operator's namespace.
func prepare(ctx context.Context, root, kubeconfig string, plane *controlplane.ControlPlane) error {
	if err := controlplane.WriteKubeconfig(kubeconfig, plane.Admin()); err != nil {
		return err
	}
	crds, err := filepath.Glob(filepath.Join(root, "deploy", "helm", "restmapping-operator", "files", "crds", "*.yaml"))
	if err != nil {
		return err
	}
	for _, path := range crds {
		if err := controlplane.ApplyFile(ctx, plane.Admin(), path); err != nil {
			return err
		}
	}
	return controlplane.ApplyYAML(ctx, plane.Admin(), []byte("{apiVersion: v1, kind: Namespace, metadata: {name: restmapping-system}}"))
}

// operate runs the operator until the context ends, and gives it time to stop in order.
func operate(ctx context.Context, path, kubeconfig string, args []string) error {
	all := append([]string{
		"--kubeconfig=" + kubeconfig, "--namespace=restmapping-system", "--log-format=console",
		installation.AllowLoopback,
		"--metrics-bind-address=127.0.0.1:8080", "--health-probe-bind-address=127.0.0.1:8081",
	}, args...)
	cmd := exec.CommandContext(ctx, path, all...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = time.Minute
	if err := cmd.Run(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("the operator: %w", err)
	}
	return nil
}
