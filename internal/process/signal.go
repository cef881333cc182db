package process

import "syscall"

// signalGroup sends a signal to the process group of a child. An error means that nobody is left to receive it.
func signalGroup(pid int, signal syscall.Signal) {
	_ = syscall.Kill(-pid, signal)
}
