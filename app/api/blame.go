package api

import (
	"time"

	"github.com/labstack/echo/v4"

	"github.com/submitqueue/submitqueue/queue"
)

// Blame says which commits have turned the branch red, now and lately.
type Blame struct {
	Queue  string `json:"queue"`
	Branch string `json:"branch"`
	Tip    string `json:"tip,omitempty"`
	Text   string `json:"text"` // the present red, in words
	Hunts  []Hunt `json:"hunts"`
}

// Hunt is one search for culprits. Hunts that go on come first.
type Hunt struct {
	Tip      string    `json:"tip"`           // where the red was seen
	Began    time.Time `json:"began"`         // the first failure
	Red      time.Time `json:"red,omitzero"`  // more than a flake since then
	Over     time.Time `json:"over,omitzero"` // it has ended
	End      string    `json:"end,omitempty"` // why: repaired, flaky, forced
	Builds   int       `json:"builds"`        // made for it
	Trails   []Trail   `json:"trails"`        // steps and targets that fail
	Culprits []Culprit `json:"culprits"`      // commits that turned it red
}

// Trail is a step on targets that fails, with the commits that may have turned it red.
type Trail struct {
	Step     string   `json:"step"`
	Targets  []string `json:"targets"`
	Suspects []string `json:"suspects,omitempty"` // commits, oldest first; a single one is the culprit
	Beyond   bool     `json:"beyond,omitempty"`   // it fails on every commit that was looked at
	Passes   bool     `json:"passes,omitempty"`   // by now
}

// Culprit is a commit that turned the branch red, with the evidence.
type Culprit struct {
	Commit      string    `json:"commit"`
	Subject     string    `json:"subject,omitempty"`
	Author      string    `json:"author,omitempty"`
	Number      int       `json:"number,omitempty"` // of its pull request
	Change      string    `json:"change,omitempty"`
	Steps       []string  `json:"steps"`
	Targets     []string  `json:"targets"`
	Found       time.Time `json:"found"`
	FailedBuild string    `json:"failed_build"`
	FailedAt    time.Time `json:"failed_at"`
	Tail        string    `json:"tail,omitempty"` // of the log
	Tries       int       `json:"tries,omitempty"`
	GreenCommit string    `json:"green_commit,omitempty"`
	GreenBuild  string    `json:"green_build,omitempty"`
	GreenAt     time.Time `json:"green_at,omitzero"`
	Among       []string  `json:"among,omitempty"` // commits that could not be built, one of which may be the culprit instead
	Later       []string  `json:"later,omitempty"` // commits after it that a revert concerns
	Text        string    `json:"text"`

	Revert *Revert `json:"revert,omitempty"` // left out: none was made, or not yet
}

// Revert is the state of the attempt to revert a culprit.
type Revert struct {
	State     string   `json:"state"`               // trying, proven, fails, conflict, empty, unknown
	On        string   `json:"on,omitempty"`        // the commit of the branch that it was made on
	Commit    string   `json:"commit,omitempty"`    // that it made
	Change    string   `json:"change,omitempty"`    // the try that proves it, as /api/change has it
	Conflicts []string `json:"conflicts,omitempty"` // paths
	Failed    []string `json:"failed,omitempty"`    // steps that fail with it, or checks that stay red
	Number    int      `json:"number,omitempty"`    // the pull request that proposes it
	URL       string   `json:"url,omitempty"`
	Landing   bool     `json:"landing,omitempty"` // the queue lands it on its own
	Trouble   string   `json:"trouble,omitempty"` // why a person has to land it
}

func (s *Handlers) blame(c echo.Context) error {
	v, err := s.Named(c.QueryParam("queue"))
	if err != nil {
		return err
	}
	return answer(c, s.in(v.Main.Branch, v.Mark).blameOf(v))
}

func (s *Handlers) blameOf(v queue.QueueView) Blame {
	out := Blame{Queue: v.Name, Branch: v.Main.Branch, Tip: string(v.Main.Tip), Text: s.o.Words.Reason(queue.Change{}, v.Blame), Hunts: []Hunt{}}
	for i := range v.Hunts {
		h := &v.Hunts[i]
		x := Hunt{Tip: string(h.Tip), Began: moment(h.Began), Red: moment(h.Red), Over: moment(h.Over), End: string(h.End), Builds: h.Builds,
			Trails: []Trail{}, Culprits: []Culprit{}}
		for j := range h.Trails {
			t := &h.Trails[j]
			a := Trail{Step: t.Step, Targets: t.Targets, Beyond: t.Beyond, Passes: t.Over != 0}
			for _, p := range h.Suspects(t) {
				a.Suspects = append(a.Suspects, string(p.Commit))
			}
			x.Trails = append(x.Trails, a)
		}
		for _, p := range h.Culprits {
			x.Culprits = append(x.Culprits, s.culpritOf(p))
		}
		out.Hunts = append(out.Hunts, x)
	}
	return out
}

func (s *Handlers) culpritOf(p queue.Culprit) Culprit {
	out := Culprit{Commit: string(p.Commit), Subject: p.Subject, Author: p.Author, Number: p.Number, Change: string(p.Change),
		Steps: p.Names, Targets: p.Targets, Found: moment(p.Found), FailedBuild: string(p.Failed.Build), FailedAt: moment(p.Failed.At),
		Tail: p.Failed.Tail, Tries: p.Failed.Tries, GreenCommit: string(p.Green.Commit), GreenBuild: string(p.Green.Build), GreenAt: moment(p.Green.At),
		Text: s.o.Words.Reason(queue.Change{}, queue.Reason{Code: queue.ReasonBlame, Culprits: []queue.Culprit{p}})}
	for _, id := range p.Among {
		out.Among = append(out.Among, string(id))
	}
	for _, l := range p.Later {
		out.Later = append(out.Later, string(l.Commit))
	}
	if r := p.Revert; r != nil {
		out.Revert = &Revert{State: string(r.State), On: string(r.On), Commit: string(r.Commit), Change: string(r.Change), Conflicts: r.Conflicts,
			Failed: r.Failed, Number: r.Number, URL: r.URL, Landing: r.Landing, Trouble: r.Trouble}
	}
	return out
}
