package mirror_test

import (
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/storetest"
)

// shop is the repository acme/shop of a simulated GitHub, as a bot reaches it that may push.
func shop(t *testing.T, s *forgetest.Server) (*forgetest.Repository, forge.Remote) {
	t.Helper()
	hub := must(s.AddRepository("acme", "shop", "main"))(t)
	s.AddUser("bot")
	hub.SetPermission("bot", "write")
	return hub, forge.Remote{URL: hub.CloneURL(), Header: []string{"Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("x-access-token:"+s.UserToken("bot")))}}
}

// recorded is the simulated GitHub's repository acme/shop with two commits, the first of
// which main is at.
func recorded(t *testing.T) (hub *forgetest.Repository, m *mirror.Mirror, r forge.Remote, base, next queue.CommitID) {
	t.Helper()
	s := must(forgetest.New(forgetest.Options{}))(t)
	t.Cleanup(func() { _ = s.Close() })
	hub, r = shop(t, s)
	base = queue.CommitID(must(hub.Commit("acme", forgetest.Commit{Branch: "main", Message: "first", Files: map[string]string{"f": "1\n"}}))(t))
	next = queue.CommitID(must(hub.Commit("acme", forgetest.Commit{Branch: "topic", Message: "next", Files: map[string]string{"f": "2\n"}}))(t))
	m = openMirror(t)
	for _, branch := range []string{"main", "topic"} {
		must(m.Remotes.FetchBranch(t.Context(), r, branch))(t)
	}
	return hub, m, r, base, next
}

// Each answer of the table, most of them recorded in public, is taken for what it is, of main and of a
// branch of our own: by git, over HTTP.
func TestRecordedRefusals(t *testing.T) {
	t.Parallel()
	read := map[string]bool{} // threads with words of their own
	for _, x := range slices.Concat(forgetest.Refusals.Rules, forgetest.Refusals.Trouble, forgetest.Refusals.Races) {
		if strings.Contains(x.Source, "#") && !strings.HasPrefix(x.Source, "unread") && !x.After {
			read[x.Source] = true
		}
	}
	if len(read) < 20 {
		t.Errorf("the answers of %d threads only", len(read))
	}
	check := func(x forgetest.Refusal, rule bool) {
		t.Run(x.Name, func(t *testing.T) {
			storetest.OneOf(t, 3)
			t.Parallel()
			if x.Source == "" {
				t.Error("it has no source")
			}
			hub, m, r, base, next := recorded(t)
			hub.RefusePushes("main", x, 1)
			outcome, err := m.Remotes.Push(t.Context(), r, "main", base, next)
			var transient *forge.Transient
			switch passing := errors.As(err, &transient); {
			case rule && (err != nil || outcome.Refused == "" || outcome.Moved || outcome.Lost):
				t.Errorf("a rule is %+v, %v", outcome, err)
			case rule && !queue.RefusalOf(outcome.Refused).Rule():
				t.Errorf("a rule is %s: %q", queue.RefusalOf(outcome.Refused), outcome.Refused)
			case !rule && (!passing || errors.Is(err, forge.ErrForbidden)):
				t.Errorf("what passes is %+v, %v", outcome, err)
			}
			t.Log(outcome.Refused, err)
			if left := hub.RefusedPushes(); left != 0 {
				t.Errorf("%d refusals are left", left)
			}
			if outcome, err := m.Remotes.Push(t.Context(), r, "main", base, next); err != nil || !outcome.Moved || hub.Head("main") != string(next) {
				t.Errorf("again: %+v, %v", outcome, err)
			}

			hub.RefusePushes("submitqueue/x", x, 1)
			err = m.Remotes.Stage(t.Context(), r, "submitqueue/x", next)
			if passing := errors.As(err, &transient); passing == rule || errors.Is(err, forge.ErrForbidden) != rule {
				t.Errorf("of a branch of ours: %v", err)
			}
			if err := m.Remotes.Stage(t.Context(), r, "submitqueue/x", next); err != nil || hub.Head("submitqueue/x") != string(next) {
				t.Errorf("of a branch of ours, again: %v", err)
			}
		})
	}
	for _, x := range forgetest.Refusals.Rules {
		check(x, true)
	}
	for _, x := range slices.Concat(forgetest.Refusals.Trouble, forgetest.Refusals.Races) {
		check(x, false)
	}
}

// In words that nobody knows, a refusal is no rule for sure: whoever pushes tries again
// before he takes it for one.
func TestStrangeRefusal(t *testing.T) {
	t.Parallel()
	hub, m, r, base, next := recorded(t)
	x := forgetest.Refusal{Name: "strange", Reason: "the moon is full"}
	hub.RefusePushes("main", x, 1)
	outcome, err := m.Remotes.Push(t.Context(), r, "main", base, next)
	if err != nil || queue.RefusalOf(outcome.Refused) != queue.RefusalStrange {
		t.Errorf("%+v, %v", outcome, err)
	}
	hub.RefusePushes("submitqueue/x", x, 1)
	var transient *forge.Transient
	if err := m.Remotes.Stage(t.Context(), r, "submitqueue/x", next); !errors.As(err, &transient) || errors.Is(err, forge.ErrForbidden) {
		t.Error(err)
	}
}
