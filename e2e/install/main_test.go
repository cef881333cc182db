//go:build install

package install_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/restmapping/operator/internal/node"
	"github.com/restmapping/operator/internal/repository"
)

// givenKubeconfig is the cluster that a person gave; empty means one of our own.
var givenKubeconfig = os.Getenv("INSTALL_KUBECONFIG")

// unsupported says why this machine cannot run nodes; nil means that it can, or need not.
var unsupported error

func TestMain(m *testing.M) {
	if givenKubeconfig != "" {
		os.Exit(m.Run())
	}
	root, err := repository.Root()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if unsupported = node.Check(root); unsupported != nil {
		fmt.Fprintf(os.Stderr, "SKIPPED: %v. Give a cluster that has the images of `make e2e-images` with INSTALL_KUBECONFIG=file instead.\n", unsupported)
		os.Exit(m.Run())
	}
	os.Exit(node.Isolate(func() int {
		code := m.Run()
		if started == nil {
			return code
		}
		if err := started.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return code
	}))
}
