package gitlab_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/forge/forgetest/gitlab"
)

// toy is an adapter that is right, but for the ways that are switched on.
type toy struct {
	*world
	together, joins, believes bool
}

func (a toy) get(ctx context.Context, iid int) object {
	_, out, _ := a.call(a.server.BotToken(), "GET", fmt.Sprint("merge_requests/", iid), nil)
	return out
}

// until polls a merge request until it is as it should be, for so many answers.
func (a toy) until(ctx context.Context, iid int, ok func(object) bool) error {
	for range 200 {
		if ok(a.get(ctx, iid)) {
			return nil
		}
	}
	return errors.New("it does not become what it should")
}

func (a toy) Land(ctx context.Context, iid int, commit string) error {
	mr := a.project.Look(iid)
	token := a.server.BotToken()
	head, main := "+"+commit+":refs/heads/"+mr.Source, commit+":refs/heads/"+mr.Target
	if a.together {
		if out, err := a.push(token, "--atomic", "URL", head, main); err != nil {
			return errors.New(out)
		}
		return a.until(ctx, iid, func(o object) bool { return o["state"] == "merged" })
	}
	if out, err := a.push(token, "URL", head); err != nil {
		return errors.New(out)
	}
	if err := a.until(ctx, iid, func(o object) bool { return o["sha"] == commit }); err != nil {
		return err
	}
	if out, err := a.push(token, "URL", main); err != nil {
		return errors.New(out)
	}
	return a.until(ctx, iid, func(o object) bool { return o["state"] == "merged" })
}

func (a toy) Report(ctx context.Context, commit, state string) error {
	body := object{"state": state, "name": "submitqueue", "ref": "submitqueue"}
	if a.joins {
		delete(body, "ref")
	}
	if got, _, text := a.call(a.server.BotToken(), "POST", "statuses/"+commit, body); got/100 != 2 {
		return errors.New(text)
	}
	return nil
}

func (a toy) Judge(ctx context.Context, iid int) (gitlab.Judgement, error) {
	switch status := a.get(ctx, iid)["detailed_merge_status"]; {
	case status == "mergeable":
		return gitlab.Ready, nil
	case status == "discussions_not_resolved", status == "not_approved":
		return gitlab.Unmet, nil
	case a.believes:
		return gitlab.Unmet, nil // it was asked, and has answered
	}
	return gitlab.Waiting, nil
}

// spring has an adapter walk into the traps, and returns those that caught it.
func spring(t *testing.T, seed uint64, adapter func(*world) gitlab.Adapter) map[string]error {
	caught := map[string]error{}
	for _, trap := range gitlab.Traps(seed) {
		s, err := gitlab.New(trap.Options)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		w := &world{T: t, server: s, ann: s.AddUser("ann")}
		if w.project, err = s.AddProject("group/sub/r", "main", "ann"); err != nil {
			t.Fatal(err)
		}
		w.project.Set(trap.Settings)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := trap.Spring(ctx, w.project, w.opened("topic"), adapter(w)); err != nil {
			caught[trap.Name] = err
		}
	}
	return caught
}

func TestTrapsCatchThreeWaysToGoWrong(t *testing.T) {
	t.Parallel()
	for name, toyed := range map[string]toy{
		"head and main together":                         {together: true},
		"a status inside the pipeline that it waits for": {joins: true},
		"a status that makes GitLab content":             {joins: true},
		"believing one answer":                           {believes: true},
	} {
		for seed := range uint64(3) {
			if spring(t, seed, func(w *world) gitlab.Adapter { toyed.world = w; return toyed })[name] == nil {
				t.Errorf("seed %d: the trap %q catches nobody", seed, name)
			}
		}
	}
}

func TestTrapsLetARightAdapterPass(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		if caught := spring(t, seed, func(w *world) gitlab.Adapter { return toy{world: w} }); len(caught) > 0 {
			t.Errorf("seed %d: %v", seed, caught)
		}
	}
}

// TestJobsFollowTheSeed has the same seed give the same history.
func TestJobsFollowTheSeed(t *testing.T) {
	t.Parallel()
	orders := map[string]bool{}
	for seed := range uint64(8) {
		order := func() string {
			s, err := gitlab.New(gitlab.Options{Seed: seed, Held: true})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			p, err := s.AddProject("o/r", "main", "ann")
			if err != nil {
				t.Fatal(err)
			}
			p.Set(func(s *gitlab.Settings) { s.Jobs = []string{"test"} })
			p.AddHook(gitlab.Hook{URL: "http://127.0.0.1:1"})
			for _, b := range []string{"a", "b", "c"} {
				p.Push("ann", b, nil)
				p.Open(gitlab.Opening{Author: "ann", Source: b})
			}
			s.Settle()
			return fmt.Sprint(s.Letters())
		}
		first := order()
		if second := order(); second != first {
			t.Errorf("seed %d: %s, then %s", seed, first, second)
		}
		orders[first] = true
	}
	if len(orders) < 2 {
		t.Error("every seed gives the same order")
	}
}

// TestLostAnswer has a request be carried out whose answer is lost.
func TestLostAnswer(t *testing.T) {
	w := newWorld(t, gitlab.Options{Held: true})
	n := w.opened("topic")
	w.server.Fail(gitlab.Fault{Method: http.MethodPost, Status: 502, Done: true})
	w.bot(502, "POST", fmt.Sprintf("merge_requests/%d/notes", n), object{"body": "x"})
	if got := len(w.project.Notes(w.server.Bot(), n)); got != 1 {
		t.Errorf("%d notes", got)
	}
}
