// Package doctor says what is wrong with a repository's set-up, and how to put it
// right. It judges the Survey of a forge and the server's own settings.
//
// It only judges: the facts come in as values, and the same facts always give
// the same findings. A branch that takes changes by pull request only,
//
//	Rules: [{Type: "pull_request", Ruleset: "7", Bypass: "no"}]
//
// is one finding that blocks: GitHub refuses to let the queue land, and the fix names
// the list that the App has to be put on.
package doctor

import (
	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"

	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/app/docs"
	"github.com/submitqueue/submitqueue/forge/github"
)

// Level is how much a finding matters.
type Level string

// The levels. A finding that blocks keeps changes from landing.
const (
	Blocks Level = "blocks"
	Warns  Level = "warns"
	Fine   Level = "fine"
)

// Finding is one thing that was looked at.
type Finding struct {
	Level Level  `json:"level"`
	About string `json:"about"` // one word, e.g. "webhooks"
	Says  string `json:"says"`
	Fix   string `json:"fix,omitempty"` // what to do; empty where all is well
	Doc   string `json:"doc,omitempty"` // where the server explains it; empty where all is well, and where the server's address is not known
}

// Facts are all facts that are judged.
type Facts struct {
	github.Survey
	Now     time.Time
	Public  string // URL under which GitHub should reach the server; empty: not known
	Unheard error  // why the webhook's address does not answer as the server does; nil: it does, or it was not asked
	Redis   Redis
	Trial   *Trial // nil: no trial was asked for
}

// Trial is what a push of many branches at once has shown.
type Trial struct {
	Refs int // how many were pushed
	Most int // how many GitHub takes at once; 0: all of them
	Err  error
}

// Redis is where the server keeps its state.
type Redis struct {
	Asked  bool
	Kind   string // for people
	Warns  string // what may be lost
	Err    error  // it does not answer
	Memory bool   // a restart empties it
}

// Judge returns what was found, the worst first, by subject.
func Judge(f Facts) []Finding {
	var r report
	r.clock(f)
	if r.app(f) {
		r.permissions(f)
		r.events(f)
		r.hook(f)
		r.deliveries(f)
		if r.repository(f) {
			r.config(f)
			r.branch(f)
			r.pushes(f)
			r.workflows(f)
		}
	}
	r.redis(f)
	return r.sorted(f.Public)
}

// both are the subjects that are judged and explained in the same way on all forges.
var both = []string{"config", "checkout", "redis"}

// sorted returns the findings, the worst first, with the pages of a server at an address that
// explain them.
func (r *report) sorted(public string) []Finding {
	for i, found := range r.list {
		if found.Level == Fine {
			continue
		}
		page := cmp.Or(r.page, "troubleshoot#doctor-")
		if slices.Contains(both, found.About) {
			page = "troubleshoot#doctor-"
		}
		r.list[i].Doc = docs.Link(public, page+found.About)
	}
	rank := map[Level]int{Blocks: 0, Warns: 1, Fine: 2}
	slices.SortStableFunc(r.list, func(a, b Finding) int { return cmp.Compare(rank[a.Level], rank[b.Level]) })
	return r.list
}

// Blocked reports whether any finding keeps changes from landing.
func Blocked(list []Finding) bool {
	return slices.ContainsFunc(list, func(f Finding) bool { return f.Level == Blocks })
}

// Write prints findings for people.
func Write(w io.Writer, title string, list []Finding) error {
	count := map[Level]int{}
	wide := 0
	for _, f := range list {
		count[f.Level]++
		wide = max(wide, len(f.About))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, %s, %d fine\n\n", title, print.Counted(count[Blocks], "problem"), print.Counted(count[Warns], "warning"), count[Fine])
	marks := map[Level]string{Blocks: "FAIL", Warns: "warn", Fine: "ok"}
	for _, f := range list {
		fmt.Fprintf(&b, "%-4s  %-*s  %s\n", marks[f.Level], wide, f.About, f.Says)
		if f.Fix != "" {
			fmt.Fprintf(&b, "%*s  fix: %s\n", 6+wide, "", f.Fix)
		}
		if f.Doc != "" {
			fmt.Fprintf(&b, "%*s  see: %s\n", 6+wide, "", f.Doc)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

type report struct {
	list []Finding
	page string // the page that explains its subjects; "": GitHub's
}

func (r *report) fine(about, says string, args ...any) {
	r.list = append(r.list, Finding{Fine, about, print.OneLine(fmt.Sprintf(says, args...)), "", ""})
}

func (r *report) add(level Level, about, says, fix string) {
	r.list = append(r.list, Finding{level, about, print.OneLine(says), print.OneLine(fix), ""})
}

// unread adds a finding about something that could not be read.
func (r *report) unread(about string, err error) {
	r.add(Warns, about, "this could not be read: "+err.Error(), "see the reason, and run this again")
}
