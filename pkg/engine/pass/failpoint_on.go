//go:build failpoints

package pass

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

// The crash tests set these for the operator that they run as a child.
const (
	// crashAt is <point> or <point>:<n>: the process ends at the n-th arrival at that point, as by a power cut.
	crashAt = "RESTMAPPING_CRASH_AT"
	// crashHold set to "true" keeps the arrivals before that one at the point, so that n workers are there at the end.
	crashHold = "RESTMAPPING_CRASH_HOLD"
)

// arrivals counts how often the point was reached.
var arrivals atomic.Int64 //nolint:gochecknoglobals // of one process, and of test builds alone

// failpoint ends the process without any farewell when this is the point and the arrival that the environment names.
func failpoint(name string) {
	point, count, found := strings.Cut(os.Getenv(crashAt), ":") //nolint:forbidigo // of test builds alone
	if point != name {
		return
	}
	last := int64(1)
	if n, err := strconv.ParseInt(count, 10, 64); found && err == nil {
		last = n
	}
	if arrivals.Add(1) < last {
		if os.Getenv(crashHold) == "true" { //nolint:forbidigo // of test builds alone
			select {}
		}
		return
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
		panic(err)
	}
	select {}
}
