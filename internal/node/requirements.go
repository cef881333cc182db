package node

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// UnsupportedError says why nodes cannot run on this machine, and what to do instead.
type UnsupportedError struct{ Reasons []string }

func (e *UnsupportedError) Error() string {
	return "no node can run on this machine: " + strings.Join(e.Reasons, "; ")
}

// pluginFolders are where Debian keeps CNI plugins, and where other distributions do.
var pluginFolders = []string{"/usr/lib/cni", "/opt/cni/bin", "/usr/libexec/cni"}

// tools are programs of the system, by name.
type tools struct {
	containerd, ctr, runc, ip string
	plugins                   string
	// kubelet, scheduler and proxy come from bin/ of the repository.
	kubelet, scheduler, proxy string
}

// Check says why nodes cannot run here, as an *UnsupportedError; nil means that they can. root is the repository's folder.
func Check(root string) error {
	_, err := findTools(root)
	return err
}

// findTools looks everything up, and collects all that is missing before it complains.
func findTools(root string) (tools, error) {
	var reasons []string
	if runtime.GOOS != "linux" {
		return tools{}, &UnsupportedError{Reasons: []string{"it runs " + runtime.GOOS + ", not Linux"}}
	}
	if os.Geteuid() != 0 {
		reasons = append(reasons, "this is not root, who alone may make network interfaces and mounts")
	}
	if _, err := os.Stat("/sys/fs/cgroup/memory/cgroup.procs"); err != nil {
		reasons = append(reasons, "its cgroups are not of version 1, and only these have been tried")
	}
	var found tools
	system := func(target *string, name, packageName string) {
		path, err := exec.LookPath(name)
		if err != nil {
			reasons = append(reasons, fmt.Sprintf("%s is not installed (Debian package %s)", name, packageName))
		}
		*target = path
	}
	var unused string
	system(&found.containerd, "containerd", "containerd")
	system(&found.ctr, "ctr", "containerd")
	system(&found.runc, "runc", "runc")
	system(&found.ip, "ip", "iproute2")
	system(&unused, "iptables", "iptables")
	system(&unused, "conntrack", "conntrack")
	built := func(target *string, name string) {
		*target = filepath.Join(root, "bin", name)
		if _, err := os.Stat(*target); err != nil {
			reasons = append(reasons, fmt.Sprintf("bin/%s has not been built (hack/build.sh node)", name))
		}
	}
	built(&found.kubelet, "kubelet")
	built(&found.scheduler, "kube-scheduler")
	built(&found.proxy, "kube-proxy")
	found.plugins = pluginFolder()
	if found.plugins == "" {
		reasons = append(reasons, "the CNI plugins ptp and host-local are not installed (Debian package containernetworking-plugins)")
	}
	if len(reasons) > 0 {
		return tools{}, &UnsupportedError{Reasons: reasons}
	}
	return found, nil
}

// pluginFolder is the first folder that holds the plugins that are needed; "" when none does.
func pluginFolder() string {
	for _, folder := range pluginFolders {
		complete := true
		for _, plugin := range []string{"ptp", "host-local", "loopback"} {
			if _, err := os.Stat(filepath.Join(folder, plugin)); err != nil {
				complete = false
			}
		}
		if complete {
			return folder
		}
	}
	return ""
}
