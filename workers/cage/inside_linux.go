package cage

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// This is here and not in main: the initialisation of the whole program takes longer than most
// steps may wait, and a test's program is started again, too.
func init() {
	if len(os.Args) == 1 && os.Args[0] == name {
		os.Exit(inside())
	}
}

// inside is the life of the first process. Its exit status says nothing.
func inside() int {
	for fd := controlFD; fd <= resultFD; fd++ {
		unix.CloseOnExec(fd)
	}
	// Signals from within must not end it, nor be ignored by the command.
	signal.Notify(make(chan os.Signal, 1), unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2, unix.SIGPIPE, unix.SIGALRM)
	control := os.NewFile(controlFD, "control")
	var t told
	spec, err := receive(control)
	if err == nil {
		t.Status, err = spec.live(control)
	}
	if err != nil {
		t.Error = err.Error()
	}
	text, err := json.Marshal(t)
	if err == nil {
		_, err = os.NewFile(resultFD, "result").Write(text)
	}
	if err != nil {
		return 1
	}
	return 0
}

// receive reads the Spec.
func receive(control io.Reader) (s Spec, err error) {
	var size [4]byte
	if _, err := io.ReadFull(control, size[:]); err != nil {
		return s, err
	}
	text := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(control, text); err != nil {
		return s, err
	}
	return s, json.Unmarshal(text, &s)
}

// live makes the cage, starts the command, and returns when it has ended and the wait for the
// other processes is over.
func (s Spec) live(control io.Reader) (Status, error) {
	if err := s.Map.write(); err != nil {
		return Status{}, err
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return Status{}, fmt.Errorf("hide the memory: %w", err)
	}
	if err := s.mount(); err != nil {
		return Status{}, err
	}
	first, err := s.start()
	if err != nil {
		return Status{}, err
	}
	// No other process in here may hold the output.
	for fd := range resultFD - 1 {
		if err := unix.Close(fd); err != nil {
			return Status{}, err
		}
	}
	stop := make(chan struct{})
	go func() {
		defer close(stop)
		_, _ = io.Copy(io.Discard, control)
	}()
	return s.reap(first, stop), nil
}

// write maps the user and group of the parent process to themselves.
func (ids *IDs) write() error {
	if ids == nil {
		return nil
	}
	for _, f := range []struct{ name, text string }{
		{"setgroups", "deny"},
		{"uid_map", fmt.Sprintf("%d %[1]d 1", ids.UID)},
		{"gid_map", fmt.Sprintf("%d %[1]d 1", ids.GID)},
	} {
		if err := os.WriteFile("/proc/self/"+f.name, []byte(f.text), 0); err != nil {
			return fmt.Errorf("have a user namespace: %w", err)
		}
	}
	return nil
}

// start starts the command from a thread that has given up the rights that the command must not
// have.
func (s Spec) start() (pid int, err error) {
	started := make(chan struct{})
	go func() {
		defer close(started)
		runtime.LockOSThread() // and the thread ends with the goroutine
		if err = giveUp(); err != nil {
			return
		}
		pid, err = syscall.ForkExec(s.Argv[0], s.Argv, &syscall.ProcAttr{Dir: s.Dir, Env: s.Env, Files: []uintptr{0, 1, 2},
			Sys: &syscall.SysProcAttr{Setsid: true}})
	}()
	<-started
	return pid, err
}

// giveUp takes from the calling thread, and from processes that it starts, all capabilities for
// good, the session keys of the server, and access to sockets without a path outside.
func giveUp() error {
	if _, _, errno := unix.Syscall(unix.SYS_KEYCTL, unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0); errno != 0 && errno != unix.ENOSYS && errno != unix.EPERM {
		return fmt.Errorf("have keys of its own: %w", errno)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no new privileges: %w", err)
	}
	if err := restrict(); err != nil {
		return err
	}
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil && !errors.Is(err, unix.EINVAL) {
			return fmt.Errorf("drop capabilities: %w", err)
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	var none [2]unix.CapUserData
	if err := unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &none[0]); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	return nil
}

// reap waits for all processes of the namespace. When the command has ended, others may
// go on for as long as the spec lets them linger; then, or when it is told to stop, all
// are asked to end. It returns when none is left, or the grace is over.
func (s Spec) reap(first int, stop <-chan struct{}) (status Status) {
	ended, none := make(chan syscall.WaitStatus, 1), make(chan struct{})
	go func() {
		defer close(none)
		for {
			var ws syscall.WaitStatus
			pid, err := syscall.Wait4(-1, &ws, 0, nil)
			switch {
			case errors.Is(err, syscall.EINTR):
			case err != nil:
				return
			case pid == first:
				ended <- ws
			}
		}
	}()
	keep := func(ws syscall.WaitStatus) {
		status = Status{Exited: ws.Exited(), Code: ws.ExitStatus()}
		if ws.Signaled() {
			status.Signal = int(ws.Signal())
		}
	}
	select {
	case ws := <-ended:
		keep(ws)
		select {
		case <-none:
			return status
		case <-stop:
		case <-time.After(s.Linger):
		}
	case <-stop:
		status.Signal = int(syscall.SIGKILL)
	}
	_ = syscall.Kill(-1, syscall.SIGTERM) // all in here but this one; gone meanwhile is what we want
	select {
	case <-none:
	case <-time.After(s.Grace):
	}
	select {
	case ws := <-ended:
		keep(ws)
	default:
	}
	return status
}
