package server

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// First is the work of process 1 of a container. It runs the same command in a separate
// process, passes signals on to it, and reaps all other processes that end. The kernel
// makes process 1 the parent of all processes that steps leave without one. The command
// itself cannot do that: it would take away the exit status of its own children, which
// other code waits for.
func First() int {
	self, err := os.Executable()
	var child *os.Process
	if err == nil {
		child, err = os.StartProcess(self, os.Args, &os.ProcAttr{Env: os.Environ(), Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "submitqueue: as process 1:", err)
		return 1
	}
	if err := hideFromSteps(); err != nil {
		fmt.Fprintln(os.Stderr, "submitqueue: steps may be able to read the server's environment:", err)
	}
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
	go func() {
		for s := range signals {
			_ = child.Signal(s) // it may have ended
		}
	}()
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			fmt.Fprintln(os.Stderr, "submitqueue: as process 1:", err)
			return 1
		case pid != child.Pid:
		case status.Signaled():
			return 128 + int(status.Signal())
		default:
			return status.ExitStatus()
		}
	}
}
