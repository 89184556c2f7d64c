package texts

import (
	"strings"

	"github.com/submitqueue/submitqueue/queue"
)

// Answer returns the answer to /land try and /land explain in the comment of a pull
// request, for clients that read no comments. Each element is one line of plain text. It
// is empty where nobody asked for either. It may quote hostile text: the code that shows
// it escapes it.
func (w Words) Answer(v queue.View) []string {
	c := v.Change
	p := w.plain(c)
	var blocks []string
	switch {
	case c.Would != nil && c.Phase == queue.Tried:
		blocks = p.would(c)
	case c.On != "" && c.Phase == queue.Tried:
		if c.Verdict != nil { // failures are more than lines: the API has them as separate fields
			v := *c.Verdict
			v.Failures, c.Verdict = nil, &v
		}
		blocks = p.tried(c)
	case v.Notice.Code == queue.ReasonExplain:
		blocks = []string{p.explained(v)}
	case v.Notice.Code == queue.ReasonHelp:
		blocks = []string{p.help()}
	}
	var lines []string
	for _, line := range strings.Split(strings.Join(blocks, "\n"), "\n") {
		if line = OneLine(strings.ReplaceAll(line, "**", ""), 1000); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}
