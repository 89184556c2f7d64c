package texts

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
)

// quote puts text that others have written into our texts, and names changes, commits
// and branches. It is the one place where hostile text becomes part of a text: see
// escape.go.
type quote struct {
	o     Options
	plain bool   // one line without markup
	pull  string // URL of a pull request, up to its number
}

// code returns hostile text as a code span, or as it is in plain text.
func (w quote) code(s string) string {
	if w.plain {
		return OneLine(s, 100)
	}
	return codeSpan(s, 100)
}

// codes lists hostile texts, at most mostNames of them.
func (w quote) codes(list []string) string {
	shown := make([]string, 0, len(list))
	for i, s := range list {
		if i == mostNames {
			shown = append(shown, fmt.Sprintf("and %d more", len(list)-i))
			break
		}
		shown = append(shown, w.code(s))
	}
	return strings.Join(shown, ", ")
}

// link returns label as a link, where target is a URL of the web. The label must be safe.
func (w quote) link(label, target string) string {
	if u := safeLink(target); u != "" && !w.plain {
		return "[" + label + "](" + u + ")"
	}
	return label
}

// ref names a change by its pull request, e.g. #12.
func (w quote) ref(id string) string {
	number, _, _ := strings.Cut(id, ".")
	if number == "0" { // a revert for main, without a pull request
		return "the revert " + w.link(w.code(id), w.changePage(id))
	}
	if number == "" || strings.Trim(number, "0123456789") != "" || len(number) > 10 {
		return w.code(id)
	}
	if w.pull == "" {
		return w.link(w.o.Words.mark()+number, w.changePage(id))
	}
	return w.link(w.o.Words.mark()+number, w.pull+number)
}

func (w quote) refs(ids []string) string {
	shown := make([]string, 0, len(ids))
	for i, id := range ids {
		if i == mostAhead {
			shown = append(shown, fmt.Sprintf("%d more", len(ids)-i))
			break
		}
		shown = append(shown, w.ref(id))
	}
	if last := len(shown) - 1; last > 0 {
		return strings.Join(shown[:last], ", ") + " and " + shown[last]
	}
	return strings.Join(shown, "")
}

// commit names a commit, with a link to it.
func (w quote) commit(id queue.CommitID) string {
	label := w.code(OneLine(string(id[:min(len(id), 10)]), 10))
	if w.o.RepoURL == "" || id == "" {
		return label
	}
	return w.link(label, strings.TrimSuffix(w.o.RepoURL, "/")+"/commit/"+url.PathEscape(string(id)))
}

func (w quote) changePage(id string) string {
	if w.o.BaseURL == "" || id == "" {
		return ""
	}
	return strings.TrimSuffix(w.o.BaseURL, "/") + PagePath(w.o.Queue, queue.ChangeID(id))
}

func (w quote) helpAt() string {
	if w.o.Words.Local {
		return w.command("submitqueue --help") + " lists the commands."
	}
	return w.command("/land help") + " lists the commands."
}

// command returns one of our own commands.
func (w quote) command(s string) string {
	if w.plain {
		return s
	}
	return "`" + s + "`"
}

func orSome(s, some string) string {
	if s == "" {
		return some
	}
	return s
}

func amount(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d)", n)
}

func (w quote) by(r queue.Reason) string {
	if len(r.Names) == 0 || r.Names[0] == "" {
		return ""
	}
	return " by " + w.code(r.Names[0])
}

func (w quote) name(r queue.Reason) string {
	if len(r.Names) == 0 || r.Names[0] == "" {
		return ""
	}
	return ", " + w.code(r.Names[0])
}

// because ends a sentence with the reason that a person gave.
func (w quote) because(detail string) string {
	if OneLine(detail, 1) == "" {
		return "."
	}
	return ": " + w.long(detail) + "."
}

func (w quote) in(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return ": " + w.codes(names)
}

func (w quote) bases(names []string) string {
	if len(names) < 2 {
		return ""
	}
	return ": " + w.code(names[0]) + ", and this queue lands on " + w.code(names[1])
}

// renamedTo names a branch's former and present names.
func (w quote) renamedTo(names []string) string {
	if len(names) < 2 {
		return ""
	}
	return ": from " + w.code(names[0]) + " to " + w.code(names[1])
}

func atCount(names []string) string {
	if len(names) == 0 {
		return ""
	}
	n, err := strconv.Atoi(names[0])
	if err != nil {
		return ""
	}
	return fmt.Sprintf(" (%d)", n)
}

// last quotes an error in parentheses.
func (w quote) last(detail string) string {
	if OneLine(detail, 1) == "" {
		return ""
	}
	return " (the last: " + w.long(detail) + ")"
}

// quoted adds an error to plain text; in Markdown the error has a separate block.
func (w quote) quoted(detail string) string {
	if !w.plain || OneLine(detail, 1) == "" {
		return ""
	}
	return " What is wrong: " + w.long(detail)
}

func (w quote) long(s string) string {
	if w.plain {
		return OneLine(s, 300)
	}
	return codeSpan(s, 300)
}

// numbered names a pull request that may have no change.
func (w quote) numbered(number string) string {
	if w.pull == "" && number != "" && strings.Trim(number, "0123456789") == "" && len(number) <= 10 {
		return w.o.Words.mark() + number
	}
	return w.ref(number)
}

// resume names the command that lets landings go on, and the role that gives it. The text
// follows "after".
func (w quote) resume() string {
	if w.o.Words.Local {
		return w.command("submitqueue resume")
	}
	return w.command("/queue resume") + " by a maintainer"
}
