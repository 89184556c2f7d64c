package speculation

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/predict"
)

// The tests here add one of a kind, as the package docs say it is done, and follow it.

// greet is a toy command: for maintainers, it answers with what it was told.
const greet = queue.Verb("greet")

func greeting(w *world) {
	c := &w.core.entering
	c.commands = append(c.commands, queue.CommandRow{Verb: greet, Words: "/land greet", Near: "/land greet NAME",
		Takes: func(cmd *queue.Command, rest []string) bool {
			cmd.Text = strings.Join(rest, " ")
			return cmd.Text != ""
		},
		Who: func(config.Permissions) config.Who { return "maintain" }})
	c.follows[greet] = func(c *entering, r *queue.Request, b queue.Inspected) {
		c.answer(r, queue.Reason{Code: "greeted", Names: []string{r.Command.Text, string(b.Head)}})
		c.react(r, true)
	}
}

// Without its two rows, the command is answered as unknown.
func TestAddACommand(t *testing.T) {
	for _, test := range []struct {
		user, said string
		added      bool
		want       []string
	}{
		{"boss", "/land greet bob", true, []string{"greeted", "bob"}},
		{"dev", "/land greet bob", true, []string{string(queue.ReasonNoPermission), "dev", "maintain"}},
		{"boss", "/land greet", true, []string{string(queue.ReasonUnknown), "/land greet", "/land greet NAME"}},
		{"boss", "/land geret bob", true, []string{string(queue.ReasonUnknown), "/land geret bob", "/land greet NAME"}},
		{"boss", "/land greet bob", false, []string{string(queue.ReasonUnknown), "/land greet bob", ""}},
	} {
		w := quiet(t, unit, config.Rules{})
		w.roles = map[string]string{"dev": "write"}
		if test.added {
			greeting(w)
		}
		p := w.open(w.main, edit{"a/code": "one"})
		w.step(w.say(p, test.user, test.said))
		w.settleDown()
		why := w.core.State().Pulls[p.number].Notice
		want := test.want
		if why.Code == "greeted" {
			want = append(want, string(p.head))
		}
		if got := append([]string{string(why.Code)}, why.Names...); !slices.Equal(got, want) {
			t.Errorf("%s by %s is answered with %q, want %q", test.said, test.user, got, want)
		}
		w.quiesce() // and nothing of it is left
	}
}

// A command that is in one of the two tables only would be refused, or never be heard of.
func TestEachCommandIsFollowed(t *testing.T) {
	follows := followers()
	for _, row := range queue.Commands() {
		if typed := row.Words != ""; typed != (follows[row.Verb] != nil) {
			t.Errorf("%s can be typed: %v; it is followed: %v", row.Verb, typed, !typed)
		}
		delete(follows, row.Verb)
	}
	for verb := range follows {
		t.Errorf("%s is followed, and nobody can give it", verb)
	}
}

// sizeWary is a toy predictor: it believes in changes of few files only.
type sizeWary struct{ predict.Model }

func (sizeWary) Good(ch *queue.Change) float64 { return 1 / float64(1+ch.Touches.Files) }

// A queue with another model decides the same: the model is asked, and lands nothing.
func TestAddAPredictor(t *testing.T) {
	for _, row := range append(predict.Models(), predict.Row{Name: "size", New: func() predict.Model { return sizeWary{predict.Default} }}) {
		w := newWorld(t, law{targets: []string{"a", "b"}, rules: []rule{{target: "b", all: []string{"bad"}}}}, tree{stepsFile: unit, "a/code": "base", "b/code": "base"}, rulesOf(config.Rules{}))
		w.core = NewWith(queue.NewState("main"), row.New())
		w.begin(4)
		first, second := w.land(edit{"a/code": "one"}), w.land(edit{"b/code": "bad"})
		w.quiesce()
		if got := w.phases(first, second); got != "landed landed, rejected failed" {
			t.Errorf("with %s: %s", row.Name, got)
		}
	}
}

// reading is a predictor that reads cases.
type reading struct{ predict.Model }

func (reading) GoodOf(c *predict.Case) (float64, bool) { return 0.25 + 0.5/(1+c.Files), true }

func (reading) DurationOf(*predict.Case) (predict.Dist, bool) {
	return predict.LogNormal.Of(90, 0), true
}

// The prediction of a model that reads cases is in the state from an analysis on: a core that
// is made anew with another model believes it, too, and outcomes move the shift of later ones.
func TestWhatAModelReadsIsKept(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
	w.core.facts.Beliefs.Ask(reading{predict.Default})
	p := w.land(edit{"a/code": "fine"})
	w.settleDown()
	ch := w.change(p)
	g := ch.Guess
	if g.Raw != 0.75 || g.Shifted != 0.75 || g.Good <= 0.75 || g.Good >= g.Without || g.Took != 90*time.Second || ch.Predicted >= g.Took || ch.Predicted <= g.Usual {
		t.Fatalf("%+v, %v", g, ch.Predicted)
	}
	again := NewWith(w.store.load(w).State(), predict.Default)
	if got := again.facts.Beliefs.Prior(again.s.Changes[ch.ID]); got != g.Good {
		t.Errorf("a core that is made anew believes %v", got)
	}
	w.quiesce()
	if w.phases(p) != "landed landed" {
		t.Error(w.phases(p))
	}
	if s := w.core.State().Learned.Shift; s.By <= 0 {
		t.Errorf("the shift is %+v", s)
	}
	next := w.land(edit{"a/code": "better"})
	w.settleDown()
	if g := w.change(next).Guess; g.Raw != 0.75 || g.Shifted <= 0.75 {
		t.Errorf("after a landing it is %+v", g)
	}
}

// A requirement of a new kind parks a change, and lets it in once the forge no longer
// names it: the core knows no list of kinds.
func TestAddARequirement(t *testing.T) {
	w, p, _ := asking(t)
	builds := len(w.runs)
	p.lacks = []queue.Requirement{{Kind: "full-moon", Names: []string{"friday"}}}
	w.step(w.say(p, "dev", "/land"))
	w.quiesce()
	why := w.change(p).Reason
	if w.phases(p) != "parked requirements" || len(why.Unmet) != 1 || why.Unmet[0].Kind != "full-moon" || len(w.runs) != builds {
		t.Fatalf("%s: %+v, %d builds", w.phases(p), why, len(w.runs)-builds)
	}
	p.lacks = nil
	w.tell(queue.Stirred{Number: p.number})
	w.quiesce()
	if w.phases(p) != "landed landed" {
		t.Errorf("once it is met: %s", w.phases(p))
	}
}
