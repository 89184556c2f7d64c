//go:build !unix

package workers

import (
	"os"
	"os/exec"
)

// session is the shell alone: this system has no process groups that we use.
type session struct {
	id      int
	mark    string
	uid     int
	process *os.Process
}

func ownSession(*exec.Cmd) {}

func (s session) ask() { s.kill() }

func (s session) kill() {
	if s.process != nil {
		_ = s.process.Kill() // ended already is what we want
	}
}

func (session) alive() int { return 0 }

func exitOf(p *os.ProcessState) (code int, signal string, fault bool) {
	return p.ExitCode(), "", false
}
