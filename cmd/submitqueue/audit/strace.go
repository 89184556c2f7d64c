package audit

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// ErrUnavailable: a tracer cannot be used on this machine. The error says why.
var ErrUnavailable = errors.New("not available")

// Tracer watches which files commands look at.
type Tracer interface {
	// Name is the tracer's name for people.
	Name() string
	// Watch prepares to watch one command in a checkout. scratch is an empty
	// folder outside of it; links are the paths of the symbolic links that the
	// commit has.
	Watch(root, scratch string, links []string) (Watch, error)
}

// Watch is the watching of one command.
type Watch interface {
	// Shell is the argument list that takes the place of sh -c; the command is appended to it.
	Shell() []string
	// Begin is called when the checkout is complete and nothing runs in it yet.
	Begin() error
	// End is called when no process of the command runs any more. An error says that
	// the command was not watched completely.
	End() (Reads, error)
}

// Tracers are the ways to trace, the preferred one first.
var Tracers = []string{"strace", "fanotify"}

// NewTracer returns a tracer by its name, or with "auto" the first that can be used
// here. ErrUnavailable: there is none; the error says why for each tracer.
func NewTracer(ctx context.Context, name string) (Tracer, error) {
	names := []string{name}
	if name == "auto" {
		names = Tracers
	}
	var why []string
	for _, n := range names {
		t, err := newTracer(ctx, n)
		if err == nil {
			return t, nil
		}
		why = append(why, fmt.Sprintf("%s: %v", n, err))
	}
	return nil, fmt.Errorf("%w: %s", ErrUnavailable, strings.Join(why, "; "))
}

func newTracer(ctx context.Context, name string) (Tracer, error) {
	switch name {
	case "strace":
		return newStrace(ctx)
	case "fanotify":
		return newFanotify()
	}
	return nil, fmt.Errorf("there is no such tracer; there are %s", strings.Join(Tracers, " and "))
}

// strace is the tracer of that name.
type strace struct{ argv []string }

// newStrace tries whether this machine allows processes to be traced.
func newStrace(ctx context.Context) (*strace, error) {
	program, err := exec.LookPath("strace")
	if err != nil {
		return nil, errors.New("the program is not on the PATH (apt-get install strace, dnf install strace)")
	}
	wanted := make([]string, len(calls))
	for i, c := range calls {
		wanted[i] = "?" + c
	}
	rest := []string{"-D", "-f", "-y", "-q", "-s", "4096", "-e", "signal=none", "-e", "trace=" + strings.Join(wanted, ",")}
	var said string
	for _, fast := range [][]string{{"--seccomp-bpf"}, nil} { // without it, strace stops at every system call
		argv := append(append([]string{program}, fast...), rest...)
		var out bytes.Buffer
		ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
		cmd := exec.CommandContext(ctx, argv[0], append(argv[1:], "-o", os.DevNull, "true")...)
		cmd.Stdout, cmd.Stderr = &out, &out
		err := cmd.Run()
		cancel()
		if err == nil {
			return &strace{argv}, nil
		}
		said = strings.Join(strings.Fields(out.String()), " ")
	}
	if said == "" {
		said = "it fails without saying why"
	}
	return nil, fmt.Errorf("this machine does not let processes be traced (in a container: --cap-add SYS_PTRACE): %s", said)
}

// Name implements Tracer.
func (*strace) Name() string { return "strace" }

// Watch implements Tracer.
func (s *strace) Watch(root, scratch string, links []string) (Watch, error) {
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		return nil, err
	}
	return &straced{strace: s, log: filepath.Join(scratch, "trace"), recorder: newRecorder(root, links)}, nil
}

type straced struct {
	*strace
	log      string
	recorder *recorder
}

// Shell implements Watch. The tracer is the command's grandchild (-D), so that the
// runner sees the command itself end, also where it leaves processes running.
func (s *straced) Shell() []string {
	return append(append([]string(nil), s.argv...), "-o", s.log, "sh", "-c")
}

// Begin implements Watch.
func (*straced) Begin() error { return nil }

// End implements Watch.
func (s *straced) End() (reads Reads, err error) {
	f, err := os.Open(s.log)
	if err != nil {
		return Reads{}, fmt.Errorf("strace has left no trace: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return s.recorder.strace(f)
}

// strace reads the whole output of strace.
func (r *recorder) strace(in io.Reader) (Reads, error) {
	t := newTrace(r, r.root)
	lines := bufio.NewReaderSize(in, 1<<16)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			t.line(line)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Reads{}, err
		}
	}
	if !t.ended {
		return Reads{}, errors.New("the trace ends before the command does")
	}
	return r.done(), nil
}
