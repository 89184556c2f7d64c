package workers

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"time"
)

// command is one shell command to be run in a session of its own.
type command struct {
	argv    []string
	dir     string
	env     []string
	mark    string // of the slot, to find processes that left the session
	guest   *guest // the user that it runs as; nil: as this process
	timeout time.Duration
	grace   time.Duration // from SIGTERM to SIGKILL
	out     io.Writer     // standard output and standard error; its errors are ignored
}

// exit is how a command ended.
type exit struct {
	code     int    // exit status; -1 after a signal
	signal   string // the signal's name, after a signal
	fault    bool   // the signal is one that programs raise by their own fault
	timedOut bool
	stopped  bool // ctx ended
	left     int  // processes that could not be killed
}

// Longest delays of a command's end.
const (
	linger = 250 * time.Millisecond // for processes that still write when the shell has ended, before they are killed
	drain  = 2 * time.Second        // for the pipe, when all processes that can be found were killed
)

// run runs the command, and ends it after its timeout or when ctx ends. It returns when no
// process that the command started is left, as far as that can be seen (package doc). The error
// says that it could not be started.
func (c command) run(ctx context.Context) (exit, error) {
	if c.guest != nil && c.guest.room != nil {
		return c.runCaged(ctx)
	}
	r, w, err := os.Pipe()
	if err != nil {
		return exit{}, err
	}
	cmd := exec.Command(c.argv[0], c.argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = c.dir, c.env, w, w
	ownSession(cmd)
	if c.guest == nil {
		err = cmd.Start()
	} else if err = w.Chown(c.guest.uid, c.guest.uid); err == nil { // for programs that open /dev/stderr
		err = startGuest(cmd, c.guest)
	}
	closeErr := w.Close()
	if err = errors.Join(err, closeErr); err != nil {
		_ = r.Close()
		return exit{}, err
	}

	copied, waited := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(copied)
		_, _ = io.Copy(c.out, r) // ends when the pipe is closed on either side
	}()
	go func() {
		defer close(waited)
		_ = cmd.Wait() // the state says it all
	}()

	var e exit
	limit := time.NewTimer(c.timeout)
	defer limit.Stop()
	group := session{id: cmd.Process.Pid, mark: c.mark, uid: c.guest.uidOf(), process: cmd.Process}
	select {
	case <-waited:
		within(copied, linger)
	case <-limit.C:
		e.timedOut = true
	case <-ctx.Done():
		e.stopped = true
	}
	e.left = group.end(c.grace)
	<-waited // the shell itself can always be killed
	e.code, e.signal, e.fault = exitOf(cmd.ProcessState)
	if !within(copied, drain) {
		_ = r.Close() // a process out of reach holds the other end
		within(copied, drain)
	}
	_ = r.Close()
	return e, nil
}

// within waits for done, and says whether it came in time.
func within(done <-chan struct{}, limit time.Duration) bool {
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-done:
		return true
	case <-t.C:
		return false
	}
}

// killLimit is how long processes may take to end after SIGKILL.
const killLimit = 5 * time.Second

// end asks all processes of the session to end, kills those that have not after
// the grace, and returns how many are left.
func (s session) end(grace time.Duration) int {
	if s.uid != 0 {
		return s.endUser(grace)
	}
	if s.ask(); s.goneWithin(grace, nil) {
		return 0
	}
	s.kill()
	if s.goneWithin(killLimit, s.kill) { // again and again: a killed one may have had children since
		return 0
	}
	return s.alive()
}

// goneWithin waits until no process is left, for limit at most. It calls each, if that is not
// nil, before each further look.
func (s session) goneWithin(limit time.Duration, each func()) bool {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	for pause := time.Millisecond; s.alive() > 0; pause = min(2*pause, 50*time.Millisecond) {
		next := time.NewTimer(pause)
		select {
		case <-next.C:
		case <-deadline.C:
			next.Stop()
			return s.alive() == 0
		}
		if each != nil {
			each()
		}
	}
	return true
}
