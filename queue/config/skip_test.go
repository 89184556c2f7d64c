package config_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/queue/config"
)

func TestSkips(t *testing.T) {
	for message, want := range map[string]struct {
		marker    string
		sure      bool
		unskipped string
	}{
		"Fix [skip ci] it":                      {"[skip ci]", true, "Fix (skip ci) it"},
		"x\n\ny [ci skip]\n":                    {"[ci skip]", true, "x\n\ny (ci skip)\n"},
		"[no ci]":                               {"[no ci]", true, "(no ci)"},
		"[skip actions]":                        {"[skip actions]", true, "(skip actions)"},
		"[actions skip]":                        {"[actions skip]", true, "(actions skip)"},
		"[Skip  CI]":                            {"[Skip CI]", false, "(Skip  CI)"},
		"[SKIP CI] [skip ci]":                   {"[skip ci]", true, "(SKIP CI) (skip ci)"},
		"[[skip ci]]":                           {"[skip ci]", true, "[(skip ci)]"},
		"x\n\n\nskip-checks: true\n":            {"skip-checks: true", false, "x\n\n\n(skip-checks: true)\n"},
		"x\r\n\r\nskip-checks:true\r":           {"skip-checks: true", false, "x\r\n\r\n(skip-checks:true)"},
		"x\n\nskip-checks: true\nChange: 1.a\n": {"skip-checks: true", false, "x\n\n(skip-checks: true)\nChange: 1.a\n"},
		"x\n\nskip-checks: true\n\nmore":        {"", false, "x\n\n(skip-checks: true)\n\nmore"},
		"skip ci":                               {"", false, "skip ci"}, "[skip cinema]": {"", false, "[skip cinema]"}, "skip-checks: trueish": {"", false, "skip-checks: trueish"},
		"no skip-checks: true": {"", false, "no skip-checks: true"}, "": {"", false, ""},
	} {
		if marker, sure := config.Skips(message); marker != want.marker || sure != want.sure {
			t.Errorf("%q says %q, surely %v", message, marker, sure)
		}
		if got := config.Unskipped(message); got != want.unskipped {
			t.Errorf("%q becomes %q, want %q", message, got, want.unskipped)
		}
	}
}

// Whatever is written, none of it keeps a CI from what the queue commits, also
// where it comes together only in the message.
func TestNoMessageSkips(t *testing.T) {
	words := rapid.SliceOf(rapid.SampledFrom([]string{"[", "]", " ", "\n", "\t", "\r", "skip", "ci", "no", "actions", "SKIP", "CI", "<!--", "-->", "skip-checks", ":", "true", "x", "\x00"}))
	rapid.Check(t, func(r *rapid.T) {
		text := func(name string) string { return strings.Join(words.Draw(r, name), "") }
		w := config.Worded{Title: text("title"), Body: text("body"), Branch: text("branch"), Commits: []string{text("commit")}, CoAuthors: []string{text("author")}}
		m := rapid.SampledFrom([]config.Message{{Title: "{title}", Body: "{body}"}, {Title: "[{title}]", Body: "[{body}]\n{co_authors}"},
			{Title: "{branch}{title}", Body: "{commits}\n{title}: {body}"}}).Draw(r, "template")
		said := m.Render(w)
		if marker, _ := config.Skips(said); marker != "" {
			r.Fatalf("%q of %+v says %s", said, w, marker)
		}
		if again := config.Unskipped(said); again != said {
			r.Fatalf("%q becomes %q", said, again)
		}
	})
	own := config.Message{Title: "{title} [skip ci]"}
	if got := own.Render(config.Worded{Title: "x"}); got != "x [skip ci]" {
		t.Errorf("a template's own marker: %q", got)
	}
}
