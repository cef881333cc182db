//go:build failpoints

package pass

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// TestFailpointKillsAtTheNamedArrival runs itself as the child that has to die at its second arrival.
func TestFailpointKillsAtTheNamedArrival(t *testing.T) {
	if os.Getenv(crashAt) != "" {
		failpoint("elsewhere")
		failpoint("here")
		if os.Getenv("FAILPOINT_TWICE") == "true" {
			failpoint("here")
		}
		os.Exit(3)
	}
	for name, test := range map[string]struct {
		twice  string
		killed bool
	}{
		"the first of two is survived": {"false", false},
		"the second is the end":        {"true", true},
	} {
		t.Run(name, func(t *testing.T) {
			child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFailpointKillsAtTheNamedArrival$")
			child.Env = append(os.Environ(), crashAt+"=here:2", "FAILPOINT_TWICE="+test.twice)
			exit := (*exec.ExitError)(nil)
			if err := child.Run(); !errors.As(err, &exit) {
				t.Fatalf("the child ended with %v", err)
			}
			status, ok := exit.Sys().(syscall.WaitStatus)
			if !ok {
				t.Fatalf("no wait status: %v", exit)
			}
			if killed := status.Signaled() && status.Signal() == syscall.SIGKILL; killed != test.killed {
				t.Errorf("killed: %v, exit code %d", killed, status.ExitStatus())
			}
		})
	}
}
