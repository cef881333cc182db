package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/restmapping/operator/internal/controlplane"
	"github.com/restmapping/operator/internal/process"
	"github.com/restmapping/operator/internal/repository"
)

// startLimit bounds the start of a whole cluster, also on a busy machine.
const startLimit = 5 * time.Minute

// Options say what to start.
type Options struct {
	// Nodes is how many there are; one by default, and nine at most.
	Nodes int
	// Log receives a line per step. Nil means none.
	Log io.Writer
}

// Cluster is a running cluster. Its owner must call Stop.
type Cluster struct {
	Plane *controlplane.ControlPlane

	root, dir string
	log       io.Writer
	tools     tools
	client    kubernetes.Interface
	nodes     []*machine
	services  []*process.Process
}

// Start starts a cluster inside the process that Isolate made, and returns when all nodes are ready. Where it cannot run the
// error is an *UnsupportedError.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	root, err := repository.Root()
	if err != nil {
		return nil, err
	}
	found, err := findTools(root)
	if err != nil {
		return nil, err
	}
	if Folder() == "" {
		return nil, errors.New("start nodes: call node.Isolate first, so that they get a network and mounts of their own")
	}
	if options.Nodes = max(options.Nodes, 1); options.Nodes > 9 {
		return nil, fmt.Errorf("start %d nodes: nine at most, their addresses are counted in one digit", options.Nodes)
	}
	c := &Cluster{root: root, dir: Folder(), log: options.Log, tools: found}
	if c.log == nil {
		c.log = io.Discard
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	if err := c.start(ctx, options.Nodes); err != nil {
		return nil, errors.Join(fmt.Errorf("start the nodes: %w", err), c.Stop())
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context, nodes int) error {
	if err := os.MkdirAll(filepath.Join(c.dir, "logs"), 0o750); err != nil {
		return err
	}
	if err := c.network(ctx, nodes); err != nil {
		return err
	}
	plane, err := controlplane.Start(ctx, controlplane.Options{
		Dir: filepath.Join(c.dir, "logs", "controlplane"), ControllerManager: true, NodeAddress: address(1), Log: c.log,
	})
	if err != nil {
		return err
	}
	c.Plane = plane
	if c.client, err = kubernetes.NewForConfig(plane.Admin()); err != nil {
		return err
	}
	if err := controlplane.WriteKubeconfig(c.kubeconfig(), plane.Admin()); err != nil {
		return err
	}
	if err := c.startScheduler(ctx); err != nil {
		return err
	}
	pause, err := c.pauseImage(ctx)
	if err != nil {
		return err
	}
	for number := 1; number <= nodes; number++ {
		if err := c.startNode(ctx, number, pause); err != nil {
			return err
		}
	}
	return c.startProxy(ctx)
}

// Admin returns access as a member of system:masters. It works inside the isolated process and its children alone.
func (c *Cluster) Admin() *rest.Config { return c.Plane.Admin() }

// kubeconfig is the file for all programs of the cluster: they are the administrator.
func (c *Cluster) kubeconfig() string { return filepath.Join(c.dir, "kubeconfig") }

// Names are the names of the nodes.
func (c *Cluster) Names() []string {
	var names []string
	for _, n := range c.nodes {
		names = append(names, n.name)
	}
	return names
}

// run starts one program and keeps it until Stop. ready may be nil.
func (c *Cluster) run(ctx context.Context, config process.Config, ready func(context.Context) error) error {
	began := time.Now()
	config.LogFile = filepath.Join(c.dir, "logs", config.Name+".log")
	p, err := process.Start(config)
	if err != nil {
		return err
	}
	c.services = append(c.services, p)
	if ready == nil {
		return nil
	}
	if err := p.WaitReady(ctx, ready); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.log, "%s is ready after %.1f s (log: %s)\n", config.Name, time.Since(began).Seconds(), config.LogFile)
	return err
}

// grace is how long a program may take to end by itself. What is left the kernel ends together with the isolated process.
const grace = 5 * time.Second

// Stop ends everything in the opposite order of its start. Containers that still run end with the isolated process.
func (c *Cluster) Stop() error {
	for _, p := range slices.Backward(c.services) {
		p.Stop(grace)
	}
	c.services = nil
	if c.Plane == nil {
		return nil
	}
	err := c.Plane.Stop()
	c.Plane = nil
	return err
}
