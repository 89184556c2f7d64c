package queue_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/submitqueue/submitqueue/queue"
)

// TestParseCommands: what a comment asks for, as "verb" or "verb: text",
// separated by " | ".
func TestParseCommands(t *testing.T) {
	for _, test := range []struct{ name, body, want string }{
		{"land", "/land", "land"},
		{"upper case", "/LAND", "land"},
		{"blanks", "  /land \t", "land"},
		{"among text", "Looks good.\n/land\nThanks!", "land"},
		{"CRLF", "Nice\r\n/land\r\n/land status\r\n", "land | status"},
		{"all of land", "/land cancel\n/land status\n/land retry\n/land help", "cancel | status | retry | help"},
		{"try", "/land try", "try"},
		{"a method to try", "/land try method=squash", "try by squash"},
		{"a method to explain", "/land explain method=rebase", "explain by rebase"},
		{"explain", "/land explain", "explain"},
		{"word in upper case", "/land CANCEL", "cancel"},
		{"a lane", "/land priority=high", "land in high"},
		{"a lane in upper case", "/LAND Priority=HIGH", "land in high"},
		{"a lane and retry", "/land retry priority=low", "retry in low"},
		{"two lanes", "/land priority=a priority=b", "unknown: /land priority=a priority=b"},
		{"no lane", "/land priority=", "unknown: /land priority="},
		{"a lane before the verb", "/land priority=a retry", "unknown: /land priority=a retry"},
		{"a lane to cancel", "/land cancel priority=a", "unknown: /land cancel priority=a"},
		{"verbs", "/land retry retry", "unknown: /land retry retry"},
		{"another option", "/land mode=squash", "unknown: /land mode=squash"},
		{"a method", "/land method=Squash priority=high", "land in high by squash"},
		{"two methods", "/land method=squash method=merge", "unknown: /land method=squash method=merge"},
		{"a method to retry", "/land retry method=squash", "unknown: /land retry method=squash"},
		{"a long lane", "/land priority=" + strings.Repeat("x", 60), "land in " + strings.Repeat("x", 39) + "…"},
		{"pause", "/queue pause the  tree is  broken", "pause: the tree is broken"},
		{"pause without a reason", "/queue pause", "pause"},
		{"resume", "/queue resume", "resume"},
		{"resume with words", "/queue resume please", "resume"},

		{"nothing", "", ""},
		{"text", "please land this", ""},
		{"not at the beginning", "please /land", ""},
		{"in a list", "- /land", ""},
		{"a path", "see /land/of/confusion", ""},
		{"path first", "/land/of", ""},

		{"quote", "> /land", ""},
		{"nested quote", ">> /land\n > /land cancel", ""},
		{"quote and own", "> /land\n\n/land cancel", "cancel"},
		{"fence", "```\n/land\n```", ""},
		{"fence with a language", "```sh\n/land\n```\n/land status", "status"},
		{"fence of tildes", "~~~\n/land\n```\n/land\n~~~\n/land status", "status"},
		{"longer fence", "````\n```\n/land\n````\n/land status", "status"},
		{"fence closed by a longer one", "```\n/land\n`````\n/land status", "status"},
		{"fence not closed by text", "```\n/land\n``` x\n/land", ""},
		{"fence never closed", "```\n/land", ""},
		{"inline code of three", "```x``` is the name\n/land", "land"},
		{"indented", "    /land", ""},
		{"tab", "\t/land", ""},
		{"blank and tab", "  \t/land", ""},
		{"three blanks", "   /land", "land"},
		{"inline code", "`/land`", ""},

		{"HTML comment", "<!-- /land -->", ""},
		{"HTML comment over lines", "<!--\n/land\n-->\n/land status", "status"},
		{"HTML comment after text", "Thanks! <!-- to land, say\n/land\n-->", ""},
		{"HTML comment opened again", "<!-- a --> <!-- b\n/land\n--> <!--\n/land\n-->\n/land status", "status"},
		{"HTML comment within a line", "a <!-- b --> c\n/land", "land"},
		{"HTML comment never closed", "<!--\n/land", ""},
		{"before an HTML comment", "/land status\n<!-- signature", "status"},

		{"swapped", "/lnad", "unknown: /lnad"},
		{"swapped at the end", "/ladn", "unknown: /ladn"},
		{"too many", "/lands", "unknown: /lands"},
		{"too few", "/lan", "unknown: /lan"},
		{"wrong", "/lamd", "unknown: /lamd"},
		{"punctuation", "/land.", "unknown: /land."},
		{"unknown word", "/land everything", "unknown: /land everything"},
		{"too many words", "/land cancel now", "unknown: /land cancel now"},
		{"unknown of queue", "/queue stop", "unknown: /queue stop"},
		{"queue alone", "/queue", "unknown: /queue"},
		{"the queue's own", "/land recheck", "unknown: /land recheck"},
		{"the queue's own name", "/land unknown", "unknown: /land unknown"},

		{"other bots", "/assign @me\n/retest\n/lgtm\n/label bug\n/hold\n/merge\n/landscape\n/l\n/", ""},
		{"other language", "/Länd\n/ｌａｎｄ\n/lаnd", ""}, // wide letters; a Cyrillic а
		{"invisible", "\u200b/land\n/la\u200bnd\n\u202e/land", ""},
		{"no-break space", "\u00a0/land\u00a0cancel", "cancel"},
		{"not UTF-8", "\xff/land\n/land\xff\n/land status", "status"},
		{"NUL", "/land\x00", "unknown: /land\x00"},
		{"line separator", "x\u2028/land", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, show(queue.ParseCommands(test.body))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func show(commands []queue.Command) string {
	var out []string
	for _, c := range commands {
		s := string(c.Verb)
		if c.Text != "" {
			s += ": " + c.Text
		}
		if c.Lane != "" {
			s += " in " + c.Lane
		}
		if c.Method != "" {
			s += " by " + c.Method
		}
		out = append(out, s)
	}
	return strings.Join(out, " | ")
}

func TestParseCommandsBounds(t *testing.T) {
	if got := queue.ParseCommands(strings.Repeat("/land\n", 1000)); len(got) != 8 {
		t.Errorf("%d commands of one comment", len(got))
	}
	if got := queue.ParseCommands("/land cancel\n" + strings.Repeat("/land\n", 1000))[0]; got.Verb != queue.CommandCancel {
		t.Errorf("the first is %v: the first eight are kept", got)
	}
	got := queue.ParseCommands("/queue pause " + strings.Repeat("é", 1000) + "\n/land " + strings.Repeat("x ", 1000))
	for i, limit := range []int{200, 80} {
		if n := utf8.RuneCountInString(got[i].Text); n != limit || !strings.HasSuffix(got[i].Text, "…") {
			t.Errorf("a long text is cut to %d runes, want %d", n, limit)
		}
	}
}

// Any text gives no panic, few commands, short texts and known verbs; a
// quotation of it asks for nothing.
func FuzzParseCommands(f *testing.F) {
	for _, seed := range []string{"/land", "> /land", "```\n/land\n```", "<!--\n/land\n-->", "/lnad\r\n/queue pause x", "\xff/land\x00", "\t/land",
		"/land now x", "/land delegate @a", "/land undelegate", "/queue freeze 2h x", "/queue freeze 2026-12-24 18:00Z", "/land try"} {
		f.Add(seed)
	}
	verbs := map[queue.Verb]bool{queue.CommandLand: true, queue.CommandCancel: true, queue.CommandStatus: true, queue.CommandRetry: true,
		queue.CommandPause: true, queue.CommandResume: true, queue.CommandHelp: true, queue.CommandUnknown: true, queue.CommandTry: true, queue.CommandExplain: true,
		queue.CommandNow: true, queue.CommandDelegate: true, queue.CommandUndelegate: true, queue.CommandFreeze: true}
	f.Fuzz(func(t *testing.T, body string) {
		got := queue.ParseCommands(body)
		if len(got) > 8 {
			t.Errorf("%d commands", len(got))
		}
		for _, c := range got {
			if !verbs[c.Verb] {
				t.Errorf("verb %q", c.Verb)
			}
			if c.Verb == queue.CommandFreeze {
				if until, _, ok := queue.FreezeUntil(c.Text, 1e12); ok && until <= 1e12 {
					t.Errorf("%q ends before it begins", c.Text)
				}
			}
			if utf8.RuneCountInString(c.Near) > 80 || len(c.User) > 60 {
				t.Errorf("%+v is too long", c)
			}
			if utf8.RuneCountInString(c.Text) > 200 {
				t.Errorf("a text of %d bytes", len(c.Text))
			}
			if !strings.Contains(body, "/") {
				t.Errorf("%v from a text without a slash", c)
			}
		}
		quoted := "> " + strings.ReplaceAll(body, "\n", "\n> ")
		if q := queue.ParseCommands(quoted); len(q) > 0 {
			t.Errorf("a quotation asks for %v", q)
		}
		again := queue.ParseCommands(strings.ReplaceAll(strings.ReplaceAll(body, "\r\n", "\n"), "\n", "\r\n"))
		if diff := cmp.Diff(got, again, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("other line ends: %s", diff)
		}
	})
}
