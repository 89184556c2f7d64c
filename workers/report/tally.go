package report

import (
	"errors"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/submitqueue/submitqueue/queue/config"
)

// tally has the results of a reader, by target.
//
// It is careful with failures that it cannot place: while there is a failure that may be any
// target's, no target has passed.
type tally struct {
	targets map[string]*count // those that were asked for
	stray   bool              // something that was not asked for has failed
	lost    bool              // something has failed, or cannot be read, and may be any target's
}

// count has the results of one target so far.
type count struct {
	passed bool
	early  bool // some of it has passed before the part that reports
	failed bool // stays: a later pass does not take it back
	open   int  // parts that have begun or are announced, and have not ended
	rest   int  // parts that may be yet to come, if the run has failed
	flaked bool
	took   time.Duration
	tail   Tail

	programs bool // it has programs to run
}

func newTally(targets []string) tally {
	t := tally{targets: make(map[string]*count, len(targets))}
	for _, target := range targets {
		t.targets[target] = &count{}
	}
	return t
}

// pass notes that a part of a target has passed, in the part of the command that reports or
// before it.
func (t *tally) pass(target string, last bool, took time.Duration) {
	c := t.targets[target]
	if c == nil {
		return
	}
	c.passed, c.early = true, c.early || !last
	c.add(took)
}

// fail notes that a part of a target has failed, and the lines about it.
func (t *tally) fail(target string, took time.Duration, lines ...string) {
	c := t.targets[target]
	if c == nil {
		t.stray = true
		return
	}
	c.failed = true
	c.add(took)
	for _, l := range lines {
		c.tail.Add(l)
	}
}

// maxTook bounds the times in a report.
const maxTook = 1e6 * time.Second

func (c *count) add(took time.Duration) {
	if took > 0 && took < maxTook && c.took < maxTook {
		c.took += took
	}
}

// result returns the result of a target so far.
func (t *tally) result(target string) Result {
	c := t.targets[target]
	if c == nil {
		return Result{}
	}
	passed := c.passed && !c.failed && c.open == 0 && !t.lost
	r := Result{Passed: passed, Late: passed && !c.early && c.rest == 0, Failed: c.failed, Flaked: passed && c.flaked, Took: c.took}
	if c.failed {
		r.Tail = c.tail.String()
	}
	return r
}

// Strayed implements Reader.
func (t *tally) Strayed() bool { return t.stray || t.lost }

// named reports whether a report can have a name for a target of the step. Targets that stand
// for files that no analyzer tells apart have no name.
func named(step config.Step, target string) bool {
	return !slices.Contains([]string{config.TargetTree, config.TargetUnowned}, step.ToolName(target))
}

// byToolName maps the names that the step's tool has for targets to the targets.
func byToolName(step config.Step, targets []string) map[string]string {
	m := make(map[string]string, len(targets))
	for _, t := range targets {
		if named(step, t) {
			m[step.ToolName(t)] = t
		}
	}
	return m
}

// seconds returns the duration of a number of seconds in a report; 0 if it makes no sense.
func seconds(s float64) time.Duration {
	if !(s > 0 && s < maxTook.Seconds()) {
		return 0
	}
	return time.Duration(s * float64(time.Second))
}

// tidied returns the lines of a text, each tidy; of a long text the last ones.
func tidied(text string, tidy func(string) string) []string {
	var t Tail
	for _, l := range linesOf(LastBytes(text, 4*TailBytes)) {
		t.Add(tidy(l))
	}
	return t.lines
}

// capped is a reader that fails if its source has more bytes than left.
type capped struct {
	from io.Reader
	left int64
}

func (c *capped) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	if c.left -= int64(n); c.left < 0 {
		return 0, errors.New("it is too large")
	}
	return n, err
}

// secondsOf is seconds for a number in text.
func secondsOf(text string) time.Duration {
	s, _ := strconv.ParseFloat(text, 64) // 0, if it makes no sense
	return seconds(s)
}
