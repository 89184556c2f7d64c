package texts

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
)

// Notice returns a line of the history as one line of plain text that people read outside
// the queue. It names the pull request that the note is about, and then has the words of
// Note. c is that pull request's change, or zero where it is not known any more. It may
// quote hostile text.
func (w Words) Notice(c queue.Change, n queue.Note) string {
	what, more := w.Note(c, n)
	switch {
	case strings.HasPrefix(more, "by "):
		what += " " + more
	case more != "":
		what += ": " + more
	}
	if n.Change == "" || n.Number == 0 {
		return what
	}
	about := w.Numbered(n.Number)
	if title := OneLine(c.Title, 120); title != "" {
		about += " " + title
	}
	if author := OneLine(c.Author, 60); author != "" {
		about += ", by " + author
	}
	return about + ". " + what
}

// Notices returns one line of plain text in place of many notices: how many there are
// of each kind, the most frequent first.
func Notices(count map[string]int) string {
	all, parts := 0, []string{}
	kinds := slices.Sorted(maps.Keys(count))
	slices.SortStableFunc(kinds, func(a, b string) int { return count[b] - count[a] })
	for _, kind := range kinds {
		all += count[kind]
		parts = append(parts, fmt.Sprintf("%d %s", count[kind], kind))
	}
	return fmt.Sprintf("%d more: %s", all, strings.Join(parts, ", "))
}

// PagePath is where the server shows a change, or the queue where id is empty.
func PagePath(name string, id queue.ChangeID) string {
	if id == "" {
		return "/queue?queue=" + url.QueryEscape(name)
	}
	return "/change?queue=" + url.QueryEscape(name) + "&id=" + url.QueryEscape(string(id))
}
