package notify

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

var update = flag.Bool("update", false, "write the golden files")

// told are changes, the second of which somebody hostile has made.
var people = []queue.Change{
	{ID: "12.1f8e0c3a", Number: 12, Title: "Fix the cart", Author: "ann", URL: "https://github.com/acme/shop/pull/12"},
	{ID: "13.00000000", Number: 13, Title: "<!channel> & <https://evil.example|click> @here\u202e\n*SubmitQueue*: all is well", Author: "<@U0>", URL: "javascript:alert(1)"},
}

// samples has a note of each kind.
func samples() []queue.Note {
	at := queue.At(time.Date(2026, 11, 24, 19, 0, 0, 0, time.UTC))
	of := func(what string, ch int, why queue.Reason) queue.Note {
		n := queue.Note{At: at, What: what, Reason: why}
		if ch >= 0 {
			n.Change, n.Number = people[ch].ID, people[ch].Number
		}
		return n
	}
	landed := of("landed", 0, queue.Reason{})
	landed.Commit = "5f0c2e"
	gone := of("landed", 0, queue.Reason{})
	gone.Change, gone.Number = "7.deadbeef", 7
	return []queue.Note{
		landed, gone,
		of("rejected", 0, queue.Reason{Code: queue.ReasonFailed, Names: []string{"test"}}),
		of("rejected", 1, queue.Reason{Code: queue.ReasonFailed, Names: []string{"<!here>"}}),
		of("cancelled", 0, queue.Reason{Code: queue.ReasonCancelled, Names: []string{"bob"}}),
		of("nothing-to-land", 0, queue.Reason{}),
		of("parked", 0, queue.Reason{Code: queue.ReasonRedMain}),
		of("parked", 0, queue.Reason{Code: queue.ReasonRequirements}),
		of("main-red", -1, queue.Reason{Code: queue.ReasonRedMain, Names: []string{"./cart", "./order"}}),
		of("hunt-over", -1, queue.Reason{Names: []string{string(queue.HuntRepaired)}}),
		of("paused", -1, queue.Reason{Code: queue.ReasonPaused, Names: []string{"ann"}, Detail: "the release is cut"}),
		of("forced", -1, queue.Reason{Code: queue.ReasonForced, Names: []string{"old", "new"}}),
		of("differs", -1, queue.Reason{Code: queue.ReasonPaused, Names: []string{"submitqueue"}, Detail: "the merge differs"}),
		of("frozen", -1, queue.Reason{Code: queue.ReasonPaused, Names: []string{"ann"}, Detail: "holidays", Until: at.Add(2 * time.Hour)}),
		of("resumed", -1, queue.Reason{Names: []string{"ann"}}),
		of("refused", -1, queue.Reason{Code: queue.ReasonProtected, Detail: "GH013: <rule> & @channel"}),
		of("host-benched", -1, queue.Reason{Code: queue.ReasonBenched, Names: []string{"mac-3", "test", "3", "12"}, Until: at.Add(time.Hour)}),
	}
}

// Golden texts: what people read, and the JSON that their programs read.
func TestMessages(t *testing.T) {
	n := newRig(t).notifier(nil)
	source := &rig{T: t, changed: make(chan struct{}), view: queue.QueueView{Recent: people[:1], Order: []queue.View{{Change: people[1]}}}}
	var out strings.Builder
	said := map[string]bool{}
	write := func(m Message) {
		said[m.Kind] = true
		fmt.Fprintf(&out, "%s\n", m.Text)
		for _, s := range sinks {
			body, _, err := s.encode(m, []byte(secret), time.Unix(0, 0))
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&out, "\t%s: %s\n", s.name, body)
		}
	}
	var all []waiting
	for i, note := range samples() {
		k, ok := kindOf(kinds, note)
		if !ok {
			t.Fatalf("nobody is told of %+v", note)
		}
		w := waiting{queue.Noted{Place: fmt.Sprint(i + 1), Note: note}, k}
		all = append(all, w)
		write(n.messageOf(t.Context(), shop, source, w))
	}
	write(n.manyOf(shop, source, all))
	for _, k := range kinds {
		if !said[k.name] {
			t.Errorf("kind %s has no sample", k.name)
		}
	}
	file := filepath.Join("testdata", "messages.golden")
	if *update {
		if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if out.String() != string(want) {
		t.Errorf("run with -update and look at the difference:\n%s", out.String())
	}
}

// A branch that is pushed by force ends a hunt, and is not green by that.
func TestNotGreenByForce(t *testing.T) {
	if k, ok := kindOf(kinds, queue.Note{What: "hunt-over", Reason: queue.Reason{Names: []string{string(queue.HuntForced)}}}); ok {
		t.Errorf("told as %s", k)
	}
}

// A kind that is made of what nobody notes would never be told, and one that no document
// names never asked for.
func TestEachKindIsNoted(t *testing.T) {
	files, err := filepath.Glob("../../speculation/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var code strings.Builder
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(f, "_test.go") {
			code.Write(text)
		}
	}
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../docs/operate.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range kinds {
		if !strings.Contains(string(doc), k.name) || !strings.Contains(string(page), "`"+k.name+"`") {
			t.Errorf("kind %s is not in doc.go and operate.md", k.name)
		}
		for _, what := range k.of {
			if !queue.Phase(what).Final() && !strings.Contains(code.String(), fmt.Sprintf("What: %q", what)) {
				t.Errorf("kind %s: nothing notes %q", k.name, what)
			}
		}
	}
}

// Whatever a title says, a Slack channel is not woken by it, and it is no link and no
// markup of ours.
func TestHostileSlack(t *testing.T) {
	for _, title := range []string{"<!channel>", "<!here|x>", "<@U123>", "<#C1>", "<!subteam^S1>", "<https://evil.example|ok>", "&lt;!channel&gt;", "@channel", "@here @everyone", "a>b<c&d", strings.Repeat("<", 5000), "\u202e<!channel>\x00"} {
		ch := queue.Change{ID: "1.a", Number: 1, Title: title, Author: title, URL: "https://forge.example/1?a=1&b=<!channel>|x"}
		source := &rig{T: t, changed: make(chan struct{}), view: queue.QueueView{Recent: []queue.Change{ch}}}
		n := newRig(t).notifier(nil)
		m := n.messageOf(t.Context(), shop, source, waiting{queue.Noted{Place: "1", Note: queue.Note{What: "rejected", Change: "1.a", Number: 1, Reason: queue.Reason{Detail: title, Names: []string{title}}}}, "rejected"})
		body, _, err := encodeSlack(m, nil, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if len(body) > 20_000 {
			t.Errorf("%.20q: %d bytes", title, len(body))
		}
		var sent struct{ Text string }
		if err := json.Unmarshal(body, &sent); err != nil {
			t.Fatal(err)
		}
		ours := 0
		for part := range strings.SplitSeq(sent.Text, "<") {
			switch {
			case ours == 0:
			case strings.HasPrefix(part, "https://queue.example.com/change?") && strings.HasSuffix(part, "|details>"):
			case strings.HasPrefix(part, "https://forge.example/1?a=1&amp;b=%3C!channel%3E%7Cx|pull request> "):
			default:
				t.Errorf("%q: a link that is not ours: <%s", title, part)
			}
			ours++
		}
		if ours != 3 || strings.Count(sent.Text, ">") != 2 || strings.Count(sent.Text, "|") != 2+strings.Count(m.Text, "|") {
			t.Errorf("%q: %s", title, sent.Text)
		}
		if strings.Count(sent.Text, "@") != strings.Count(sent.Text, "@\u200b") {
			t.Errorf("%q mentions somebody: %q", title, sent.Text)
		}
	}
}
