package server

import "syscall"

// prSetDumpable is PR_SET_DUMPABLE of prctl(2).
const prSetDumpable = 4

// hideFromSteps keeps the server's memory and environment, where its secrets are, from
// steps that run under the same user: /proc/<pid> of the server belongs to root from
// then on. A server that runs as root cannot hide from its own user, but its steps have
// other users (workers.IsolateUID).
func hideFromSteps() error {
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prSetDumpable, 0, 0); errno != 0 {
		return errno
	}
	return nil
}
