//go:build unix && !linux

package workers

import "syscall"

// signal sends sig to the session's first process group.
func (s session) signal(sig syscall.Signal) {
	if s.id != 0 {
		_ = syscall.Kill(-s.id, sig) // gone meanwhile is what we want
	}
}

// alive says by 1 that the group has a process.
func (s session) alive() int {
	if s.id != 0 && syscall.Kill(-s.id, 0) == nil {
		return 1
	}
	return 0
}
