package workers

import (
	"fmt"
	"io"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/workers/report"
)

// Trial is one run of a step, from its output to its verdict. It serves for steps that this
// process runs and for steps that run elsewhere and send their output here. Call Write with
// the output, then File with the files of the report, then End.
type Trial struct {
	build  queue.Build
	job    queue.Job
	report *report.Report
	text   *transcript
	mask   func(string) string
}

// Exit is how a run ended.
type Exit struct {
	Code     int           // of the step's command
	Took     time.Duration // how long it ran
	Stopped  bool          // it was cancelled
	TimedOut time.Duration // it was ended for taking longer than that; 0: it was not
	Infra    string        // says for people why the run says nothing of the change; ""
	Lost     bool          // it was ended from outside: by a signal that programs do not raise by their own fault
	How      string        // how the command ended, for people: "exit status 1"
	Cut      bool          // the output has holes: the report of a failed run is incomplete
}

// Tool reports whether a command was not there, or could not be run.
func (e Exit) Tool() bool { return e.Code == notExecutable || e.Code == notFound }

// TrialOptions say where a trial writes, and what reads its report.
type TrialOptions struct {
	Report *report.Report // of the step; nil: the exit status tells
	Log    io.Writer      // clean text
	Limit  int64          // bytes of log, the first and the last half
	Mask   []string       // secrets that are shown as ***
}

// NewTrial begins the run of a build's one job.
func NewTrial(b queue.Build, j queue.Job, o TrialOptions) *Trial {
	return newTrial(b, j, o, newMask(o.Mask))
}

func newTrial(b queue.Build, j queue.Job, o TrialOptions, mask func(string) string) *Trial {
	t := &Trial{build: b, job: j, report: o.Report, mask: mask, text: newTranscript(o.Log, o.Limit, o.Report, mask)}
	t.text.notice(fmt.Sprintf("step %s: %s", j.Step.Title(), j.Step.Run))
	return t
}

// Command returns the shell command that is to be run, in the root of a checkout.
func (t *Trial) Command() string {
	step := t.job.Step
	if t.report != nil {
		step = t.report.Step()
	}
	return step.CommandFor(t.job.Targets())
}

// Write takes output of the command. It never fails.
func (t *Trial) Write(p []byte) (int, error) { return t.text.Write(p) }

// Notice adds a line of ours to the log and the tail.
func (t *Trial) Notice(line string) { t.text.notice(line) }

// File takes a file of the report, by its name in the checkout, after the last output. A file
// that is no report is ignored, and the log says so.
func (t *Trial) File(name string, content io.Reader) {
	t.text.finishLine()
	if t.report == nil {
		return
	}
	if err := t.report.File(name, content, t.text.tidy); err != nil {
		t.text.notice(fmt.Sprintf("%s: %s", clean(name), clean(err.Error())))
	}
}

// End makes the verdict. The detail, for people, is empty when the step has passed and its
// report left nothing out. again is the pattern of the step's retry_on by which a failure does
// not count, or "".
func (t *Trial) End(e Exit) (done queue.JobDone, detail, again string) {
	step := t.job.Step
	done = queue.JobDone{Build: t.build.ID, Step: step.Digest(), Took: e.Took}
	switch {
	case e.Stopped:
		done.Outcome, detail = queue.JobStopped, "cancelled"
	case e.Infra != "":
		done.Outcome, detail = queue.JobInfra, e.Infra
	case e.TimedOut > 0:
		done.Outcome, detail = queue.JobTimeout, fmt.Sprintf("timed out after %s", e.TimedOut)
		if l := t.job.Limit; l != nil && e.TimedOut == l.After {
			done.Cut = true
			detail = fmt.Sprintf("stopped after %s: 3 x P99 of %d runs (%s); the file allows %s, and it is run again with that", l.After, l.Runs, l.Usual, step.Timeout)
		}
	case e.Lost:
		done.Outcome, detail = queue.JobInfra, "killed from outside: "+e.How
	case e.Tool():
		done.Outcome, done.Tool, detail = queue.JobInfra, true, e.How+": a command is not there, or cannot be run"
	}
	if done.Outcome == "" {
		t.text.finishReading()
		read := t.report
		if e.Cut && e.Code != 0 && read != nil {
			t.text.notice("the output is not whole, so its report says nothing of single targets")
			read = nil
		}
		v := read.Judge(e.Code, t.job.Targets())
		done.Outcome, done.Passed, done.Failed, done.PerTarget, done.Flaked = v.Outcome, v.Passed, v.Failed, v.PerTarget, v.Flaked
		switch {
		case v.Trouble != "":
			detail = fmt.Sprintf("step %s: %s", clean(step.Name), v.Trouble)
		case len(v.Unknown) > 0:
			detail = unknownDetail(step.Name, v.Unknown)
		case v.Outcome != queue.JobPassed:
			detail = fmt.Sprintf("step %s: %s", clean(step.Name), e.How)
		}
	} else {
		detail = fmt.Sprintf("step %s: %s", clean(step.Name), t.mask(clean(detail)))
	}
	if again = excuse(&done, step, t.text.end()); again != "" {
		detail = fmt.Sprintf("step %s has failed, and its log matches retry_on: %s", clean(step.Name), clean(again))
	}
	if detail == "" {
		t.text.notice(fmt.Sprintf("passed in %s", done.Took.Round(time.Millisecond)))
	} else {
		t.text.notice(fmt.Sprintf("%s after %s: %s", done.Outcome, done.Took.Round(time.Millisecond), detail))
	}
	done.Tail = t.text.finish()
	return done, detail, again
}

// EndOf returns the end of a build of one job from the results of Trial.End.
func EndOf(done queue.JobDone, detail, again string) End {
	end := worse(End{Outcome: queue.JobPassed}, done.Outcome, detail)
	end.Matched = done.Outcome == queue.JobInfra && again != ""
	return end
}

// Limit is the time after which a job is ended.
func Limit(j queue.Job, usual time.Duration) time.Duration {
	limit := j.Step.Timeout
	if limit <= 0 {
		limit = usual
	}
	if j.Limit != nil && j.Limit.After > 0 && j.Limit.After < limit {
		return j.Limit.After
	}
	return limit
}
