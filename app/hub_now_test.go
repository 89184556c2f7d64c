package app_test

import (
	"html"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/speculation"
)

// An emergency goes first, through a freeze, with its reason on the comment and
// in the history; a day has room for so many.
func TestNowGoesFirstAndIsWrittenDown(t *testing.T) {
	h := newHub(t, hubOptions{files: with("permissions: {now: [admin, bob]}\nqueue: {now_per_day: 1}\n")})
	a := h.pull("a", map[string]string{"a": "a\n"})
	h.Comment("max", a, "/queue freeze 2h cut the release")
	h.until("it is frozen", func(c *speculation.Core) bool {
		p := c.State().Main.Paused
		return p != nil && p.Until != 0
	})
	h.Comment("ann", a, "/land")
	h.says(a, "landings are paused", "Landings are frozen until ", "by `max`: `cut the release`")
	b := h.pull("b", map[string]string{"b": "b\n"})
	h.Comment("ann", b, "/land now the shop is down")
	h.says(b, "Sorry, `ann`, this is for the permission `admin` or `bob`")
	h.Comment("bob", b, "/land now")
	h.says(b, "Did you mean `/land now REASON`?")
	h.Comment("bob", b, "/land now the shop is down @all")
	h.landed(b, "🚨 **Emergency**, by `bob` at ", "`the shop is down @all`")
	if n := h.notes("now"); n != 1 {
		t.Errorf("%d emergencies in the history", n)
	}
	if _, page := h.page("/change?queue=acme%2Fshop%40main&id=" + string(h.change(b).ID)); !holds(page, "Emergency: put before all others", "by bob: the shop is down @all") {
		t.Errorf("the page does not say so:\n%s", page)
	}
	h.Comment("ada", a, "/land now too")
	h.says(a, "Daily emergency limit reached (1)", "There is room again at")
	if _, page := h.page("/queue?queue=acme%2Fshop%40main"); !holds(page, "Frozen by max until") {
		t.Errorf("the page does not say that landings are frozen:\n%s", page)
	}
	h.Comment("max", a, "/queue resume")
	h.landed(a)
}

// An emergency that is red does not land: proof is not what it is spared.
func TestNowNeedsItsProof(t *testing.T) {
	h := newHub(t, hubOptions{})
	n := h.pull("topic", map[string]string{"bad": "bad\n"})
	h.Comment("ada", n, "/land now hurry")
	h.rejected(n, "bad is bad", "🚨 **Emergency**, by `ada`")
}

func TestDelegation(t *testing.T) {
	h := newHub(t, hubOptions{files: with("permissions: {land: maintain}\n")})
	n := h.pull("topic", map[string]string{"a": "a\n"})
	h.Comment("ann", n, "/land delegate @bob")
	h.says(n, "Sorry, `ann`, this needs the permission `maintain`")
	h.Comment("max", n, "/land delegate @bob")
	h.says(n, "`bob` may `/land` this pull request until it is closed; `max` says so")
	h.Comment("ann", n, "/land")
	h.says(n, "Sorry, `ann`")
	h.push("ann", "topic", map[string]string{"a": "a, better\n"})
	h.Comment("bob", n, "/land")
	h.landed(n, "asked for by `bob`") // bob has write access, at any head

	p := h.pull("reader", map[string]string{"r": "r\n"})
	h.Comment("max", p, "/land delegate rea")
	h.says(p, "`rea` may `/land`")
	h.push("ann", "reader", map[string]string{"r": "r, and more\n"})
	h.Comment("rea", p, "/land")
	h.says(p, "Sorry, `rea`") // not at what nobody has vouched for
	h.Comment("max", p, "/land delegate @rea")
	h.says(p, "`rea` may `/land`")
	h.Comment("rea", p, "/land")
	h.landed(p, "asked for by `rea`")

	q := h.pull("workflow", map[string]string{".github/workflows/ci.yml": "on: push\n"})
	h.Comment("ada", q, "/land delegate @rea")
	h.says(q, "`rea` may `/land`")
	h.Comment("rea", q, "/land")
	h.says(q, "an administrator must approve this commit") // to delegate is not to approve
	h.Comment("ada", q, "/land undelegate")
	h.says(q, "It is not delegated to `rea` any more.")
	h.Comment("rea", q, "/land")
	h.says(q, "Sorry, `rea`")

	c := h.pull("closed", map[string]string{"c": "c\n"})
	h.Comment("max", c, "/land delegate @bob")
	h.says(c, "`bob` may `/land`")
	h.ClosePull("ann", c)
	h.Reopen("ann", c)
	h.Comment("bob", c, "/land")
	h.says(c, "Sorry, `bob`")
}

// holds reports whether a page has all the texts, as it shows them.
func holds(page string, texts ...string) bool {
	for _, text := range texts {
		if !strings.Contains(html.UnescapeString(page), text) {
			return false
		}
	}
	return true
}
