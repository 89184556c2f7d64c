package mirror_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"testing"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/forgetest/gitlab"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/storetest"
)

// GitLab refuses a push for a rule, for its own trouble and for a race with the same words
// around one text. Each is taken for what it is, of main and of a branch of our own, also
// where the push has taken effect all the same.
func TestRefusalsOfGitLab(t *testing.T) {
	t.Parallel()
	s := must(gitlab.New(gitlab.Options{}))(t)
	t.Cleanup(func() { _ = s.Close() })
	s.AddUser("ann")
	p := must(s.AddProject("group/shop", "main", "ann"))(t)
	r := forge.Remote{URL: s.URL() + "/group/shop.git", Header: []string{"Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("oauth2:"+s.BotToken()))}}
	m := openMirror(t)
	transient := (*forge.Transient)(nil)
	for _, x := range gitlab.Refusals() {
		for _, applied := range []bool{false, true} {
			if applied && x.Rule || !storetest.Drawn(fmt.Sprint(t.Name(), x.Name, applied), 6) {
				continue
			}
			base := must(m.Remotes.FetchBranch(t.Context(), r, "main"))(t)
			p.Push("ann", "topic", nil)
			p.Force("ann", "topic", p.MergeCommit(string(base), p.Tip("topic")))
			next := must(m.Remotes.FetchBranch(t.Context(), r, "topic"))(t)
			x.Applied = applied
			p.RefusePush("main", x)
			outcome, err := m.Remotes.Push(t.Context(), r, "main", base, next)
			switch passing := errors.As(err, &transient); {
			case x.Rule && (err != nil || outcome.Refused == "" || outcome.Moved || outcome.Lost || !queue.RefusalOf(outcome.Refused).Rule()):
				t.Errorf("%s: a rule is %+v, %v", x.Name, outcome, err)
			case !x.Rule && !passing && !(applied && outcome.Moved):
				t.Errorf("%s (%v): what passes is %+v, %v", x.Name, applied, outcome, err)
			}
			if outcome, err := m.Remotes.Push(t.Context(), r, "main", base, next); err != nil || !outcome.Moved || p.Tip("main") != string(next) {
				t.Errorf("%s (%v), again: %+v, %v", x.Name, applied, outcome, err)
			}
			x.Applied = false
			p.RefusePush("submitqueue/x", x)
			err = m.Remotes.Stage(t.Context(), r, "submitqueue/x", next)
			if passing := errors.As(err, &transient); passing == x.Rule || errors.Is(err, forge.ErrForbidden) != x.Rule {
				t.Errorf("%s, of a branch of ours: %v", x.Name, err)
			}
			if err := m.Remotes.Stage(t.Context(), r, "submitqueue/x", next); err != nil || p.Tip("submitqueue/x") != string(next) {
				t.Errorf("%s, of a branch of ours, again: %v", x.Name, err)
			}
		}
	}
}
