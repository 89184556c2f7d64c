package web_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/app/web"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/queue/digest"
)

// hostile is what a title, an author or a log may hold.
const hostile = "<script>alert(1)</script> \"'><img src=x onerror=alert(1)> \u202Egnp.exe {{.}} \x1b[31mred"

// noon is the present moment of all pages under test.
func noon() queue.Instant {
	return queue.At(time.Date(2026, 3, 9, 12, 0, 0, 0, time.UTC))
}

func ago(d time.Duration) queue.Instant { return noon().Add(-d) }

// words are of a forge that calls everything by its code.
type words struct{}

func (words) Models(v queue.ModelsView) string {
	return fmt.Sprint("model ", v.Using, " of ", len(v.List))
}
func (words) ModelPart(p queue.ModelPart) string {
	return fmt.Sprint("part used: ", p.Used, " ", p.Why)
}
func (words) ModelCause(c queue.LearnCause) string         { return "cause " + string(c) }
func (words) Noun() string                                 { return "pull request" }
func (words) Land() string                                 { return "Say please." }
func (words) Host(h queue.HostView) string                 { return "bench of " + h.Name }
func (words) QuarantineOver(q config.QuarantineRow) string { return q.String() + " is over" }

func (words) OtherTools(host string, o queue.OtherTools) string {
	return "tools of " + host + " for " + o.Step
}
func (words) Unrun(f []queue.Evidence) string { return "Nobody can run " + f[0].Step + "." }

func (words) Drift(d queue.Drift) string { return "drift of " + d.Step + " on " + d.Target }

func (words) Upgrade(u *queue.UpgradeView) string {
	return fmt.Sprintf("Upgrade from %s to %s: %d of %d", u.From, u.To, u.Proven, u.Total)
}
func (words) Resume() string { return "Say go on." }

func (words) Why(w queue.Worth, old string) string { return "why: " + string(w.Kind) + old }

func (words) OnTop(c queue.Change) string {
	if c.Parent == 0 {
		return ""
	}
	return fmt.Sprintf("on top of #%d", c.Parent)
}

func (words) Partners(v queue.View) string {
	if v.Partners().None() {
		return ""
	}
	return "with others " + hostile
}

func (words) Conflict(_ queue.View, k queue.Conflict) string {
	return "in conflict: " + string(k.Kind) + hostile
}

func (words) Part(_ queue.Worth, p queue.PartName) string { return "part " + string(p) }

func (words) Covers(c queue.Coverage) string {
	if c.All() == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d targets", c.Asked, c.All())
}

func (words) Short(_ queue.Change, r queue.Reason) string {
	return "in short: " + string(r.Code) + " " + strings.Join(r.Names, ", ")
}

func (words) Note(_ queue.Change, n queue.Note) (string, string) {
	return "it " + n.What, n.Reason.Detail
}

func (words) Forecast(f queue.Forecast, now queue.Instant) string {
	if f.Late == 0 {
		return ""
	}
	return fmt.Sprintf("from %s to %s", f.Early.Sub(now), f.Late.Sub(now))
}

func (words) Reason(_ queue.Change, r queue.Reason) string {
	text := strings.ReplaceAll(string(r.Code), "-", " ")
	switch r.Code {
	case queue.ReasonWaitsBuild:
		text = "Its build is under way."
	case queue.ReasonWaitsAhead:
		text = "Proven on top of what is ahead; waits for " + strings.Join(r.Names, ", ") + "."
	case queue.ReasonWaitsSlot:
		text = "Waits for a free runner."
	case queue.ReasonFailed:
		text = "A build on main failed: " + strings.Join(r.Names, ", ") + "."
	case queue.ReasonLanded:
		text = "Landed."
	case queue.ReasonLanding:
		text = "Is being pushed to main."
	case queue.ReasonInfra:
		text = "Its builds broke three times for reasons that are not in the change: " + r.Detail + "."
	case queue.ReasonPushed:
		text = "The author pushed; the approval was for another head."
	case queue.ReasonAnalyzing:
		text = "Computing which targets it can influence."
	}
	return text
}

func sha(n int) queue.CommitID { return queue.CommitID(digest.Of("commit", fmt.Sprint(n))[:40]) }

func idOf(number int) queue.ChangeID { return queue.NewChangeID(number, sha(number), "c") }

func change(number int, title, author string, p queue.Phase) queue.Change {
	return queue.Change{
		ID: idOf(number), Number: number, Head: sha(number), Title: title, Author: author, Requester: author,
		URL: fmt.Sprintf("https://github.example/acme/store/pull/%d", number), Arrival: ago(time.Duration(400-number) * time.Minute),
		Phase: p, Course: queue.Course{Builds: 1},
	}
}

func steps(names ...string) []queue.Job {
	var out []queue.Job
	for _, n := range names {
		out = append(out, queue.Job{Step: config.Step{Name: n}, Keys: []queue.Key{{Target: "//cart"}, {Target: "//cart/api"}, {Target: "//checkout"}, {Target: "//web"}, {Target: "//web/cart"}}})
	}
	return out
}

func running(number int, started, left time.Duration, chain ...queue.ChangeID) queue.BuildView {
	return queue.BuildView{
		Build: queue.Build{
			ID: queue.BuildID(digest.Of("build", fmt.Sprint(number))[:16]), Change: idOf(number), Commit: sha(1000 + number), Chain: chain,
			Attempt: 1, Jobs: steps("unit", "lint", "browser"), At: ago(started + time.Minute), Started: ago(started),
			Value: 1.0266, Worth: likeliest(chain...),
		},
		Expected: noon().Add(left), Usual: started + left, Done: 1,
	}
}

// likeliest is why a build was started that assumes some changes.
func likeliest(chain ...queue.ChangeID) queue.Worth {
	w := queue.Worth{Kind: queue.WorthAlone, Needed: 1, Aging: 1.25, Lane: 1, Project: 1, Rank: 2, Rivals: 7, Running: 3, Slots: 8,
		Covers: queue.Coverage{Asked: 5, Shared: 2, Passed: 12, Left: 1}}
	if len(chain) == 0 {
		return w
	}
	w.Kind, w.Needed, w.Lane, w.Threshold, w.Single, w.Lands = queue.WorthLikeliest, 0.4106, 2, 0.3, 0.4, len(chain)+4
	for _, id := range chain {
		w.Assumes = append(w.Assumes, queue.Assumption{Change: id, Lands: true, Chance: 0.82})
	}
	w.Assumes = append(w.Assumes, queue.Assumption{Change: "9.gone", Chance: 0.9995})
	w.Least = []queue.Need{{Target: "//cart/" + hostile, Chance: 0.31}, {Target: "//web", Chance: 0.62}}
	return w
}

// expected is what a queue believes of the fifth change of busyQueue.
func expected() queue.Outlook {
	return queue.Outlook{Chance: 0.913, Arrived: 0.95, Good: 0.9991, Tested: 3, Targets: 8,
		Ahead:  []queue.Rival{{Change: idOf(345), Chance: 0.82, Ends: noon().Add(9 * time.Minute), Red: 0.04, Shared: 2}, {Change: "9.gone", Chance: 0.0004}},
		Pairs:  []queue.Pair{{With: idOf(345), Chance: 0.04}, {With: idOf(340), Chance: 0.006, Landed: true}},
		Doubts: []queue.Suspect{{Chance: 0.31, Others: []queue.ChangeID{idOf(345)}}, {Pair: idOf(345), Chance: 0.12}},
		Trust:  queue.Trust{Accuracy: 0.947, Threshold: 0.278, Single: 0.373}}
}

// busyQueue is a queue with one of everything.
func busyQueue() queue.QueueView {
	pending := func(position, number int, title, author string, wait queue.ReasonCode, ahead ...int) queue.View {
		v := queue.View{Change: change(number, title, author, queue.Pending), Position: position, Total: 9, Forecast: queue.Forecast{Early: noon().Add(time.Duration(position*3) * time.Minute), Late: noon().Add(time.Duration(position*4) * time.Minute)}}
		v.Change.Branch = fmt.Sprintf("topic/%d", number)
		w := queue.Reason{Code: wait}
		for _, n := range ahead {
			v.Ahead = append(v.Ahead, idOf(n))
			v.Conflicts = append(v.Conflicts, queue.Conflict{With: idOf(n), Kind: queue.ConflictTarget, Witnesses: []string{"//cart", "//cart/api"}})
			w.Names = append(w.Names, fmt.Sprintf("#%d", n))
		}
		v.Waits = []queue.Reason{w}
		return v
	}
	order := []queue.View{
		pending(1, 341, "Round prices half to even", "lena", queue.ReasonLanding),
		pending(2, 338, "Cart: keep the voucher when the currency changes", "tomas", queue.ReasonWaitsBuild, 341),
		pending(3, 345, "Upgrade the image resizer to 4.2", "renovate[bot]", queue.ReasonWaitsBuild),
		pending(4, 346, "Checkout: say which field is wrong instead of a general error at the top of the form", "mei-ling", queue.ReasonWaitsAhead, 341, 338),
		pending(5, 349, hostile, "<b>eve</b>", queue.ReasonWaitsBuild, 345),
		pending(6, 350, "検索結果の並び順を修正し、関連度の高い商品を先に表示する", "haruka", queue.ReasonWaitsSlot, 346),
		pending(7, 351, "Docs: how to run the store without Docker", "sam", queue.ReasonWaitsBuild),
		pending(8, 352, "Remove the old tax tables", "lena", queue.ReasonWaitsAhead, 341, 338, 346, 345, 349),
	}
	order[0].Change.Phase = queue.Landing
	order[1].Builds = []queue.BuildView{running(338, 5*time.Minute, 3*time.Minute, idOf(341))}
	order[2].Builds = []queue.BuildView{running(345, 9*time.Minute, -2*time.Minute)}
	order[4].Builds = []queue.BuildView{running(349, time.Minute, 8*time.Minute, idOf(345)), {Build: queue.Build{ID: "0123456789abcdef", Change: idOf(349), Commit: sha(9), Attempt: 2, At: ago(3 * time.Second), Jobs: steps("unit"), Why: "in case #345 does not land"}}}
	order[4].Change.URL, order[4].Change.Branch = "javascript:alert(1)", hostile
	order[7].Waits = append(order[7].Waits, queue.Reason{Code: queue.ReasonWaitsTime, Names: []string{"345"}, Until: noon().Add(7 * time.Minute)})
	order[4].Outlook = expected()
	order[6].Builds = []queue.BuildView{running(351, 2*time.Minute, 20*time.Second)}
	fresh := queue.View{Change: change(353, "Ship to Åland", "åsa", queue.Analyzing), Waits: []queue.Reason{{Code: queue.ReasonAnalyzing}}}
	fresh.Change.Arrival = ago(8 * time.Second)
	parked := queue.View{Change: change(322, "Move the session store to Redis", "omar", queue.Parked)}
	parked.Change.Reason = queue.Reason{Code: queue.ReasonInfra, Detail: "the runner's disk is full"}
	parked.Change.Until = noon().Add(22 * time.Minute)

	landed := change(340, "Faster product pages", "lena", queue.Landed)
	landed.Reason = queue.Reason{Code: queue.ReasonLanded}
	landed.Decided = ago(4 * time.Minute)
	landed.Verdict = &queue.Verdict{Commit: sha(1), Keys: 12, Reused: 9, Attempts: 2, Bypassed: []queue.ChangeID{idOf(338)}}
	rejected := rejectedChange()
	gone := change(331, "Try the new colours", "tomas", queue.Cancelled)
	gone.Reason, gone.Decided = queue.Reason{Code: queue.ReasonPushed}, ago(3*time.Hour)
	return queue.QueueView{Web: "https://github.com/acme/shop",
		Name: "acme/store@main", Slots: 8, Unproven: 2,
		Main:   queue.Main{Branch: "main", Tip: sha(1), Surveyed: sha(1)},
		Order:  append(order, fresh, parked),
		Recent: []queue.Change{landed, rejected, gone},
		MainBuilds: []queue.BuildView{{Build: queue.Build{ID: "fedcba9876543210", Commit: sha(1), Attempt: 1, Jobs: steps("unit"),
			At: ago(time.Minute), Why: "two checks of main have not passed yet"}}},
	}
}

func rejectedChange() queue.Change {
	c := change(336, "Retry payments twice", "omar", queue.Rejected)
	c.Reason = queue.Reason{Code: queue.ReasonFailed, Names: []string{"unit"}}
	c.Decided = ago(50 * time.Minute)
	c.Verdict = &queue.Verdict{Commit: sha(2), Failures: []queue.Evidence{{
		Step: "unit", Run: "make test " + hostile, Targets: []string{"//payments", "//payments/retry"}, Build: "89abcdef01234567", Attempts: 2, Partners: []queue.ChangeID{idOf(331)},
		Ran:  queue.Ran{Change: c.ID, Commit: sha(3), Main: sha(1), Chain: []queue.ChangeID{idOf(331)}},
		Tail: "=== RUN   TestRetryTwice\n    retry_test.go:41: charged 3 times, want 2\n\x1b[31m--- FAIL: TestRetryTwice (0.02s)\x1b[0m\n" + hostile + "\nFAIL\n",
	}}}
	return c
}

// changes of the pages under test.
func waitingChange() web.Change {
	q := busyQueue()
	v := q.Order[4]
	v.Notice, v.NoticeTo = queue.Reason{Code: queue.ReasonNoPermission, Names: []string{"eve", "maintain"}}, "eve"
	v.Lane = hostile
	previous := rejectedChange()
	v.Previous = &previous
	v.Conflicts = append(v.Conflicts, queue.Conflict{With: idOf(352), Kind: queue.ConflictReadWrite, Witnesses: []string{hostile}},
		queue.Conflict{With: "9.gone", Kind: queue.ConflictUnknown})
	return web.Change{
		Queue: q, View: v,
		Notes: []queue.Note{
			{At: ago(time.Minute), Change: v.Change.ID, What: "build-asked", Build: v.Builds[0].Build.ID},
			{At: ago(2 * time.Minute), Change: v.Change.ID, What: "build-infrastructure", Build: "89abcdef01234567", Reason: queue.Reason{Code: queue.ReasonInfra, Detail: hostile}},
			{At: ago(40 * time.Minute), Change: v.Change.ID, What: "analyzed"},
			{At: ago(41 * time.Minute), Change: v.Change.ID, What: "entered", Reason: queue.Reason{Code: queue.ReasonInspecting}},
		},
		Logs: []web.Log{{Build: v.Builds[0].Build.ID, Text: "ok   store/cart     0.31s\nok   store/checkout 1.20s\n" + hostile + "\n", Next: 512}},
	}
}

func endedChange(c queue.Change) web.Change {
	return web.Change{Queue: busyQueue(), View: queue.View{Change: c}, NoHistory: true}
}
