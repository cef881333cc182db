package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
)

// The network namespace is the cluster's alone, so that these ranges can clash with nothing.
const (
	bridge = "node0"
	prefix = "172.30.99."
)

// address is that of a node, from 1; the first one is the API server's as well.
func address(number int) string { return prefix + strconv.Itoa(number) }

// pods is the range of a node's pods.
func pods(number int) string { return fmt.Sprintf("10.97.%d.0/24", number) }

// network gives the isolated process a loopback and a bridge with the addresses of all nodes. All nodes share one network: pods
// of all of them reach each other over routes to their own interfaces.
func (c *Cluster) network(ctx context.Context, nodes int) error {
	steps := [][]string{{"link", "set", "lo", "up"}, {"link", "add", bridge, "type", "bridge"}}
	for number := 1; number <= nodes; number++ {
		steps = append(steps, []string{"address", "add", address(number) + "/24", "dev", bridge})
	}
	steps = append(steps, []string{"link", "set", bridge, "up"}, []string{"route", "add", "default", "dev", bridge})
	for _, step := range steps {
		if out, err := exec.CommandContext(ctx, c.tools.ip, step...).CombinedOutput(); err != nil {
			return fmt.Errorf("network of the nodes: ip %v: %w: %s", step, err, out)
		}
	}
	// Services are reached by rewriting addresses, also from the node itself, and packets go from pod to pod.
	return errors.Join(setting("net/ipv4/ip_forward", "1"), setting("net/ipv4/conf/all/route_localnet", "1"))
}

// setting writes a kernel setting that belongs to the network namespace.
func setting(name, value string) error {
	if err := os.WriteFile("/proc/sys/"+name, []byte(value), 0o600); err != nil {
		return fmt.Errorf("network of the nodes: %w", err)
	}
	return nil
}
