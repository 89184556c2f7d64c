package web

import (
	"io"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
)

// searchShown is how many changes one page of a search lists.
const searchShown = 100

// Search says what to look for among the kept changes of a queue.
type Search struct {
	Text string // words that all have to appear; hostile text; "": every change
	Page int    // from 1
}

type searchModel struct {
	page
	Head   queueHead
	Search string
	Rows   []row
	Found  string // how many changes of how many were found
	Prev   int    // page before this one; 0: none
	Next   int    // page after this one; 0: none
}

// Search renders those changes of a queue that have all words of a text in their facts. The
// facts are number, title, branch, people, commits, state and reason. The changes without a
// verdict come first, in order, then the latest verdicts.
func (p *Pages) Search(w io.Writer, v queue.QueueView, s Search, now queue.Instant) error {
	p = p.of(v)
	d := newDirectory(v, now)
	words := strings.Fields(strings.ToLower(s.Text))
	var found []row
	total := 0
	look := func(c queue.View, brief bool) {
		total++
		r := p.row(d, c)
		if brief {
			r.Words = p.brief(c.Change)
		}
		if matches(words, c.Change, r) {
			found = append(found, r)
		}
	}
	for _, c := range v.Order {
		look(c, false)
	}
	for _, c := range v.Recent {
		look(queue.View{Change: c}, true)
	}
	m := searchModel{
		page: page{Title: "Changes of " + clean(v.Name), Queue: v.Name, Noun: p.words.Noun()},
		Head: p.head(v, now), Search: clean(s.Text),
		Found: count(len(found), "change", "changes") + " of " + count(total, "that is kept", "that are kept"),
	}
	from := min((max(s.Page, 1)-1)*searchShown, len(found))
	m.Rows = found[from:min(from+searchShown, len(found))]
	if from > 0 {
		m.Prev = max(s.Page, 1) - 1
	}
	if from+searchShown < len(found) {
		m.Next = max(s.Page, 1) + 1
	}
	return p.render(w, "search", m)
}

// matches reports whether each word is part of a known fact of a change.
func matches(words []string, c queue.Change, r row) bool {
	known := []string{r.Mark + count(c.Number, "", ""), c.Title, c.Branch, c.Author, c.Requester, c.Lane, string(c.Head), r.Chip.Label, r.Words}
	if c.Verdict != nil {
		known = append(known, string(c.Verdict.Commit))
		known = append(known, c.Verdict.Conflicts...)
		for _, f := range c.Verdict.Failures {
			known = append(append(known, f.Step), f.Targets...)
		}
	}
	for i, k := range known {
		known[i] = strings.ToLower(k)
	}
	for _, word := range words {
		if !slices.ContainsFunc(known, func(k string) bool { return strings.Contains(k, word) }) {
			return false
		}
	}
	return true
}
