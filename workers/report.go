package workers

import (
	"crypto/rand"
	"time"

	"github.com/submitqueue/submitqueue/queue/config"
)

// reader reads the report in a step's output as it comes, mixed with other lines. The
// output is hostile: it counts only for the targets that the reader is made for.
type reader interface {
	// line takes a line of output, and whether it is of the last part of the command, the
	// one that reports. It returns the lines for people: the line itself if it is not of
	// the report.
	line(text string, last bool, tidy func(string) string) []string
	// of returns the report's result for a target, and whether reports of this kind
	// have a name for it: of one without (the whole tree, say) the exit status tells.
	of(target string) (r reported, named bool)
	// strayed reports whether something has failed that was not asked for.
	strayed() bool
}

// reported is what a report has said of one target.
type reported struct {
	passed bool
	late   bool // passed in the part that reports
	failed bool
	took   time.Duration // 0: it does not say
	tail   string        // the last lines about a failure
}

// readers returns what reads the output of a step: nothing, where the exit status tells.
// Each is made before any step has run, while the files are still the commit's.
func readers() map[config.Report]func(checkout string, step config.Step, targets []string) (reader, error) {
	return map[config.Report]func(string, config.Step, []string) (reader, error){
		config.ReportGoTestJSON: goTestOf,
	}
}

// report is what has been read of a step's output.
type report struct {
	reader
	mark string // a line that the command prints before its last part
	last bool   // that part has begun
}

// line takes one line of output and returns the lines that it says to people.
func (r *report) line(text string, tidy func(string) string) []string {
	if r.mark != "" && text == r.mark {
		r.last = true
		return nil
	}
	return r.reader.line(text, r.last, tidy)
}

// announcing returns a step whose command says when its last part begins, where that is
// the one that reports, and has the report know it.
func announcing(step config.Step, r *report) config.Step {
	before, last, ok := step.Reporter()
	switch {
	case !ok:
	case before == "":
		r.last = true
	default:
		r.mark = "submitqueue-" + rand.Text()
		step.Run = before + " && echo " + r.mark + " && " + last
	}
	return step
}
