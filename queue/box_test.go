package queue_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/queue"
)

const boxMarker = "<!-- submitqueue:acme/shop@main -->"

func boxed(body string, b queue.Box) string {
	return "### In the queue\n\n" + body + "\n\n" + b.String() + "\n\n---\n`/land help`\n\n" + boxMarker + "\n"
}

func TestToggled(t *testing.T) {
	land := queue.Box{Verb: queue.CommandLand, Label: "Queue it, as `/land` does."}
	on := land
	on.On = true
	retry := queue.Box{Verb: queue.CommandRetry, Label: "Again."}
	retried := retry
	retried.On = true
	text := func(b queue.Box) string { return boxed("3rd of 7", b) }
	crlf := func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }
	for name, c := range map[string]struct{ from, to, command string }{
		"checked":              {text(land), text(on), "/land"},
		"cleared":              {text(on), text(land), "/land cancel"},
		"checked to retry":     {text(retry), text(retried), "/land retry"},
		"by a form":            {text(land), strings.TrimSpace(crlf(text(on))), "/land"},
		"of a form's text":     {crlf(text(on)), text(land), "/land cancel"},
		"a capital X":          {text(land), strings.Replace(text(on), "- [x]", "- [X]", 1), "/land"},
		"X to x":               {strings.Replace(text(on), "- [x]", "- [X]", 1), text(on), ""},
		"nothing":              {text(land), text(land), ""},
		"an older text":        {boxed("2nd of 7", land), text(on), ""},
		"another label":        {text(land), strings.Replace(text(on), "Queue it", "Show more", 1), ""},
		"another verb":         {text(land), text(retried), ""},
		"the rest as well":     {text(land), text(on) + "more", ""},
		"without the box":      {text(land), boxed("3rd of 7", queue.Box{}), ""},
		"without a marker":     {text(land), strings.Replace(text(on), boxMarker, "", 1), ""},
		"another box above it": {boxed(land.String(), land), boxed(on.String(), land), ""},
	} {
		said, command := queue.Toggled(c.from, c.to)
		if command != c.command || said.Marker != boxMarker {
			t.Errorf("%s: %q, %+v; want %q", name, command, said, c.command)
		}
	}
	if said, _ := queue.Toggled("hello", "- [x] a <!-- submitqueue-box:land -->"); said.Marker != "" {
		t.Errorf("a comment without a marker: %+v", said)
	}
	if on, _ := queue.SaidIn(text(on)); on != must(queue.SaidIn(text(land))) {
		t.Error("a toggle makes it another text")
	}
}

func must(s queue.Said, _ *queue.Box) queue.Said { return s }

// In a comment of ours with any edit, only a toggle of its own box is a command, and a
// box toggled twice has its first text.
func TestToggledProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.OneOf(rapid.StringN(0, 30, -1), rapid.SampledFrom([]string{"/land", "- [ ] x <!-- submitqueue-box:land -->",
			"- [x] x <!-- submitqueue-box:retry -->", boxMarker, "<!--", "```"}))
		body := strings.Join(rapid.SliceOfN(line, 0, 5).Draw(t, "body"), "\n")
		b := queue.Box{On: rapid.Bool().Draw(t, "on"), Verb: queue.CommandLand, Label: "Queue it."}
		other := b
		other.On = !b.On
		want := map[bool]string{true: "/land", false: "/land cancel"}[other.On]
		from, to := boxed(body, b), boxed(body, other)
		said, command := queue.Toggled(from, to)
		if command != want || said.Marker != boxMarker {
			t.Fatalf("%q, %+v; want %q", command, said, want)
		}
		if back, command := queue.Toggled(to, from); back != said || command == want || command == "" {
			t.Fatalf("toggled back: %q, %+v; before %+v", command, back, said)
		}
		at := rapid.IntRange(0, len(from)).Draw(t, "at")
		insert := rapid.StringMatching(`[!-Z^-w]{1,5}`).Draw(t, "insert")
		if _, command := queue.Toggled(from, to[:at]+insert+to[at:]); command != "" {
			t.Fatalf("an edit is taken for a toggle: %q at %d", insert, at)
		}
	})
}
