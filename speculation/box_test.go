package speculation

import (
	"testing"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/queue/digest"
)

// Only a toggle of the very text that this queue has written last, by somebody who is
// heard, is a command; any other edit has the comment written anew.
func TestBoxOfWhichText(t *testing.T) {
	ours := queue.Said{Marker: "<!-- submitqueue:acme/shop@main -->", Text: digest.Of("a")}
	other := queue.Said{Marker: "<!-- submitqueue:acme/shop@release -->", Text: digest.Of("a")}
	older := queue.Said{Marker: ours.Marker, Text: digest.Of("b")}
	const nothing, anew, queued = "nothing", "anew", "queued"
	for name, x := range map[string]struct {
		edit queue.Edited
		said queue.Said // as it is known; zero: ours
		off  bool
		want string
	}{
		"toggle":                 {edit: queue.Edited{Author: "eve", Before: ours, Command: "/land"}, want: queued},
		"of an older text":       {edit: queue.Edited{Author: "eve", Before: older, Command: "/land"}, want: anew},
		"another edit":           {edit: queue.Edited{Author: "eve", Before: ours}, want: anew},
		"of another queue":       {edit: queue.Edited{Author: "eve", Before: other, Command: "/land"}, want: nothing},
		"nothing said yet":       {edit: queue.Edited{Author: "eve", Before: ours, Command: "/land"}, said: queue.Said{Text: "x"}, want: nothing},
		"switched off":           {edit: queue.Edited{Author: "eve", Before: ours, Command: "/land"}, off: true, want: anew},
		"an App":                 {edit: queue.Edited{Author: "robo[bot]", Bot: true, Before: ours, Command: "/land"}, want: nothing},
		"an App, another edit":   {edit: queue.Edited{Author: "robo[bot]", Bot: true, Before: ours}, want: nothing},
		"an App that is heard":   {edit: queue.Edited{Author: "good[bot]", Bot: true, Before: ours, Command: "/land"}, want: queued},
		"by who may not":         {edit: queue.Edited{Author: "rea", Before: ours, Command: "/land"}, want: anew},
		"out, though not in":     {edit: queue.Edited{Author: "eve", Before: ours, Command: "/land cancel"}, want: anew},
		"no text, no command":    {edit: queue.Edited{Author: "eve"}, want: nothing},
		"another pull request's": {edit: queue.Edited{Number: 99, Author: "eve", Before: ours, Command: "/land"}, want: nothing},
	} {
		t.Run(name, func(t *testing.T) {
			rules := config.Rules{}
			if x.off {
				rules.Checkbox = config.CheckboxOff
			}
			w := quiet(t, unit, rules)
			w.permissions, w.roles = config.Permissions{Bots: []string{"good[bot]"}}, map[string]string{"eve": "write", "rea": "read", "good[bot]": "write"}
			files := edit{"c/code": "settings"}
			w.commitOutside(w.commits[w.main].tree.with(files))
			w.tell(queue.MainMoved{Branch: "main"})
			w.quiesce()
			p := w.open(w.main, edit{"a/code": "one"})
			if p.said = x.said; x.said == (queue.Said{}) {
				p.said = ours
			}
			w.step(w.say(p, "boss", "/queue pause wait"))
			w.step(w.say(p, "boss", "/land help"))
			w.settleDown()
			shown := w.core.s.Pulls[p.number].Shown
			if x.edit.Number == 0 {
				x.edit.Number = p.number
			}
			w.step(w.event(x.edit))
			w.settleDown()
			got := nothing
			switch pull := w.core.s.Pulls[p.number]; {
			case pull.Active != "":
				got = queued
				if pull.Edited == 0 {
					t.Error("the box is not shown as it is")
				}
			case pull.Edited != 0 && pull.Shown != shown:
				got = anew
			case pull.Edited != 0 || pull.Shown != shown:
				t.Errorf("edited at %v, shown %s, before %s", pull.Edited, pull.Shown, shown)
			}
			if got != x.want {
				t.Errorf("%s, want %s", got, x.want)
			}
		})
	}
}
