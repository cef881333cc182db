//go:build cluster

package charttest

import (
	"os"
	"testing"

	"github.com/restmapping/operator/internal/controlplane"
)

// The controller manager sums up aggregated ClusterRoles.
func TestMain(m *testing.M) {
	os.Exit(controlplane.Main(m, controlplane.Options{ControllerManager: true}))
}
