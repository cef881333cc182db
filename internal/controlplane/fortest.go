package controlplane

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
)

// shared is the one control plane of a test binary. It is a package variable because Go's tests have no other place for
// what all tests of a package share; only ForTest and Main touch it.
var shared struct {
	once    sync.Once
	options *Options
	plane   *ControlPlane
	err     error
}

// ForTest returns the control plane that all tests of a package share. The first call starts it. Tests keep out of each
// other's way with namespaces and kinds of their own. The package needs a TestMain that calls Main.
func ForTest(tb testing.TB) *ControlPlane {
	tb.Helper()
	if shared.options == nil {
		tb.Fatal("controlplane.ForTest needs `func TestMain(m *testing.M) { os.Exit(controlplane.Main(m, controlplane.Options{})) }` in this package, which stops what it starts")
	}
	shared.once.Do(func() {
		//nolint:usetesting // it outlives the test that starts it; Start has a limit of its own
		shared.plane, shared.err = Start(context.Background(), *shared.options)
	})
	if shared.err != nil {
		tb.Fatal(shared.err)
	}
	return shared.plane
}

// Main runs the tests of a package and stops the control plane that they started, if any. It returns the exit code.
func Main(m *testing.M, options Options) int {
	shared.options = &options
	code := m.Run()
	if shared.plane == nil {
		return code
	}
	if err := shared.plane.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	return code
}
