// Command init is all that runs in the container of a test: it ends when LXD asks it to.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGPWR, syscall.SIGTERM)
	<-asked
	_ = syscall.Reboot(syscall.LINUX_REBOOT_CMD_POWER_OFF)
}
