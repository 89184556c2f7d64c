package redisstore

import (
	"os/exec"
	"syscall"
)

// startGuarded starts a command that the kernel kills when the calling thread
// ends; the caller keeps its thread until then.
func startGuarded(cmd *exec.Cmd) (release func(), err error) {
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	return func() {}, cmd.Start()
}
