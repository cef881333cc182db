package controlplane

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/client-go/rest"

	"github.com/restmapping/operator/internal/process"
)

// startLimit bounds one attempt to start, also on a busy machine.
const startLimit = 3 * time.Minute

// ControlPlane is a running control plane. Its owner must call Stop.
type ControlPlane struct {
	dir         string
	nodeAddress string
	temporary   bool
	log         io.Writer
	programs    programs
	credentials *credentials
	admin       *rest.Config
	etcdURL     string
	children    []child // in the order of their start
}

// child is a process with the time it gets to end by itself.
type child struct {
	*process.Process

	name  string
	grace time.Duration
}

// Start starts a control plane and returns when its API server is ready. The context bounds the start alone.
func Start(ctx context.Context, options Options) (*ControlPlane, error) {
	found, err := findPrograms(options)
	if err != nil {
		return nil, err
	}
	c, err := process.Retry(func() (*ControlPlane, error) { return startOnce(ctx, options, found) })
	if err != nil {
		return nil, fmt.Errorf("start the control plane: %w", err)
	}
	return c, nil
}

func startOnce(ctx context.Context, options Options, found programs) (*ControlPlane, error) {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	c, err := prepare(options, found)
	if err != nil {
		return nil, err
	}
	if err := c.startAll(ctx, options); err != nil {
		c.stopChildren()
		// The folder stays, although it may be a temporary one: the error names log files in it.
		return nil, err
	}
	return c, nil
}

// prepare makes the folder and the certificates.
func prepare(options Options, found programs) (*ControlPlane, error) {
	c := &ControlPlane{dir: options.Dir, nodeAddress: options.NodeAddress, log: options.Log, programs: found}
	if c.log == nil {
		c.log = io.Discard
	}
	if c.dir == "" {
		dir, err := os.MkdirTemp("", "restmapping-controlplane-")
		if err != nil {
			return nil, fmt.Errorf("folder of the control plane: %w", err)
		}
		c.dir, c.temporary = dir, true
	}
	dir, err := filepath.Abs(c.dir)
	if err != nil {
		return nil, fmt.Errorf("folder of the control plane: %w", err)
	}
	c.dir = dir
	c.credentials, err = writeCredentials(filepath.Join(dir, "pki"), options.NodeAddress)
	return c, err
}

func (c *ControlPlane) startAll(ctx context.Context, options Options) error {
	ports, err := process.FreePorts(ctx, 4)
	if err != nil {
		return err
	}
	if options.APIServerPort != 0 {
		ports[2] = options.APIServerPort
	}
	if err := c.startEtcd(ctx, ports[0], ports[1]); err != nil {
		return err
	}
	if err := c.startAPIServer(ctx, ports[2]); err != nil {
		return err
	}
	if !options.ControllerManager {
		return nil
	}
	return c.startControllerManager(ctx, ports[3])
}

// run starts one child and waits until it is ready.
func (c *ControlPlane) run(ctx context.Context, config process.Config, grace time.Duration, ready func(context.Context) error) error {
	began := time.Now()
	config.LogFile = filepath.Join(c.dir, config.Name+".log")
	p, err := process.Start(config)
	if err != nil {
		return err
	}
	c.children = append(c.children, child{Process: p, name: config.Name, grace: grace})
	if err := p.WaitReady(ctx, ready); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.log, "%s is ready after %.1f s (log: %s)\n", config.Name, time.Since(began).Seconds(), config.LogFile)
	return err
}

// Dir is the folder that holds data and logs.
func (c *ControlPlane) Dir() string { return c.dir }

// ClientAuthority is the file with the authority of all clients' certificates, which a kubelet needs to let the API server in.
func (c *ControlPlane) ClientAuthority() string { return c.credentials.path(caFile) }

// Stop ends all processes in the opposite order of their start, waits for each, and removes a temporary folder.
func (c *ControlPlane) Stop() error {
	c.stopChildren()
	if !c.temporary {
		return nil
	}
	if err := os.RemoveAll(c.dir); err != nil {
		return fmt.Errorf("remove the folder of the control plane: %w", err)
	}
	return nil
}

func (c *ControlPlane) stopChildren() {
	for _, child := range slices.Backward(c.children) {
		child.Stop(child.grace)
	}
	c.children = nil
}
