package main

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/restmapping/operator/internal/controlplane"
	"github.com/restmapping/operator/internal/installation"
	"github.com/restmapping/operator/internal/process"
)

const (
	// interval is the time between two looks at one object, workers how many are worked on at once: the same for both.
	interval = 10 * time.Second
	workers  = 10
	// requestRate is a limit that is never reached, so that the limiter's cost is in the figures and its effect is not.
	requestRate = 10000
)

// contender is a controller with a kind of its own.
type contender interface {
	child
	name() string
	group() string
	// prepare tells it of the REST server.
	prepare(ctx context.Context, url string) error
}

// child is a contender's process.
type child interface {
	// start runs it and returns when it is ready.
	start(ctx context.Context) error
	stop()
	pid() int
}

// operatorContender is the operator with the chart's ServiceAccount.
type operatorContender struct {
	plane              *controlplane.ControlPlane
	root, dir, program string
	running            *installation.Operator
}

func (*operatorContender) name() string  { return "operator" }
func (*operatorContender) group() string { return mappedGroup }

func (o *operatorContender) prepare(ctx context.Context, url string) error {
	return controlplane.ApplyYAML(ctx, o.plane.Admin(), []byte(endpoint(url)+"---\n"+mapping()))
}

func (o *operatorContender) start(ctx context.Context) error {
	running, err := installation.Start(ctx, o.plane, installation.Options{
		Root: o.root, Dir: o.dir, Program: o.program,
		// The API server's answer is the only limit: the handwritten controller has no other either.
		Args: []string{"--min-sync-interval=1s", installation.AllowLoopback, fmt.Sprintf("--concurrency=%d", workers), "--kube-api-qps=-1"},
	})
	o.running = running
	return err
}

func (o *operatorContender) stop() {
	if o.running != nil {
		o.running.Stop()
		o.running = nil
	}
}

func (o *operatorContender) pid() int { return o.running.PID() }

// handwrittenContender is the controller in e2e/bench/handwritten.
type handwrittenContender struct {
	plane        *controlplane.ControlPlane
	dir, program string
	url          string
	running      *process.Process
}

// newHandwritten builds the controller, as the operator is built.
func newHandwritten(ctx context.Context, plane *controlplane.ControlPlane, root, dir string) (*handwrittenContender, error) {
	program := filepath.Join(dir, "handwritten")
	cmd := exec.CommandContext(ctx, "go", "build", "-ldflags", "-s -w", "-o", program, "./e2e/bench/handwritten")
	cmd.Dir = root
	if output, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the handwritten controller: %w:\n%s", err, output)
	}
	return &handwrittenContender{plane: plane, dir: dir, program: program}, nil
}

func (*handwrittenContender) name() string  { return "handwritten" }
func (*handwrittenContender) group() string { return handwrittenGroup }

func (h *handwrittenContender) prepare(ctx context.Context, url string) error {
	h.url = url
	config, err := h.plane.As(ctx, namespace, account)
	if err != nil {
		return err
	}
	return controlplane.WriteKubeconfig(h.kubeconfig(), config)
}

func (h *handwrittenContender) kubeconfig() string {
	return filepath.Join(h.dir, "handwritten.kubeconfig")
}

const readyLimit = time.Minute

func (h *handwrittenContender) start(ctx context.Context) error {
	running, err := process.Retry(func() (*process.Process, error) { return h.startOnce(ctx) })
	h.running = running
	return err
}

func (h *handwrittenContender) startOnce(ctx context.Context) (*process.Process, error) {
	ports, err := process.FreePorts(ctx, 2)
	if err != nil {
		return nil, err
	}
	health := fmt.Sprintf("127.0.0.1:%d", ports[0])
	child, err := process.Start(process.Config{
		Name: "handwritten", Path: h.program, LogFile: filepath.Join(h.dir, "handwritten.log"),
		Args: []string{
			"--kubeconfig=" + h.kubeconfig(), "--url=" + h.url, "--health=" + health, fmt.Sprintf("--metrics=127.0.0.1:%d", ports[1]),
			"--interval=" + interval.String(), fmt.Sprintf("--workers=%d", workers), fmt.Sprintf("--rate=%d", requestRate),
		},
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	if err := child.WaitReady(ctx, func(ctx context.Context) error { return healthy(ctx, "http://"+health+"/readyz") }); err != nil {
		child.Stop(stopGrace)
		return nil, err
	}
	return child, nil
}

const stopGrace = 30 * time.Second

func (h *handwrittenContender) stop() {
	if h.running != nil {
		h.running.Stop(stopGrace)
		h.running = nil
	}
}

func (h *handwrittenContender) pid() int { return h.running.PID() }

func healthy(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", url, resp.Status)
	}
	return nil
}
