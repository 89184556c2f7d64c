package web_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/app/web"
	"github.com/submitqueue/submitqueue/queue"
)

// rollupChange is to land with one of a hostile title and one that nobody knows,
// and shares a build with a third.
func rollupChange() web.Change {
	q := busyQueue()
	v := q.Order[2]
	v.Rollup = []queue.ChangeID{idOf(349), "9.gone"}
	v.Builds = slices.Clone(v.Builds)
	v.Builds[0].Build.Also = []queue.ChangeID{idOf(349), idOf(351)}
	return web.Change{Queue: q, View: v}
}

// togetherChange has landed with two others.
func togetherChange() web.Change {
	c := busyQueue().Recent[0]
	verdict := *c.Verdict
	verdict.Together = []queue.ChangeID{idOf(349), idOf(336)}
	c.Verdict = &verdict
	return endedChange(c)
}

// Each partner has a link under what it is to the change, and nobody is named
// where there is none.
func TestPageNamesPartners(t *testing.T) {
	// facts returns the numbers that a page links under a name.
	facts := func(page, name string) string {
		_, after, _ := strings.Cut(page, "<dt>"+name+"</dt><dd>")
		inside, _, _ := strings.Cut(after, "</dd>")
		var out []string
		for _, part := range strings.Split(inside, "</a>") {
			if i := strings.LastIndex(part, ">#"); i >= 0 && strings.Contains(part, `href="/change?queue=acme%2fstore%40main&amp;id=`) {
				out = append(out, part[i+1:])
			}
		}
		return strings.Join(out, " ")
	}
	for _, x := range []struct{ page, name, want string }{
		{"rollup", "To land with", "#349 #9"}, {"rollup", "Shares a build with", "#351"}, {"rollup", "Landed with", ""},
		{"together", "Landed with", "#349 #336"}, {"together", "To land with", ""},
		{"waiting", "To land with", ""}, {"waiting", "Shares a build with", ""}, {"landed", "Landed with", ""},
	} {
		page := render(t, x.page)
		if got := facts(page, x.name); got != x.want {
			t.Errorf("%s, %q: %q, want %q", x.page, x.name, got, x.want)
		}
		if said := strings.Contains(page, "with others &lt;script&gt;"); said != (x.page == "rollup" || x.page == "together") {
			t.Errorf("%s says with whom in words: %t", x.page, said)
		}
	}
}
