package texts_test

import (
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/queue"
)

// TestPartnerTexts holds that pages and the command line say of partners what
// the comment does, in each state and on plain repositories too.
func TestPartnerTexts(t *testing.T) {
	said := map[string]string{
		"rollup":          "it is built with #12 and #14 and is to land together with them in one merge",
		"landed-together": "It landed together with #12 and #14 in one merge; the checks are of that merge.",
	}
	for name, v := range textStates() {
		for _, local := range []bool{false, true} {
			words := texts.Words{Local: local}
			got := words.Partners(v)
			if want := said[name]; !strings.Contains(got, want) || (want == "") != (got == "") {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
			o := textOptions()
			o.BaseURL, o.Words, v.Change.URL = "", words, "" // no links: as on a terminal
			if comment := texts.Comment(v, o); !strings.Contains(comment, got) {
				t.Errorf("%s: the comment does not say %q:\n%s", name, got, comment)
			}
		}
	}
	v := textStates()["rollup"]
	v.Rollup = v.Rollup[:1]
	if got := (texts.Words{}).Partners(v); !strings.HasSuffix(got, "it is split until it is known through whom. It shares a build with #14. Each has its own verdict, and lands by itself.") {
		t.Errorf("%q", got)
	}
	v.Rollup = []queue.ChangeID{"\x1b[2J\n\u202Egnp.exe"}
	if got := (texts.Words{}).Partners(v); strings.ContainsAny(got, "\x1b\n\u202E") {
		t.Errorf("%q", got)
	}
}
