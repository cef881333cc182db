package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/restmapping/operator/internal/process"
)

// machine is one node: a containerd and a kubelet.
type machine struct {
	name string
	// dir holds what both keep.
	dir    string
	number int
}

func (n *machine) socket() string { return filepath.Join(n.dir, "containerd.sock") }

// startNode starts one node and waits until Kubernetes calls it ready.
func (c *Cluster) startNode(ctx context.Context, number int, pause string) error {
	name := "node-" + strconv.Itoa(number)
	n := &machine{name: name, number: number, dir: filepath.Join(c.dir, name)}
	if err := n.write(c.tools, c.Plane.ClientAuthority()); err != nil {
		return err
	}
	containerd := process.Config{
		Name: name + "-containerd", Path: c.tools.containerd, Args: []string{"--config", filepath.Join(n.dir, "containerd.toml")},
	}
	err := c.run(ctx, containerd, func(ctx context.Context) error {
		_, err := c.ctr(ctx, n, "version")
		return err
	})
	if err != nil {
		return err
	}
	if err := c.importTo(ctx, n, pause); err != nil {
		return err
	}
	kubelet := process.Config{Name: name + "-kubelet", Path: c.tools.kubelet, Args: []string{
		"--config=" + filepath.Join(n.dir, "kubelet.yaml"), "--kubeconfig=" + c.kubeconfig(), "--hostname-override=" + name,
		"--node-ip=" + address(number), "--root-dir=" + filepath.Join(n.dir, "kubelet"), "--cert-dir=" + filepath.Join(n.dir, "pki"),
		"--node-labels=restmapping.test/number=" + strconv.Itoa(number),
	}}
	if err := c.run(ctx, kubelet, func(ctx context.Context) error { return c.nodeReady(ctx, name) }); err != nil {
		return err
	}
	c.nodes = append(c.nodes, n)
	return nil
}

// nodeReady says why a node does not take pods yet.
func (c *Cluster) nodeReady(ctx context.Context, name string) error {
	node, err := c.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if len(node.Spec.Taints) > 0 {
		return fmt.Errorf("node %s still has the taint %s", name, node.Spec.Taints[0].Key)
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
			return nil
		}
	}
	return fmt.Errorf("node %s is not ready", name)
}

// Kill ends the first process of a pod's container as a crash does, without a word to it. The kubelet starts it again.
// containerID is what the pod's status says.
func (c *Cluster) Kill(ctx context.Context, node, containerID string) error {
	id := strings.TrimPrefix(containerID, "containerd://")
	for _, n := range c.nodes {
		if n.name != node {
			continue
		}
		out, err := c.ctr(ctx, n, "tasks", "list")
		if err != nil {
			return err
		}
		pid, err := findTask(out, id)
		if err != nil {
			return fmt.Errorf("%s: %w", node, err)
		}
		return syscall.Kill(pid, syscall.SIGKILL)
	}
	return fmt.Errorf("kill a container: there is no node %s", node)
}

// findTask reads the table of containerd's tasks: id, process, state.
func findTask(table, id string) (int, error) {
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[0] != id {
			continue
		}
		pid, err := strconv.Atoi(fields[1])
		if err != nil || pid <= 1 {
			return 0, fmt.Errorf("task %s has no process: %s", id, strings.TrimSpace(line))
		}
		return pid, nil
	}
	return 0, fmt.Errorf("no task %s", id)
}

// write makes the folders and configuration files of a node.
func (n *machine) write(t tools, clientAuthority string) error {
	for _, dir := range []string{"cni", "plugins", "pod-logs", "manifests"} {
		if err := os.MkdirAll(filepath.Join(n.dir, dir), 0o750); err != nil {
			return fmt.Errorf("folder of %s: %w", n.name, err)
		}
	}
	files := map[string]string{
		"containerd.toml": n.containerdConfig(t), "kubelet.yaml": n.kubeletConfig(clientAuthority),
		"cni/10-pods.conflist": n.podNetwork(),
		// No cluster DNS: pods use addresses.
		"resolv.conf": "",
	}
	var problems []error
	for name, content := range files {
		problems = append(problems, os.WriteFile(filepath.Join(n.dir, filepath.FromSlash(name)), []byte(content), 0o600))
	}
	return errors.Join(problems...)
}
