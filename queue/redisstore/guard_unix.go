//go:build unix && !linux

package redisstore

import (
	"errors"
	"os/exec"
	"strconv"
	"syscall"
)

// startGuarded starts a command together with a shell that kills it when this
// process ends, however it ends: the shell reads a pipe that only we hold open.
// release ends the shell without a kill.
func startGuarded(cmd *exec.Cmd) (release func(), err error) {
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	guard := exec.Command("/bin/sh", "-c", `read -r line || kill -9 "$1"`, "sh", strconv.Itoa(cmd.Process.Pid))
	guard.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	pipe, err := guard.StdinPipe()
	if err == nil {
		err = guard.Start()
	}
	if err != nil {
		return nil, errors.Join(err, cmd.Process.Kill(), cmd.Wait())
	}
	return func() {
		_, _ = pipe.Write([]byte("\n")) // if the shell has ended, it guards nothing
		_ = guard.Wait()
	}, nil
}
