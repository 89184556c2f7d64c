package cage

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// name is the name of the first process of a cage.
const name = "submitqueue-cage"

// Files that the first process has open.
const (
	controlFD = 3
	resultFD  = 4
)

// Process is a command in a cage.
type Process struct {
	cmd     *exec.Cmd
	control *os.File
	stop    sync.Once
	done    chan struct{}
	status  Status
	err     error
}

// Start starts a command, with its standard output and error going to out. Errors that occur in
// the cage are returned by Status.
func Start(s Spec, w Where, out *os.File) (*Process, error) {
	path, err := exec.LookPath(s.Argv[0])
	if err != nil {
		return nil, err
	}
	if s.Argv = append([]string{path}, s.Argv[1:]...); !filepath.IsAbs(path) {
		return nil, fmt.Errorf("%s is in no folder of PATH", path)
	}
	flags := uintptr(unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC)
	attr := &syscall.SysProcAttr{Setsid: true, AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP}}
	if w.User == nil {
		// The map cannot be written from here: /proc/PID of a child that shares the memory
		// of a process that hides its own belongs to root. The child writes the map itself.
		flags |= unix.CLONE_NEWUSER
		s.Map = &IDs{os.Getuid(), os.Getgid()}
	} else {
		attr.Credential = &syscall.Credential{Uid: uint32(w.User.UID), Gid: uint32(w.User.GID)} // no other groups
	}
	attr.Cloneflags = flags
	if w.Fence != nil {
		attr.UseCgroupFD, attr.CgroupFD = true, w.Fence.FD()
	}
	control, hold, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer control.Close()
	result, tell, err := os.Pipe()
	if err != nil {
		_ = hold.Close() // nothing was written
		return nil, err
	}
	defer tell.Close()
	cmd := &exec.Cmd{Path: "/proc/self/exe", Args: []string{name}, Dir: "/", Env: append([]string{w.Mark, "GOMAXPROCS=1", "GOGC=off"}, quick...), SysProcAttr: attr,
		Stdout: out, Stderr: out, ExtraFiles: []*os.File{control, tell}}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start in namespaces: %w", err), hold.Close(), result.Close())
	}
	p := &Process{cmd: cmd, control: hold, done: make(chan struct{})}
	go p.send(s)
	go p.wait(result)
	return p, nil
}

// send hands the spec over. A process that does not read it ends, and Status
// says so.
func (p *Process) send(s Spec) {
	text, err := json.Marshal(s)
	if err != nil {
		p.Kill()
		return
	}
	var size [4]byte
	binary.BigEndian.PutUint32(size[:], uint32(len(text)))
	_, _ = p.control.Write(append(size[:], text...))
}

func (p *Process) wait(result *os.File) {
	defer close(p.done)
	var text [4096]byte
	n := 0
	for n < len(text) {
		m, err := result.Read(text[n:])
		if n += m; err != nil {
			break
		}
	}
	_ = result.Close() // it was read
	_ = p.cmd.Wait()   // the state says it all
	p.Stop()
	if n > 0 {
		var t told
		if p.err = json.Unmarshal(text[:n], &t); p.err == nil && t.Error != "" {
			p.err = errors.New(t.Error)
		}
		p.status = t.Status
		return
	}
	p.status.Signal = int(syscall.SIGKILL) // it sent no message: something has ended it
	if ws, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		p.status.Signal = int(ws.Signal())
	}
}

// told is the message of the first process at its end.
type told struct {
	Status Status
	Error  string // why the command was not started
}

// Done is closed when no process of the command is left.
func (p *Process) Done() <-chan struct{} { return p.done }

// Status returns how the command ended, once Done is closed. An error says that it could
// not be started.
func (p *Process) Status() (Status, error) { return p.status, p.err }

// Stop asks all processes of the command to end, and has them killed after the grace.
func (p *Process) Stop() { p.stop.Do(func() { _ = p.control.Close() }) }

// Kill kills all processes of the command.
func (p *Process) Kill() { _ = p.cmd.Process.Kill() }
