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

// Equipped is implemented by a Controller that knows what tools its hosts have.
type Equipped interface {
	// Environments says which environment commands the steps of a queue have. Their
	// output is told by Fleet, soon, and again when it has changed.
	Environments(commands []string)
}

// tools is what the environment commands have shown on the pool's own host. The pool's
// lock guards it.
type tools struct {
	commands []string
	found    []queue.Tools
	local    map[string]bool // names of the agents in this process
	asked    chan struct{}   // holds a token when the commands have changed
	looks    looks           // of surveyTools alone
}

// looks says of each command what it has shown last, and how often in a row that was
// something else than before.
type looks map[string]struct {
	shown string // its fingerprint
	moves int
}

// unsteadyMoves is how many looks in a row may show something new: somebody upgrades in
// several turns. One more, and it is the command that is never the same.
const unsteadyMoves = 3

// Of environment commands.
const (
	toolsTimeout = 30 * time.Second
	toolsOutput  = 64 << 10 // bytes; more is a failure
)

var _ Equipped = (*Pool)(nil)

// Environments implements Equipped.
func (p *Pool) Environments(commands []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	commands = slices.Compact(slices.Sorted(slices.Values(commands)))
	if slices.Equal(commands, p.tools.commands) {
		return
	}
	p.tools.commands = commands
	select {
	case p.tools.asked <- struct{}{}:
	default:
	}
}

// surveyTools runs the environment commands on this host, once for all its agents, when
// they have changed and from time to time.
func (p *Pool) surveyTools(ctx context.Context) {
	tick := time.NewTicker(max(p.o.Tools, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.tools.asked:
		case <-tick.C:
		}
		p.mu.Lock()
		commands := p.tools.commands
		p.mu.Unlock()
		var found []queue.Tools
		for _, command := range commands {
			found = append(found, p.steady(ctx, p.toolsOf(ctx, command)))
		}
		if ctx.Err() != nil {
			return
		}
		p.mu.Lock()
		p.tools.found = found
		for _, m := range p.members {
			m.agent = p.equipped(m.agent)
		}
		p.reportSlots()
		p.wake()
		p.mu.Unlock()
	}
}

// steady looks twice at a command that shows something new. One that does not show the
// same again, or something new at each look, says nothing of the tools: each look would
// have everything built anew.
func (p *Pool) steady(ctx context.Context, t queue.Tools) queue.Tools {
	look := p.tools.looks[t.Command]
	if t.Fingerprint == "" || t.Fingerprint == look.shown {
		look.moves = 0
	} else {
		look.moves++
		again := p.toolsOf(ctx, t.Command)
		unsteady := again.Fingerprint != "" && again.Fingerprint != t.Fingerprint || look.moves > unsteadyMoves+1 // the first look is no move
		if unsteady && ctx.Err() == nil {
			t.Fingerprint, t.Error = "", "it prints something else each time: have it print versions only, no times and no process numbers"
		}
		look.shown = again.Fingerprint
	}
	if p.tools.looks == nil {
		p.tools.looks = looks{}
	}
	p.tools.looks[t.Command] = look
	return t
}

// equipped returns an agent with the tools of its host, where that is this one.
func (p *Pool) equipped(a Agent) Agent {
	if p.tools.local[a.Name] {
		a.Tools = p.tools.found
	}
	return a
}

// toolsOf runs one environment command as a step is run, in an empty directory.
func (p *Pool) toolsOf(ctx context.Context, command string) queue.Tools {
	t := queue.Tools{Command: command}
	files, err := newSlotFiles(p.o.tools.dir, p.o.tools.guest)
	if err == nil {
		err = errors.Join(RemoveAll(files.checkout), files.emptyCheckout(), files.fresh())
	}
	if err != nil {
		t.Error = "it cannot be run: " + err.Error()
		return t
	}
	var out limited
	c := tooling(p.o.Runner, files, command)
	c.out = &out
	e, err := c.run(ctx)
	last := lastBytes(newMask(p.o.Runner.Mask)(clean(out.String())), 200)
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
