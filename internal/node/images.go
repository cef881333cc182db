package node

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/restmapping/operator/internal/ociimage"
)

// pauseReference is the image that holds the network of each pod.
const pauseReference = "restmapping.test/pause:1"

// pauseImage builds that image and gives its archive.
func (c *Cluster) pauseImage(ctx context.Context) (string, error) {
	program, archive := filepath.Join(c.dir, "pause"), filepath.Join(c.dir, "pause.tar")
	build := ociimage.Build{Root: c.root, Package: "./internal/node/pause"}
	if err := build.Compile(ctx, program); err != nil {
		return "", err
	}
	image, err := ociimage.New(ociimage.Spec{Program: program, Name: "pause", Arch: runtime.GOARCH})
	if err != nil {
		return "", err
	}
	return archive, ociimage.WriteArchive(archive, pauseReference, image)
}

// Import makes an image known to all nodes, from an archive that ociimage.WriteArchive wrote. Pods then need the pull policy
// IfNotPresent or Never.
func (c *Cluster) Import(ctx context.Context, archive string) error {
	for _, n := range c.nodes {
		if err := c.importTo(ctx, n, archive); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) importTo(ctx context.Context, n *machine, archive string) error {
	_, err := c.ctr(ctx, n, "images", "import", archive)
	return err
}

// ctr runs containerd's own client in the namespace of the kubelet.
func (c *Cluster) ctr(ctx context.Context, n *machine, args ...string) (string, error) {
	args = append([]string{"--address", n.socket(), "--namespace", "k8s.io"}, args...)
	out, err := exec.CommandContext(ctx, c.tools.ctr, args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: ctr %v: %w: %s", n.name, args[4:], err, out)
	}
	return string(out), nil
}
