package server

import (
	"slices"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/workers"
)

// awayAfter is how long after its last request a machine counts as away: the server holds
// requests for less time than that.
const awayAfter = 2 * time.Minute

// runners says which machines run builds, this one first, and how many parts of builds wait for
// them.
func (s *Stack) runners() api.RunnersAnswer {
	out := api.RunnersAnswer{Waiting: map[string]int{}}
	pool, ok := s.pool.(*workers.Pool)
	if !ok || s.remote == nil {
		return out
	}
	for asks, l := range pool.Loads() {
		out.Waiting[asks] = l.Waiting
	}
	own := api.Runner{State: api.RunnerIdle}
	for _, a := range pool.Agents() {
		if !a.Local {
			continue
		}
		own.Name, own.OS, own.Arch, own.Tags = a.Host, a.OS, a.Arch, a.Tags
		own.Slots++
		if sh := a.Shard; sh != nil {
			own.State = api.RunnerBusy
			own.Jobs = append(own.Jobs, api.RunnerJob{Build: string(sh.Build), Queue: sh.Queue, Step: sh.Step, Targets: sh.Targets, Since: sh.Since})
		}
	}
	if own.Slots > 0 {
		out.Runners = append(out.Runners, own)
	}
	used := map[string]bool{}
	for _, m := range s.remote.Machines() {
		used[m.Runner] = true
		r := api.Runner{Name: m.Name, Token: m.Runner, State: api.RunnerIdle, OS: m.OS, Arch: m.Arch, Executor: workers.Clean(m.Executor), Version: workers.Clean(m.Version), Tags: m.Tags,
			Slots: m.Asking + len(m.Jobs), Seen: m.Seen}
		for _, j := range m.Jobs {
			r.Jobs = append(r.Jobs, api.RunnerJob{Build: string(j.Build), Queue: j.Queue, Step: j.Step, Targets: j.Targets, Since: j.Since, Ending: j.Ending})
		}
		switch {
		case len(r.Jobs) > 0:
			r.State = api.RunnerBusy
		case m.Paused:
			r.State = api.RunnerPaused
		case m.Asking == 0 && s.o.Now().Sub(m.Seen) > awayAfter:
			r.State = api.RunnerAway
		}
		out.Runners = append(out.Runners, r)
	}
	known, err := s.tokens.List()
	if err != nil {
		s.o.Log.Error("the runners cannot be listed", "error", err)
	}
	for _, k := range known {
		if !used[k.Name] && k.Revoked.IsZero() {
			r := api.Runner{Name: k.Name, Token: k.Name, State: api.RunnerNone, Tags: k.Tags}
			if k.Paused {
				r.State = api.RunnerPaused
			}
			out.Runners = append(out.Runners, r)
		}
	}
	slices.SortStableFunc(out.Runners, func(a, b api.Runner) int {
		if (a.Token == "") != (b.Token == "") {
			return strings.Compare(a.Token, b.Token)
		}
		return strings.Compare(a.Name, b.Name)
	})
	return out
}
