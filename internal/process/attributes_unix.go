//go:build unix && !linux

package process

import "syscall"

// attributes puts the child into its own process group, so that Ctrl-C in a terminal reaches only the parent, which
// then stops its children in order. Only Linux can also kill a child when its parent dies.
func attributes(user *User) *syscall.SysProcAttr {
	attributes := &syscall.SysProcAttr{Setpgid: true}
	if user != nil {
		attributes.Credential = &syscall.Credential{Uid: user.UID, Gid: user.GID}
	}
	return attributes
}
