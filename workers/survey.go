package workers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// Survey runs the environment commands of steps on one host (config.Step.Environment). One
// goroutine uses it.
type Survey struct {
	o     RunnerOptions
	dir   string // where they run
	guest *guest // the user that they run as
	looks looks
}

// looks has, for each command, its last output, and how often in a row the output has changed.
type looks map[string]struct {
	shown string // its fingerprint
	moves int
}

// unsteadyMoves is how many looks in a row may show something new, because an upgrade may come
// in several turns. After one more, the output of the command itself is never the same.
const unsteadyMoves = 3

// Of environment commands.
const (
	toolsTimeout = 30 * time.Second
	toolsOutput  = 64 << 10 // bytes; more is a failure
)

// Look runs a command and returns its output now. If that is new, it runs the command again. A
// command says nothing of the tools if its output differs then, or is new at each look: each
// look would have everything built again.
func (s *Survey) Look(ctx context.Context, command string) queue.Tools {
	t := s.once(ctx, command)
	look := s.looks[command]
	if t.Fingerprint == "" || t.Fingerprint == look.shown {
		look.moves = 0
	} else {
		look.moves++
		again := s.once(ctx, command)
		unsteady := again.Fingerprint != "" && again.Fingerprint != t.Fingerprint || look.moves > unsteadyMoves+1 // the first look is no move
		if unsteady && ctx.Err() == nil {
			t.Fingerprint, t.Error = "", "it prints something else each time: have it print versions only, no times and no process numbers"
		}
		look.shown = again.Fingerprint
	}
	if s.looks == nil {
		s.looks = looks{}
	}
	s.looks[command] = look
	return t
}

// once runs one environment command as a step is run, in an empty directory, without secrets.
func (s *Survey) once(ctx context.Context, command string) queue.Tools {
	t := queue.Tools{Command: command}
	files, err := newSlotFiles(s.dir, s.guest)
	if err == nil {
		err = errors.Join(RemoveAll(files.checkout), files.emptyCheckout(), files.fresh())
	}
	if err != nil {
		t.Error = "it cannot be run: " + err.Error()
		return t
	}
	var out limited
	c := tooling(s.o, files, command)
	c.out = &out
	e, err := c.run(ctx)
	last := lastBytes(newMask(s.o.Mask)(clean(out.String())), 200)
	switch {
	case err != nil:
		t.Error = "it cannot be run: " + err.Error()
	case e.timedOut:
		t.Error = fmt.Sprintf("it does not end within %s", c.timeout)
	case out.over:
		t.Error = fmt.Sprintf("it prints more than %d KiB", toolsOutput>>10)
	case e.code != 0 || e.signal != "":
		t.Error = how(e) + ": " + last
	default:
		t.Fingerprint = queue.FingerprintOf(out.String())
	}
	return t
}

func tooling(o RunnerOptions, files slotFiles, run string) command {
	shell, env := o.Shell, o.Env
	if len(shell) == 0 {
		shell = []string{"sh", "-c"}
	}
	if env == nil {
		env = os.Environ()
	}
	setDefault(&o.Grace, 5*time.Second)
	return command{argv: append(slices.Clone(shell), run), dir: files.checkout,
		env: environment(RunnerOptions{Env: env, Pass: o.Pass}, queue.Build{}, queue.Job{}, files), mark: files.root, guest: files.guest, timeout: toolsTimeout, grace: o.Grace}
}

// limited keeps the first bytes of an output.
type limited struct {
	kept bytes.Buffer
	over bool
}

// String returns what is kept.
func (l *limited) String() string { return l.kept.String() }

// Write implements io.Writer.
func (l *limited) Write(b []byte) (int, error) {
	room := toolsOutput - l.kept.Len()
	l.over = l.over || len(b) > room
	l.kept.Write(b[:min(len(b), max(room, 0))])
	return len(b), nil
}
