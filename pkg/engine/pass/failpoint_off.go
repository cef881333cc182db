//go:build !failpoints

package pass

// failpoint is a place where the crash tests end the process; in what is shipped it is nothing.
func failpoint(string) {}
