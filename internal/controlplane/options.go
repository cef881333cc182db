package controlplane

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/restmapping/operator/internal/repository"
)

// Options says what to start and where. The zero value is a control plane in a temporary folder without a
// kube-controller-manager.
type Options struct {
	// Dir holds certificates, data and logs. A folder that is named here stays after Stop, and its data are used
	// again by the next start. Empty means a temporary folder, which Stop removes.
	Dir string
	// AssetsDir holds the programs. Empty means $KUBEBUILDER_ASSETS, and what is missing there comes from bin/ of this
	// repository.
	AssetsDir string
	// ControllerManager also starts kube-controller-manager. It is needed where a test relies on namespaces that
	// really go away, on owner references, on aggregated ClusterRoles or on Deployments.
	ControllerManager bool
	// APIServerPort makes kube-apiserver listen on this port, so that kubeconfigs outlive a restart. Zero means a free
	// one.
	APIServerPort int
	// NodeAddress lets nodes and pods in: kube-apiserver listens on every address, and advertises this one. Set it only
	// where the network is this cluster's alone, as internal/node does. Empty means loopback.
	NodeAddress string
	// Log receives a line per step. Nil means none.
	Log io.Writer
}

// MissingBinaryError says that a program of the control plane has not been built.
type MissingBinaryError struct {
	Name string
	// Dirs is where it was looked for.
	Dirs []string
}

func (e *MissingBinaryError) Error() string {
	return fmt.Sprintf("%s is not in %s: run `make controlplane`, or set KUBEBUILDER_ASSETS to the folder that holds it",
		e.Name, strings.Join(e.Dirs, " or "))
}

// programs are the paths of what is started.
type programs struct{ etcd, apiServer, controllerManager string }

// findPrograms looks up every program that the options ask for.
func findPrograms(options Options) (programs, error) {
	dirs, err := assetsDirs(options.AssetsDir)
	if err != nil {
		return programs{}, err
	}
	var found programs
	if found.etcd, err = findProgram(dirs, "etcd"); err != nil {
		return programs{}, err
	}
	if found.apiServer, err = findProgram(dirs, "kube-apiserver"); err != nil {
		return programs{}, err
	}
	if !options.ControllerManager {
		return found, nil
	}
	found.controllerManager, err = findProgram(dirs, "kube-controller-manager")
	return found, err
}

func findProgram(dirs []string, name string) (string, error) {
	for _, dir := range dirs {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path, nil
		}
	}
	return "", &MissingBinaryError{Name: name, Dirs: dirs}
}

// assetsDirs says where to look, in this order. The folder that KUBEBUILDER_ASSETS names usually has no
// kube-controller-manager, so bin/ of this repository comes after it.
func assetsDirs(given string) ([]string, error) {
	if given != "" {
		return []string{given}, nil
	}
	var dirs []string
	if dir := os.Getenv("KUBEBUILDER_ASSETS"); dir != "" {
		dirs = append(dirs, dir)
	}
	root, err := repository.Root()
	if err == nil {
		dirs = append(dirs, filepath.Join(root, "bin"))
	}
	if len(dirs) == 0 {
		return nil, fmt.Errorf("find etcd and kube-apiserver: %w; set KUBEBUILDER_ASSETS to their folder", err)
	}
	return dirs, nil
}
