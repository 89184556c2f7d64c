package texts

import (
	"strings"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// listed says that only the roles, teams and users of a list may give a command.
func listed(w voice, r queue.Reason, who []string) string {
	what := "this"
	if len(r.Names) > 2 {
		what = "the lane " + w.code(r.Names[2])
	}
	var words []string
	for i, name := range who {
		switch {
		case i == mostNames:
			words = append(words, "others")
		case i > mostNames:
		case config.RoleLevel(name) > 0:
			words = append(words, "the permission "+w.code(name))
		default:
			words = append(words, w.code(strings.TrimPrefix(name, "@")))
		}
	}
	last := len(words) - 1
	text := words[last]
	if last > 0 {
		text = strings.Join(words[:last], ", ") + " or " + text
	}
	return "Sorry" + w.name(r) + ", " + what + " is for " + text + ". One of them can give the command."
}

// delegated names the person that a pull request is delegated to, and says what that means.
func delegated(w voice, r queue.Reason) string {
	names := r.Names
	if len(names) < 2 {
		return "Somebody else may land it now."
	}
	return w.code(names[0]) + " may " + w.command("/land") + " this " + w.o.Words.Noun() + " until it is closed; " + w.code(names[1]) +
		" says so. Without write access that is for its present commit only. " + w.command("/land undelegate") + " takes it back."
}

// emergency says that a change goes before all others, and names the author of the command for
// that.
func (w quote) emergency(c queue.Change) string {
	e := c.Now
	if e == nil {
		return ""
	}
	text := "🚨 **Emergency**, by " + w.code(e.By) + " at " + w.clockText(e.At) + w.because(e.Reason)
	if !c.Phase.Final() {
		text += " It goes before all others. It has to prove the same as every other change."
	}
	return text
}
