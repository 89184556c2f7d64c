package forgeci

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/workers"
)

const (
	mostLogs = 3       // logs that are read of one job's checks
	logBytes = 2 << 10 // of each, kept as evidence
	logLines = 40
)

// unread returns the failed results of a job with logs that have not been asked for.
func (e *entry) unread(f finding) (list []forge.CIResult) {
	for _, r := range f.list[:min(len(f.list), mostLogs)] {
		if _, asked := e.logs[r.ID]; r.Bound && r.State == forge.CIFailed && !asked {
			list = append(list, r)
		}
	}
	return list
}

// readLogs reads the ends of the logs of the failed jobs of a build. They are for people: a log
// that cannot be read changes nothing.
func (c *Controller) readLogs(ctx context.Context, e *entry) {
	c.mu.Lock()
	e.reading = false
	var list []forge.CIResult
	at := c.moment()
	for _, j := range e.jobs {
		if f := e.judge(j, at); !j.done && f.outcome == queue.JobFailed {
			list = append(list, e.unread(f)...)
		}
	}
	c.mu.Unlock()
	got := map[int64]string{}
	for _, r := range list {
		text, err := c.o.CI.CILog(ctx, r)
		if err != nil && !errors.Is(err, forge.ErrNotFound) && ctx.Err() == nil {
			c.o.Log.Warn("the log of a failed check could not be read", "build", e.build.ID, "check", r.Name, "error", err)
		}
		got[r.ID] = lastLines(text)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, text := range got {
		e.logs[id] = text
	}
	if e.done == nil {
		c.settle(e)
	}
}

// excused applies the patterns of the job's step (config.Step.RetryOn) to a finding: if the log
// of each failed check matches one, the finding is an infrastructure error. A log that was not
// read matches nothing.
func (e *entry) excused(j *job, f finding) finding {
	if f.outcome != queue.JobFailed || len(j.Step.RetryOn) == 0 {
		return f
	}
	pattern := ""
	for _, r := range f.list {
		if r.State != forge.CIFailed && r.State != forge.CITimeout {
			continue
		}
		p := j.Step.RetriedFor(strings.Join([]string{r.Title, r.Text, e.logs[r.ID]}, "\n"))
		if p == "" {
			return f
		}
		pattern = p
	}
	if pattern != "" {
		f.outcome, f.matched, f.detail = queue.JobInfra, true, fmt.Sprintf("step %s has failed, and its log matches retry_on: %s", j.Step.Name, workers.Clean(pattern))
	}
	return f
}

// stamped matches the time at the begin of a line of a log of GitHub Actions.
var stamped = regexp.MustCompile(`^\x{feff}?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z `)

// lastLines returns the lines of a log up to its last error: after that the CI only tidies up.
func lastLines(log string) string {
	var lines []string
	end := 0
	for line := range strings.Lines(log) {
		line = strings.TrimRight(stamped.ReplaceAllString(line, ""), "\r\n")
		if strings.HasPrefix(line, "##[group]") || strings.HasPrefix(line, "##[endgroup]") {
			continue
		}
		text, failed := strings.CutPrefix(line, "##[error]")
		if lines = append(lines, text); failed {
			end = len(lines)
		}
	}
	if end > 0 {
		lines = lines[:end]
	}
	lines = lines[max(len(lines)-logLines, 0):]
	text := strings.Join(lines, "\n")
	if over := len(text) - logBytes; over > 0 {
		text = "…" + strings.ToValidUTF8(text[over:], "")
	}
	return text
}
