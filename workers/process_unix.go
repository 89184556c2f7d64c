//go:build unix

package workers

import (
	"os"
	"os/exec"
	"syscall"
)

// session is the processes that a command has started.
type session struct {
	id      int // of the session and of its first process group
	mark    string
	uid     int // not 0: it is all processes of this user (Linux)
	process *os.Process
}

func ownSession(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

func (s session) ask()  { s.signal(syscall.SIGTERM) }
func (s session) kill() { s.signal(syscall.SIGKILL) }

// exitOf reads how a process ended.
func exitOf(p *os.ProcessState) (code int, signal string, fault bool) {
	ws, ok := p.Sys().(syscall.WaitStatus)
	if !ok || !ws.Signaled() {
		return p.ExitCode(), "", false
	}
	return -1, ws.Signal().String(), isFault(ws.Signal())
}

// isFault says whether a signal is one that programs raise by their own fault.
func isFault(s syscall.Signal) bool {
	switch s {
	case syscall.SIGKILL, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT:
		return false
	}
	return true
}
