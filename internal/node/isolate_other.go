//go:build !linux

package node

import (
	"fmt"
	"os"
	"runtime"
)

// Isolate needs namespaces, which only Linux has; it explains that and returns a failure.
func Isolate(func() int) int {
	fmt.Fprintln(os.Stderr, "node: nodes run on Linux alone, and this is", runtime.GOOS)
	return 1
}

// Folder is empty: there is no isolated process here.
func Folder() string { return "" }
