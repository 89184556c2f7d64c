package app

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// The files texts*.go hold all words for people about changes: comment, check,
// answers. They are pure: the same facts give the same text, and times are
// rounded so that a text rendered again says the same.
//
// Text that we did not write (titles, names, branches, paths, logs, errors) is
// shown in code spans and fenced blocks only, by texts_escape.go: there it
// cannot mention people, refer to issues, or carry markup.

// TextOptions is what a text needs beside the facts. The zero value of each
// field leaves out what it is for.
type TextOptions struct {
	BaseURL string        // of the dashboard
	RepoURL string        // of the repository at the forge, for links to commits
	Queue   string        // the queue's name
	Now     queue.Instant // the moment that "in 10 minutes" counts from
	Broken  string        // why the configuration on the target branch is not used; hostile text
	Words   Words         // of the forge
	Method  config.Method // by which changes land that ask for none; empty: by merge
	Default string        // the repository's default branch, where the queue's is another one; hostile text
}

// Bounds of a comment, and so of a check's summary. Forges take 65,535 characters.
const (
	mostAhead   = 5
	mostBuilds  = 4
	mostNames   = 10
	mostTail    = 30 // log lines of all failures together
	leastTail   = 5  // log lines of one failure
	tailColumns = 200
)

// CommentText returns the one comment of a pull request, with its hidden
// marker. No line of it is a command.
func CommentText(v queue.View, o TextOptions) string {
	w := newVoice(v, o)
	icon, headline := w.headline(v)
	blocks := append([]string{"### " + icon + " " + headline}, w.body(v)...)
	blocks = append(blocks, w.footer(v), Marker(o.Queue))
	return strings.Join(blocks, "\n\n") + "\n"
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

// help returns the commands, as Markdown.
func (w voice) help() string {
	if w.o.Words.Local {
		return strings.Join([]string{
			"On the machine of the server:",
			"",
			"- `submitqueue land BRANCH` asks to land a branch as it is now.",
			"- `submitqueue land BRANCH --priority LANE` does so in a lane, or puts the request into another one.",
			"- `submitqueue status` shows the queue, `submitqueue status NUMBER` one request.",
			"- `submitqueue cancel NUMBER` takes a request out of the queue.",
			"- `submitqueue land BRANCH --retry` forgets past failures and runs the steps again.",
			"- `submitqueue pause REASON` stops all landings until `submitqueue resume`.",
			"",
			"A request is for one commit: after a push, run `submitqueue land BRANCH` again.",
		}, "\n")
	}
	return strings.Join([]string{
		"Write one command per line in a comment:",
		"",
		"- `/land` asks to land this pull request as it is now. Setting the queue's label does the same.",
		"- `/land priority=LANE` does so in a lane, or puts it into another one. The label with `:LANE` behind it does the same.",
		"- `/land method=METHOD` lands it by merge, squash, rebase or fast-forward, as far as the configuration allows it.",
		"- `/land cancel` takes it out of the queue. Taking the label off does the same.",
		"- `/land retry` forgets past failures and runs the steps again.",
		"- `/land try` builds it on the target branch as it would land (`method=METHOD` as above) and says what came of it; it does not land.",
		"- `/land explain` says what would become of it, or why it is where it is.",
		"- `/land delegate @USER` lets somebody else land this pull request; `/land undelegate` takes that back.",
		"- `/land now REASON` puts it before all others, in an emergency; for those who may.",
		"- `/land status` brings this comment up to date.",
		"- `/land help` shows this list.",
		"- `/queue pause REASON` stops all landings until `/queue resume`; for maintainers. `/queue freeze UNTIL` ends by itself (`2h`, `18:00`, `2026-12-24 18:00`, in UTC).",
		"- `/queue blame` says which commit turned the target branch red, and what is done about it.",
		"- `/queue forget TARGET` takes back what has passed on a target, so that it is verified again; `step=NAME` does it for a step. For maintainers.",
		"",
		"An approval is for one commit: after a push, comment `/land` again.",
	}, "\n")
}

// ConfigBrokenText says, as Markdown, that the target branch's configuration, or
// one of its .gitattributes files, is not used, and why. broken is the error with line and column; hostile text.
func ConfigBrokenText(broken string) string {
	return "⚠️ The configuration on the target branch cannot be used as it is. What was last good stays in force until this is fixed:\n\n" +
		fenced(broken, 12, 400)
}

// voice renders facts in words, as Markdown or as one plain line.
type voice struct {
	o     TextOptions
	plain bool
	pull  string // URL of a pull request, up to its number

	branch string // of the change; hostile text
	number int
	method config.Method // by which the change lands
}

func newVoice(v queue.View, o TextOptions) voice {
	w := voice{o: o, branch: v.Change.Branch, number: v.Change.Number, method: v.Change.Method}
	if base, ok := strings.CutSuffix(v.Change.URL, fmt.Sprintf("/%d", v.Change.Number)); ok {
		// A plain link to github.com would leave "mentioned this" in the
		// history of the pull request it points to; this host does not.
		w.pull = strings.Replace(base, "https://github.com/", "https://redirect.github.com/", 1) + "/"
	}
	return w
}

// code returns hostile text as a code span, or as it is in plain text.
func (w voice) code(s string) string {
	if w.plain {
		return oneLine(s, 100)
	}
	return codeSpan(s, 100)
}

// codes lists hostile texts, a few of them.
func (w voice) codes(list []string) string {
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

// link returns label as a link, where url is one. The label must be safe.
func (w voice) link(label, target string) string {
	if u := safeLink(target); u != "" && !w.plain {
		return "[" + label + "](" + u + ")"
	}
	return label
}

// ref names a change by its pull request, e.g. #12.
func (w voice) ref(id string) string {
	number, _, _ := strings.Cut(id, ".")
	if number == "0" { // of main, and no pull request's
		return "the revert " + w.link(w.code(id), w.changePage(id))
	}
	if number == "" || strings.Trim(number, "0123456789") != "" || len(number) > 10 {
		return w.code(id)
	}
	if w.pull == "" {
		return w.link("#"+number, w.changePage(id))
	}
	return w.link("#"+number, w.pull+number)
}

func (w voice) refs(ids []string) string {
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
func (w voice) commit(id queue.CommitID) string {
	label := w.code(oneLine(string(id[:min(len(id), 10)]), 10))
	if w.o.RepoURL == "" || id == "" {
		return label
	}
	return w.link(label, strings.TrimSuffix(w.o.RepoURL, "/")+"/commit/"+url.PathEscape(string(id)))
}

func (w voice) changePage(id string) string {
	if w.o.BaseURL == "" || id == "" {
		return ""
	}
	return strings.TrimSuffix(w.o.BaseURL, "/") + "/change?queue=" + url.QueryEscape(w.o.Queue) + "&id=" + url.QueryEscape(id)
}

func (w voice) footer(v queue.View) string {
	text := "---\n`/land` lands this commit · `/land cancel` takes it out · `/land retry` runs failures again · `/land help`"
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
	return text
}
