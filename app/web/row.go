package web

import (
	"cmp"
	"net/url"
	"strconv"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
)

// ref is a link to a change's page.
type ref struct {
	Queue  string
	ID     string
	Number int
	Mark   string // before the number
	Title  string
	Known  bool // the queue view holds it
}

// directory finds changes by id.
type directory struct {
	queue string
	mark  string // what the forge writes before the number of a change
	web   string // address of the repository's pages; "": none
	now   queue.Instant
	byID  map[queue.ChangeID]queue.Change
}

func newDirectory(v queue.QueueView, now queue.Instant) *directory {
	d := &directory{queue: v.Name, mark: cmp.Or(v.Mark, "#"), web: strings.TrimSuffix(safeURL(v.Web), "/"), now: now, byID: map[queue.ChangeID]queue.Change{}}
	for _, c := range v.Recent {
		d.byID[c.ID] = c
	}
	for _, w := range v.Order {
		d.byID[w.Change.ID] = w.Change
	}
	return d
}

func (d *directory) ref(id queue.ChangeID) ref {
	if c, ok := d.byID[id]; ok {
		return ref{Queue: d.queue, ID: string(id), Number: c.Number, Mark: d.mark, Title: clean(c.Title), Known: true}
	}
	// An id begins with the pull request's number (queue.NewChangeID).
	head, _, _ := strings.Cut(string(id), ".")
	n, _ := strconv.Atoi(head) // 0: not an id of ours; it is shown as it is
	return ref{Queue: d.queue, ID: string(id), Number: n, Mark: d.mark}
}

func (d *directory) refs(ids []queue.ChangeID) []ref {
	var out []ref
	for _, id := range ids {
		out = append(out, d.ref(id))
	}
	return out
}

// commitURL returns the page of a commit at the forge; "" where there is none.
func (d *directory) commitURL(id queue.CommitID) string {
	if d.web == "" || id == "" {
		return ""
	}
	return d.web + "/commit/" + url.PathEscape(string(id))
}

// row is one change in a table.
type row struct {
	ref
	Position int
	URL      string // of the pull request; empty: none
	Branch   string // of its head; empty: not known
	Author   string
	Chip     chip
	Words    string // why it is where it is
	Also     string // why no build of it begins, where Words do not say that
	Due      stamp  // when that is looked at again
	Builds   []bar
	Ahead    []ref
	More     int // further ones ahead
	Arrived  stamp
	Forecast string // when its verdict is expected; empty: not known
	Decided  stamp
	Until    stamp
	Commit   string // the commit that it landed as
	Page     string // of that commit at the forge; empty: none
}

// aheadShown is how many changes ahead a row names.
const aheadShown = 4

func (p *Pages) row(d *directory, v queue.View) row {
	c := v.Change
	r := row{
		ref:      ref{Queue: d.queue, ID: string(c.ID), Number: c.Number, Mark: d.mark, Title: titleOf(c), Known: true},
		Position: v.Position, URL: safeURL(c.URL), Branch: clean(c.Branch), Author: clean(c.Author), Chip: chipOf(v), Words: p.why(v),
		Ahead:   d.refs(v.Ahead[:min(len(v.Ahead), aheadShown)]),
		More:    max(0, len(v.Ahead)-aheadShown),
		Arrived: stampOf(c.Arrival, d.now), Decided: stampOf(c.Decided, d.now), Until: dueOf(c.Until, d.now),
	}
	if !c.Phase.Final() && c.Phase != queue.Parked {
		r.Forecast = p.words.Forecast(v.Forecast, d.now)
	}
	if c.Verdict != nil && c.Phase == queue.Landed {
		r.Commit, r.Page = short(c.Verdict.Commit), d.commitURL(c.Verdict.Commit)
	}
	for _, b := range v.Builds {
		r.Builds = append(r.Builds, p.bar(b, d.now))
	}
	if n := len(v.Waits); n > 0 && c.Phase == queue.Pending && len(v.Builds) == 0 {
		last := v.Waits[n-1]
		r.Due = dueOf(last.Until, d.now)
		if n > 1 {
			r.Also = clean(p.words.Short(c, last))
		}
	}
	return r
}

// why returns the most important reason of a change in words.
func (p *Pages) why(v queue.View) string {
	if len(v.Waits) > 0 {
		return p.say(v.Change, v.Waits[0])
	}
	return p.say(v.Change, v.Change.Reason)
}

func (p *Pages) say(c queue.Change, r queue.Reason) string {
	if r.Code == "" {
		return ""
	}
	return clean(p.words.Reason(c, r))
}

// brief returns how a change ended in a few words.
func (p *Pages) brief(c queue.Change) string {
	if c.Reason.Code == "" || c.Phase == queue.Landed {
		return ""
	}
	return clean(p.words.Short(c, c.Reason))
}

func titleOf(c queue.Change) string {
	if t := clean(c.Title); strings.TrimSpace(t) != "" {
		return t
	}
	return "(no title)"
}

// count returns a number with its noun.
func count(n int, one, many string) string {
	noun := many
	if n == 1 {
		noun = one
	}
	return strings.TrimSpace(strconv.Itoa(n) + " " + noun)
}
