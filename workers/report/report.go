package report

import (
	"crypto/rand"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/queue/config"
)

// Reader reads the report of one kind: lines of the step's output, and files that the step has
// written. Both are hostile, and mixed with other text; they count only for the targets that
// the reader is made for.
type Reader interface {
	// Line takes a line of output; last says that it comes from the last part of the command,
	// which reports. It returns the lines for people: the line itself if it is not of the
	// report.
	Line(text string, last bool, tidy func(string) string) []string
	// File takes a file that the step has written, by its name in the checkout, after the last
	// line, and whether the part of the command that reports has begun. An error, for people,
	// says that a file cannot be read as a report: it may be about any target, so that none has
	// passed.
	File(name string, content io.Reader, last bool, tidy func(string) string) error
	// Of returns the report's result for a target, and whether reports of this kind have a name
	// for it. For a target without a name (such as the whole tree) the exit status decides.
	Of(target string) (r Result, named bool)
	// Strayed reports whether something has failed that was not asked for.
	Strayed() bool
}

// Result is a report's result for one target.
type Result struct {
	Passed bool
	Late   bool // passed in the part that reports
	Failed bool
	Took   time.Duration // 0: it does not say
	Tail   string        // the last lines about a failure
	Flaked bool          // passed, after its tool has run it again
	Blamed string        // the last lines about its files from a command beside the one that reports (go vet); they count where that command has ended the step
}

// troubled is a Reader that knows if its tool was kept from its work by something outside of the
// sources. Trouble says by what, for people; "": it was not.
type troubled interface{ Trouble() string }

// rooted is a Reader that needs the path of the folder that the step runs in, on its machine.
type rooted interface{ Root(dir string) }

// MaxFile is the most bytes of a report file; MaxFiles is how many files are read.
const (
	MaxFile  = 256 << 20
	MaxFiles = 10_000
)

// Readers make the Reader of each kind of report. A Reader is made before any step has run,
// from the files of the commit, the step and its targets.
type Readers map[config.Report]func(files fs.FS, step config.Step, targets []string) (Reader, error)

// All returns the readers of all reports that name targets.
func All() Readers {
	return Readers{
		config.ReportGoTestJSON:  goTestOf,
		config.ReportJUnit:       junitOf,
		config.ReportBazelBEP:    bepOf,
		config.ReportCargoJSON:   cargoOf,
		config.ReportJestJSON:    jestOf,
		config.ReportTAP:         tapOf,
		config.ReportTargetsJSON: targetsJSONOf,
	}
}

// For returns the Report of a step; nil if its exit status alone decides. files are the files
// of the commit, as they are before any step has run: from a checkout, or from another place.
func (rs Readers) For(files fs.FS, step config.Step, targets []string) (*Report, error) {
	return rs.Again(files, step, targets, NewMark())
}

// NewMark returns a mark that no step knows.
func NewMark() string { return "submitqueue-" + rand.Text() }

// Again is For with the mark of an earlier report: the output of the same command is read again
// from its beginning.
func (rs Readers) Again(files fs.FS, step config.Step, targets []string, mark string) (*Report, error) {
	made := rs[step.Report]
	if made == nil {
		return nil, nil
	}
	reader, err := made(files, step, targets)
	if err != nil {
		return nil, err
	}
	r := of(reader, step, mark)
	r.places = placesOf(step, targets)
	return r, nil
}

// Report is the report of one run of a step: lines and files go in, and Judge makes a verdict
// from them.
type Report struct {
	reader Reader
	step   config.Step // as it is run
	mark   string      // prefix of the lines that the command prints for the report
	last   bool        // that part has begun
	places []placed    // where files of it are
}

// of returns the report that a reader reads. It has the command print a mark when the last part
// begins, if only that part reports. For a reader that needs it, the command also prints the
// folder that it runs in.
func of(reader Reader, step config.Step, mark string) *Report {
	r := &Report{reader: reader, step: step, mark: mark}
	before, last, ok := step.Reporter()
	switch {
	case !ok:
	case before == "":
		r.last = true
	default:
		r.step.Run = before + " && echo " + r.mark + " && " + last
	}
	if _, ok := reader.(rooted); ok {
		r.step.Run = `echo "` + r.mark + ` $(pwd -P)"` + "\n" + r.step.Run
	}
	return r
}

// Step returns the step as it is to be run: with the command that prints the lines for the
// report.
func (r *Report) Step() config.Step { return r.step }

// Line takes one line of output and returns the lines for people.
func (r *Report) Line(text string, tidy func(string) string) []string {
	if rest, ok := strings.CutPrefix(text, r.mark); ok {
		if dir, ok := strings.CutPrefix(rest, " "); ok {
			if reader, ok := r.reader.(rooted); ok {
				reader.Root(dir)
			}
			return nil
		}
		if rest == "" {
			r.last = true
			return nil
		}
	}
	return r.reader.Line(text, r.last, tidy)
}

// File takes one file that the step has written, as Reader.File does, by its name in the
// repository. A file that Files does not match is not read.
func (r *Report) File(name string, content io.Reader, tidy func(string) string) error {
	target, ok := r.placed(name)
	if !ok {
		return nil
	}
	if f, ok := r.reader.(fixing); ok {
		f.Fix(target)
	}
	return r.reader.File(name, &capped{content, MaxFile}, r.last, tidy)
}
