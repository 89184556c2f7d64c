package config_test

import (
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/queue/config"
)

func TestMessages(t *testing.T) {
	w := config.Worded{Title: "Fix\n{body}", Author: "ann", Body: "Why.\r\n<!-- a hint -->\r\n<!-<!-- x -->- and another -->\n\nChange: 9.ff\x00\x1b",
		Branch: "topic", URL: "https://x/1", Number: 1, Head: "abc", Commits: []string{"one", "two\nlines"}, CoAuthors: []string{"Co-authored-by: B <b@x>", "Signed-off-by: C <c@x>"}}
	for _, test := range []struct {
		name string
		of   config.Message
		want string
	}{
		{"what is filled in is not a template", config.Message{Title: "{title} (#{number})"}, "Fix {body} (#1)"},
		{"comments and what is no text are left out", config.Message{Title: "t", Body: "{body}"}, "t\n\nWhy.\n\n\n\nChange: 9.ff"},
		{"a title is one line", config.Message{Title: "{co_authors}{commits}"}, "Co-authored-by: B <b@x> Signed-off-by: C <c@x>* one * two lines"},
		{"braces", config.Message{Title: "{{title}} {{{title}}}"}, "{title} {Fix {body}}"},
		{"all names", config.Message{Title: "t", Body: "{author} {branch} {head} {url}\n{commits}\n{co_authors}"},
			"t\n\nann topic abc https://x/1\n* one\n* two lines\nCo-authored-by: B <b@x>\nSigned-off-by: C <c@x>"},
		{"a template may hold what is no text", config.Message{Title: "a\x00b", Body: "c\x00\x07d\te"}, "a b\n\ncd\te"},
		{"a message is never empty", config.Message{Title: " ", Body: " "}, "#1"},
	} {
		if got := test.of.Render(w); got != test.want {
			t.Errorf("%s:\n%q, want\n%q", test.name, got, test.want)
		}
	}
	w.Title, w.Body = strings.Repeat("ü", 1000), strings.Repeat("ü", 100_000)
	if got := (config.Message{Title: "{title}", Body: "{body}"}).Render(w); len(got) > 8100 || strings.ContainsRune(got, '\uFFFD') {
		t.Errorf("%d bytes", len(got))
	}
	for body, want := range map[string]string{
		"a<!-->b": "ab", "a<!--->b": "ab", "a<!---->b": "ab", "a<!-- b": "a", "a-->b": "a-->b",
		"a" + strings.Repeat("<!---->", 300_000) + "b": "ab", // people may write as much, and the queue does not stand still meanwhile
	} {
		if got := (config.Message{Title: "{body}"}).Render(config.Worded{Body: body}); got != want {
			t.Errorf("%.40q becomes %.40q, want %q", body, got, want)
		}
	}
}
