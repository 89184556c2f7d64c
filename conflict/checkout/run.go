package checkout

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/submitqueue/submitqueue/conflict"
)

// Program is one run of a program.
type Program struct {
	Argv    []string
	Dir     string        // where it runs: Dir.Tree or Dir.Program
	Env     []string      // beside PATH, HOME, TMPDIR, LC_ALL and TZ
	Timeout time.Duration // one minute if zero
	Output  int           // bytes that it may print; 64 MiB if zero
	Memory  int           // MiB of address space; unlimited if zero
	Raw     bool          // standard output comes back as it is, places included
}

// RunError says why a run has no result.
type RunError struct {
	Reason string // one line
	Last   string // the last lines of standard error, fit to print; may be empty
	Failed bool   // the program has ended on its own
	Code   int    // the exit status, if it has one; -1 if it ended by a signal
	Late   bool   // it has not ended in time: that may be the machine's fault
}

// Is reports that the error of a run that took too long is provisional
// (conflict.ErrProvisional).
func (e *RunError) Is(target error) bool { return e.Late && target == conflict.ErrProvisional }

func (e *RunError) Error() string {
	if e.Last == "" {
		return e.Reason
	}
	return e.Reason + ": " + e.Last
}

// Bounds of a run.
const (
	defaultTimeout = time.Minute
	defaultOutput  = 64 << 20
	lingerLimit    = 2 * time.Second // for a pipe that a process left behind holds open
	fileBlocks     = 4 << 20         // of 512 bytes: the largest file that a program may write
)

var errOutput = errors.New("it printed too much")

// Run runs a program and returns its standard output with the paths of the
// directory made neutral, unless it is raw. The error is a *RunError, ctx's, or
// says that this machine could not start it.
func (d *Dir) Run(ctx context.Context, p Program) ([]byte, error) {
	if p.Timeout == 0 {
		p.Timeout = defaultTimeout
	}
	if p.Output == 0 {
		p.Output = defaultOutput
	}
	deadline, done := context.WithTimeout(ctx, p.Timeout)
	defer done()
	run, stop := context.WithCancelCause(deadline)
	defer stop(nil)

	limits := fmt.Sprintf("ulimit -c 0; ulimit -f %d; ", fileBlocks)
	if p.Memory > 0 {
		limits += fmt.Sprintf("ulimit -v %d; ", p.Memory<<10)
	}
	cmd := exec.CommandContext(run, "/bin/sh", append([]string{"-c", limits + `exec "$@"`, "sh"}, p.Argv...)...)
	out := &bounded{most: p.Output, full: func() { stop(errOutput) }}
	last := &tail{}
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = p.Dir, d.environment(p.Env), out, last
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = lingerLimit
	if err := cmd.Start(); err != nil {
		return nil, provisional(err)
	}
	err := cmd.Wait()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // gone is what we want
	e := &RunError{Last: d.neutral(last.String())}
	exit := (*exec.ExitError)(nil)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(context.Cause(run), errOutput):
		e.Reason = fmt.Sprintf("it printed more than %s", size(p.Output))
	case deadline.Err() != nil:
		e.Reason, e.Late = fmt.Sprintf("it did not end within %s", p.Timeout), true
	case errors.Is(err, exec.ErrWaitDelay):
		e.Reason = "it ended and left a process behind that held its output open"
	case errors.As(err, &exit):
		e.Reason, e.Failed, e.Code = ended(exit.ProcessState), true, exit.ExitCode()
	case err != nil:
		return nil, provisional(err)
	case p.Raw:
		return []byte(out.String()), nil
	default:
		return []byte(d.neutral(out.String())), nil
	}
	return nil, e
}

func ended(s *os.ProcessState) string {
	if ws, ok := s.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return "it ended by a signal (" + ws.Signal().String() + ")"
	}
	return fmt.Sprintf("it ended with exit status %d", s.ExitCode())
}

// environment is the environment of a program: of the server's variables it has only PATH.
func (d *Dir) environment(more []string) []string {
	path := os.Getenv("PATH")
	if path == "" {
		path = "/usr/local/bin:/usr/bin:/bin"
	}
	return append([]string{"PATH=" + path, "HOME=" + d.home, "TMPDIR=" + d.tmp, "LC_ALL=C.UTF-8", "TZ=UTC", "SUBMITQUEUE=1"}, more...)
}

func size(n int) string {
	if n >= 1<<20 && n%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}

// bounded keeps the bytes that are written to it, up to a size.
type bounded struct {
	strings.Builder
	most int
	full func()
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.most {
		b.full()
		return 0, errOutput
	}
	return b.Builder.Write(p)
}
