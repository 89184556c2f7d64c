package texts

import (
	"fmt"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Options holds what a text needs beside the facts. Where a field has its zero value,
// the text leaves out the part that needs it.
type Options struct {
	BaseURL string        // of the dashboard
	RepoURL string        // of the repository at the forge, for links to commits
	Queue   string        // the queue's name
	Now     queue.Instant // the moment that "in 10 minutes" counts from
	Broken  string        // why the configuration on the target branch is not used; hostile text
	Words   Words         // of the forge
	Method  config.Method // the method for changes that ask for none; empty: merge
	Default string        // the repository's default branch, where the queue's is another one; hostile text

	Checkbox bool // with a checkbox, where the forge has checkboxes
}

// boxOf returns the checkbox of a pull request's comment; nil where it would choose
// nothing.
func (w voice) boxOf(v queue.View) *queue.Box {
	if !w.o.Checkbox || w.o.Words.Local {
		return nil
	}
	switch c := v.Change; {
	case c.Phase == queue.Analyzing, c.Phase == queue.Pending, c.Phase == queue.Parked:
		return &queue.Box{On: true, Verb: queue.CommandLand, Label: "In the queue. Clear this box to take it out, as `/land cancel` does."}
	case c.Phase == queue.Landing, c.Phase == queue.Landed, c.Phase == queue.NothingToLand, isShut(v):
		return nil
	case noRunHelps(c):
		return &queue.Box{Verb: queue.CommandLand, Label: "Check this box when that is mended to queue it, as `/land` does."}
	case c.Phase == queue.Rejected, wasRejected(c):
		return &queue.Box{Verb: queue.CommandRetry, Label: "Check this box to run what failed again and to queue it, as `/land retry` does."}
	}
	return &queue.Box{Verb: queue.CommandLand, Label: "Check this box to queue it as it is now, as `/land` does."}
}

// isShut reports whether a pull request is closed, as far as is known.
func isShut(v queue.View) bool {
	c := v.Change
	return c.Reason.Code == queue.ReasonClosed || (c.ID == "" || c.Phase.Final()) && v.Notice.Code == queue.ReasonNotOpen
}

// noRunHelps reports whether a change was rejected for something that no run of a step can change.
func noRunHelps(c queue.Change) bool {
	return c.Phase == queue.Rejected && (c.Reason.Code == queue.ReasonMergeConflict || ofConfig(c.Reason))
}

// wasRejected reports whether an explanation of a pull request that is not in the queue says that
// its commit was rejected for failures.
func wasRejected(c queue.Change) bool { return c.Would != nil && len(c.Would.Failed) > 0 }

// Bounds of a comment, and so of a check's summary. Forges take 65,535 characters.
const (
	mostAhead   = 5
	mostBuilds  = 4
	mostNames   = 10
	mostTail    = 30 // log lines of all failures together
	leastTail   = 5  // log lines of one failure
	tailColumns = 200
)

// Comment returns the one comment of a pull request, with its hidden
// marker. No line of it is a command.
func Comment(v queue.View, o Options) string {
	w := newVoice(v, o)
	icon, headline := w.headline(v)
	blocks := append([]string{"### " + icon + " " + headline}, w.body(v)...)
	if b := w.boxOf(v); b != nil {
		blocks = append(blocks, b.String())
	}
	blocks = append(blocks, w.footer(v))
	if id := newsOf(v); id != "" && !o.Words.Local {
		blocks = append(blocks, queue.News(id))
	}
	return strings.Join(append(blocks, Marker(o.Queue)), "\n\n") + "\n"
}

// newsOf returns the id of an end, or of an answer long after a command, that the people who wait
// for a landing do not expect and have not caused, so that they are to get mail; "" where there is
// none.
func newsOf(v queue.View) string {
	c := v.Change
	switch unasked := c.Phase == queue.Cancelled && c.Reason.Code == queue.ReasonParkedLimit; {
	case v.Notice.Code == queue.ReasonHeardLate:
		return fmt.Sprintf("%d.late.%d", c.Number, v.Answered)
	case c.Phase == queue.Rejected, unasked:
		return fmt.Sprintf("%d.%d", c.Number, c.Decided)
	}
	return ""
}

// Marker returns the hidden HTML comment by which a queue's comments are found
// again. No other text of ours contains it.
func Marker(queue string) string {
	var b strings.Builder
	for i := 0; i < len(queue); i++ {
		switch c := queue[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("._/@:", c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return "<!-- submitqueue:" + b.String() + " -->"
}

// configBroken says, as Markdown, that the target branch's configuration, or one of its
// .gitattributes files, is not used, and why. broken is the error with line and column. It is
// hostile text.
func (w voice) configBroken(broken string) string {
	return "⚠️ The configuration on " + w.main() + " cannot be used as it is. The last good one stays in force until this is fixed:\n\n" +
		fenced(broken, 12, 400)
}

// voice puts the facts about a change into words, as Markdown or as one plain line.
type voice struct {
	quote
	reasons  reasonTable
	lacking  map[queue.RequirementKind]requirementRow
	commands queue.CommandTable

	branch string // of the change; hostile text
	number int
	method config.Method // by which the change lands
}

func newVoice(v queue.View, o Options) voice {
	w := voiceOf(o)
	w.branch, w.number, w.method = v.Change.Branch, v.Change.Number, v.Change.Method
	if base, ok := strings.CutSuffix(v.Change.URL, fmt.Sprintf("/%d", v.Change.Number)); ok {
		// A plain link to github.com would leave "mentioned this" in the
		// history of the pull request it points to; this host does not.
		w.pull = strings.Replace(base, "https://github.com/", "https://redirect.github.com/", 1) + "/"
	}
	return w
}

// voiceOf is a voice that speaks of no change.
func voiceOf(o Options) voice {
	return voice{quote: quote{o: o}, reasons: reasons, lacking: requirements, commands: queue.Commands()}
}

// plain is voiceOf in one line without markup.
func (o Options) plain() voice {
	v := voiceOf(o)
	v.quote.plain = true
	return v
}

// plain is a voice that speaks of a change in one line without markup.
func (w Words) plain(c queue.Change) voice {
	v := voiceOf(Options{Words: w})
	v.quote.plain, v.branch, v.number, v.method = true, c.Branch, c.Number, c.Method
	return v
}

// footer offers the commands that have an effect in the present state.
func (w voice) footer(v queue.View) string {
	text := "---\n" + strings.Join(offers(v), " · ")
	if w.o.Words.Local {
		n := w.numberArgument()
		text = "---\n`submitqueue status " + n + "` shows this"
		if v.Change.Phase != "" && !v.Change.Phase.Final() {
			text += " · `submitqueue cancel " + n + "` takes it out"
		}
	}
	if page := w.changePage(string(v.Change.ID)); page != "" {
		text += " · " + w.link("details", page)
	}
	if about := w.about(v); about != "" {
		text += " · " + about
	}
	return text
}

// offers are the commands of a forge with pull requests that have an effect in a
// change's phase.
func offers(v queue.View) []string {
	const land, cancel, again, why, help = "`/land` lands it as it is now", "`/land cancel` takes it out",
		"`/land retry` runs failures again", "`/land explain` says why it waits", "`/land help`"
	if isShut(v) {
		return []string{help}
	}
	switch v.Change.Phase {
	case queue.Landed, queue.NothingToLand, queue.Landing:
		return []string{help}
	case queue.Analyzing:
		return []string{cancel, help}
	case queue.Pending:
		return []string{cancel, why, help}
	case queue.Parked:
		if v.Change.Reason.Code == queue.ReasonRequirements || v.Change.Reason.Code == queue.ReasonParent {
			return []string{cancel, help}
		}
		return []string{again, cancel, help}
	case queue.Trying:
		return []string{land, cancel, help}
	case queue.Rejected, queue.Tried:
		if wasRejected(v.Change) {
			return []string{again, help}
		}
		switch v.Change.Reason.Code {
		case queue.ReasonFailed: // it would be rejected at once
			if ofConfig(v.Change.Reason) {
				return []string{help}
			}
			return []string{again, help}
		case queue.ReasonMergeConflict:
			return []string{help}
		case queue.ReasonInfra, queue.ReasonNoRunner, queue.ReasonStuck, queue.ReasonBuildCap:
			return []string{land, again, help}
		}
	}
	return []string{land, help}
}
