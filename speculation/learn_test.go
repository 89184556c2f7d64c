package speculation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/derived"
	"github.com/submitqueue/submitqueue/speculation/predict"
)

func (w *world) learn(key string, t queue.Learn) queue.Learnt {
	if w.learns == nil {
		return queue.Learnt{Action: key, Why: "there is nothing to learn"}
	}
	m := w.learns(t)
	m.Version, m.Cause, m.At = t.Version, t.Cause, w.now
	return queue.Learnt{Action: key, Model: m}
}

// halved is a model that was learned of changes of which half are sound, by their files: what
// has more of them than ten is broken.
func halved(t *testing.T) *queue.Model {
	t.Helper()
	var samples []predict.Sample
	for i := range 400 {
		c := predict.NewCase()
		c.Files = float64(1 + i*7%20)
		sound := c.Files <= 10
		if i%9 == 0 {
			sound = !sound
		}
		samples = append(samples, predict.Sample{Change: queue.ChangeID(fmt.Sprint(i)), At: queue.Instant(i + 1), Case: c, Decided: true, Landed: sound, Sound: sound})
	}
	trained, err := predict.Train(samples, predict.TrainOptions{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	m, err := trained.Version()
	if err != nil || !m.Good.Used {
		t.Fatalf("%v: %+v", err, m.Good)
	}
	return m
}

// idle is a model that beats nothing.
func idle() *queue.Model {
	return &queue.Model{Text: "{}", Good: queue.ModelPart{Why: "no"}, Took: queue.ModelPart{Why: "no"}}
}

// poke changes what a queue has learned, where it is and where it is stored.
func (w *world) poke(change func(s *queue.State)) {
	w.Helper()
	change(w.core.s)
	for _, id := range []string{queue.MetaModel, queue.MetaLearned} {
		if r, ok, err := w.core.s.Encode(queue.Ref{Kind: queue.KindMeta, ID: id}); err != nil {
			w.Fatalf("%v", err)
		} else if ok {
			w.store.records[r.Ref] = r.Data
		}
	}
}

// ended has the queue believe that so many changes have ended, and looks whether it learns.
func (w *world) ended(n int) {
	w.Helper()
	w.poke(func(s *queue.State) { s.Model.Seen += n })
	w.tell(queue.Tick{})
	w.settleDown()
}

// A queue learns once enough has ended, plans with what it has learned, and a server that
// takes the queue over plans with the same.
func TestAQueueLearns(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
	m := halved(t)
	w.learns = func(queue.Learn) *queue.Model { return m }
	w.ended(predict.FewestDecided - 1)
	if s := w.core.s; s.Model.Latest != 0 || s.Model.Using != 0 {
		t.Fatalf("of too few changes it learns: %+v", s.Model)
	}
	w.ended(1)
	if s := w.core.s; s.Model.Using != 1 || s.Models[1] == nil || s.Models[1].Cause != queue.LearnFirst {
		t.Fatalf("%+v", s.Model)
	}
	p := w.land(edit{"a/code": "fine"})
	w.settleDown()
	g := w.change(p).Guess
	if g.Model != 1 || g.Raw <= g.Without || g.Good <= g.Without || g.Good >= g.Raw {
		t.Fatalf("of one file it says %+v", g)
	}
	again := NewWith(w.store.load(w).State(), predict.Default)
	r, ok := again.facts.Beliefs.Model.(predict.Reader)
	if !ok {
		t.Fatal("a core that is made anew does not plan with the model")
	}
	ch := again.s.Changes[w.change(p).ID]
	if q, _ := r.GoodOf(again.facts.Beliefs.Story(ch)); derived.ClampChance(q) != g.Raw {
		t.Errorf("a core that is made anew says %v, not %v", q, g.Raw)
	}
	w.quiesce()
	if l := w.core.s.Learned; l.Credit.Good <= 0 || l.Shift.By <= 0 {
		t.Errorf("the model has said more than the queue without it, and it came: %+v", l)
	}
	w.audit.final()
}

// It learns again once a day, when much has ended, and when the model has become worse than
// none; never twice in an hour, and not for a few changes.
func TestWhenAQueueLearnsAgain(t *testing.T) {
	for name, c := range map[string]struct {
		ended  int
		credit float64
		after  time.Duration
		want   queue.LearnCause
	}{
		"a day":          {learnDaily, 0, learnEvery, queue.LearnDaily},
		"half a day":     {learnDaily, 0, learnEvery / 2, ""},
		"few":            {learnDaily - 1, 0, 9 * learnEvery, ""},
		"much":           {learnGrown, 0, learnPause, queue.LearnGrown},
		"much, at once":  {learnGrown, 0, learnPause / 2, ""},
		"drift":          {learnDrift, -3, learnPause, queue.LearnDrift},
		"drift, at once": {learnDrift, -3, learnPause / 2, ""},
		"drift of few":   {learnDrift - 1, -3, learnPause, ""},
		"no drift":       {learnDrift, -1, learnPause, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := quiet(t, unit, config.Rules{})
			m := halved(t)
			w.learns = func(queue.Learn) *queue.Model { n := *m; return &n }
			w.ended(learnFirst)
			w.poke(func(s *queue.State) { s.Learned.Credit.Good = c.credit })
			w.ended(c.ended)
			if got := w.core.s.Model.Latest; got != 1 {
				t.Fatalf("it has learned %d models at once", got)
			}
			w.now = w.now.Add(c.after)
			w.ended(0)
			got := queue.LearnCause("")
			if x := w.core.s.Models[2]; x != nil {
				got = x.Cause
			}
			if got != c.want {
				t.Errorf("it learns for %q, want %q", got, c.want)
			}
		})
	}
}

// A model no better than none is kept to be looked at, and not used; after a drift it also
// ends the use of the model before it.
func TestAModelThatBeatsNothing(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
	w.learns = func(queue.Learn) *queue.Model { return idle() }
	w.ended(learnFirst)
	if s := w.core.s; s.Model.Using != 0 || s.Models[1] == nil {
		t.Fatalf("%+v", s.Model)
	}
	m := halved(t)
	w.learns = func(queue.Learn) *queue.Model { return m }
	w.now = w.now.Add(learnEvery)
	w.ended(learnDaily)
	if w.core.s.Model.Using != 2 {
		t.Fatalf("%+v", w.core.s.Model)
	}
	w.learns = func(queue.Learn) *queue.Model { return idle() }
	w.now = w.now.Add(learnEvery)
	w.ended(learnDaily)
	if w.core.s.Model.Using != 2 {
		t.Errorf("a good model was dropped: %+v", w.core.s.Model)
	}
	w.poke(func(s *queue.State) { s.Learned.Credit.Good = -3 })
	w.now = w.now.Add(learnPause)
	w.ended(learnDrift)
	if s := w.core.s; s.Model.Using != 0 || s.Learned.Credit != (queue.Credit{}) {
		t.Errorf("a model that has become worse than none is used: %+v", s.Model)
	}
}

// A maintainer chooses an earlier model, or none, and that stays until he says otherwise;
// others may not.
func TestChoosingAModel(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
	p := w.land(edit{"a/code": "fine"})
	w.quiesce()
	m := halved(t)
	w.learns = func(queue.Learn) *queue.Model { n := *m; return &n }
	w.ended(learnFirst)
	say := func(user, text string) {
		t.Helper()
		w.step(w.say(p, user, "/queue model "+text))
		w.settleDown()
	}
	using := func(want int, fixed bool) {
		t.Helper()
		if s := w.core.s.Model; s.Using != want || s.Fixed != fixed {
			t.Fatalf("in use is %+v, want %d, fixed %t", s, want, fixed)
		}
	}
	say("boss", "learn")
	using(2, false)
	if c := w.core.s.Models[2].Cause; c != queue.LearnAsk {
		t.Errorf("it was learned for %q", c)
	}
	say("dev", "none")
	using(2, false)
	say("boss", "1")
	using(1, true)
	say("boss", "learn")
	using(1, true)
	say("boss", "17")
	using(1, true)
	say("boss", "none")
	using(0, true)
	if _, ok := w.core.facts.Beliefs.Model.(predict.Reader); ok {
		t.Error("a model is asked, though none is used")
	}
	say("boss", "newest")
	using(3, false)
	v := w.core.Queue("q").Models
	if len(v.List) != 3 || v.List[0].Version != 3 || v.Unread || math.Abs(v.Chances-predict.Weight(0)) > 1e-9 {
		t.Errorf("%+v", v)
	}
	w.audit.final()
}

// Only the latest versions are kept, and the one in use.
func TestModelsAreBounded(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
	m := halved(t)
	w.learns = func(queue.Learn) *queue.Model { n := *m; return &n }
	w.ended(learnFirst)
	w.poke(func(s *queue.State) { s.Model.Fixed = true }) // version 1
	for range keepModels + 4 {
		w.now = w.now.Add(learnEvery)
		w.ended(learnDaily)
	}
	s := w.core.s
	if len(s.Models) != keepModels+1 || s.Models[1] == nil || s.Models[s.Model.Latest] == nil {
		t.Errorf("%d are kept", len(s.Models))
	}
	if again := w.store.load(w).State(); len(again.Models) != len(s.Models) {
		t.Errorf("%d are stored", len(again.Models))
	}
}

// The result of an attempt that was given up, or a second result, is ignored; a model that
// this version cannot read is none.
func TestStrangeModels(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
	w.tell(queue.Learnt{Action: "learn/1/1", Model: halved(t)})
	w.settleDown()
	if len(w.core.s.Models) != 0 {
		t.Error("a model that nobody has asked for is kept")
	}
	w.learns = func(queue.Learn) *queue.Model {
		m := halved(t)
		m.Text = strings.Replace(m.Text, `"model":1`, `"model":99`, 1)
		return m
	}
	w.ended(learnFirst)
	if v := w.core.Queue("q").Models; v.Using != 1 || !v.Unread {
		t.Errorf("%+v", v)
	}
	p := w.land(edit{"a/code": "fine"})
	w.quiesce()
	if g := w.change(p).Guess; g != (queue.Guess{}) {
		t.Errorf("it says %+v", g)
	}
	w.mustBe(p, queue.Landed)
}

// The same archive makes the same version, byte for byte.
func TestLearnIsDeterministic(t *testing.T) {
	a, err := json.Marshal(halved(t))
	b, err2 := json.Marshal(halved(t))
	if err != nil || err2 != nil || !bytes.Equal(a, b) {
		t.Error("two models of the same changes differ")
	}
}
