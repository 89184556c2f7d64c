package texts

import (
	"strings"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Unrun implements web.Words.
func (w Words) Unrun(f []queue.Evidence) string { return w.plain(queue.Change{}).unrun(f) }

// unrun says which steps no runner can run, and what to do about it. A tool is missing
// on the runners: no change is at fault.
func (w voice) unrun(list []queue.Evidence) string {
	var steps []string
	for _, f := range list {
		text := "step " + w.code(f.Step)
		if f.Run != "" {
			text += ", which runs " + w.code(ClipLine(f.Run, mostCommand)) + ","
		}
		text += " ends with: " + w.code(ClipLine(lastLine(f.Output()), mostCommand))
		if f.Host != "" {
			text += ", on host " + w.code(f.Host)
		}
		steps = append(steps, text)
	}
	return "A command is not there, or cannot be run, on any runner: " + strings.Join(steps, "; ") +
		". Install it on the runners, or have " + w.code(config.Path) + " name runners that have it (" + w.code("tags") + " or " + w.code("image") + "). The queue tries again by itself."
}

// lastLine returns the last line that the runner itself did not write.
func lastLine(tail string) string {
	last := ""
	for line := range strings.Lines(tail) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "[submitqueue]") {
			last = line
		}
	}
	return last
}
