package ask

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/client"
	"github.com/submitqueue/submitqueue/queue"
)

// served returns the flags of a server that takes commands of lena's, and shows one change
// state after state; the last one stays.
func served(t *testing.T, states func(asked time.Time) []api.Change) client.Flags {
	asked, at := time.Now().UTC(), 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusAccepted)
			_ = json.NewEncoder(w).Encode(api.Accepted{Queue: "q", Number: 7, Name: "#7", Event: "e", At: asked, User: "lena"})
			return
		}
		all := states(asked)
		_ = json.NewEncoder(w).Encode(all[min(at, len(all)-1)])
		at++
	}))
	t.Cleanup(s.Close)
	t.Setenv(api.TokenVariable, "secret")
	return client.Flags{Server: s.URL, Data: t.TempDir()}
}

func notice(code queue.ReasonCode) *api.Reason { return &api.Reason{Code: string(code), Text: "text"} }

// An answer to another command, given while a command waits for its verdict, is not the
// answer to it: the change lands, and the waiting command says so.
func TestWaitHeedsNoAnswerToAnotherCommand(t *testing.T) {
	for what, n := range map[string]struct {
		code queue.ReasonCode
		to   string
	}{
		"explained by the same user":    {queue.ReasonExplain, "lena"},
		"a word nobody understood":      {queue.ReasonUnknown, "bob"},
		"a cancel without a permission": {queue.ReasonNoPermission, "carol"},
		"an own word not understood":    {queue.ReasonUnknown, "lena"},
		"a lane that is not there":      {queue.ReasonUnknownLane, "bob"},
	} {
		flags := served(t, func(asked time.Time) []api.Change {
			pending := api.Change{ID: "7.a", Number: 7, Phase: string(queue.Pending), Answered: asked.Add(time.Second)}
			other := pending
			other.Notice, other.NoticeTo, other.Answered = notice(n.code), n.to, asked.Add(2*time.Second)
			landed := other
			landed.Phase, landed.Final, landed.Decided = string(queue.Landed), true, asked.Add(3*time.Second)
			return []api.Change{pending, other, landed}
		})
		if err := (&Land{Flags: flags, What: "7", Wait: true}).Run(t.Context()); err != nil {
			t.Errorf("%s: %v; want nil: it has landed", what, err)
		}
	}
}

// The same for a try that is waited for.
func TestTryHeedsNoAnswerToAnotherCommand(t *testing.T) {
	flags := served(t, func(asked time.Time) []api.Change {
		trying := api.Change{ID: "7.a", Number: 7, Phase: string(queue.Trying), Answered: asked.Add(time.Second)}
		other := trying
		other.Notice, other.NoticeTo, other.Answered = notice(queue.ReasonNoPermission), "carol", asked.Add(2*time.Second)
		tried := other
		tried.Phase, tried.Final, tried.Reason = string(queue.Tried), true, &api.Reason{Code: string(queue.ReasonTried)}
		return []api.Change{trying, other, tried}
	})
	if err := (&Try{about: about{flags, "7"}, Wait: true}).Run(t.Context()); err != nil {
		t.Errorf("%v; want nil: it passes", err)
	}
}

// A command's own answer still ends the wait for it.
func TestWaitHeedsItsOwnAnswer(t *testing.T) {
	for what, c := range map[string]func(asked time.Time) api.Change{
		"refused": func(asked time.Time) api.Change {
			return api.Change{Number: 7, Notice: notice(queue.ReasonDraft), NoticeTo: "lena", Answered: asked.Add(time.Second)}
		},
		"refused after an earlier landing": func(asked time.Time) api.Change {
			return api.Change{ID: "7.a", Number: 7, Phase: string(queue.Landed), Final: true, Decided: asked.Add(-time.Hour),
				Notice: notice(queue.ReasonNotOpen), NoticeTo: "lena", Answered: asked.Add(time.Second)}
		},
		"no such lane": func(asked time.Time) api.Change {
			return api.Change{ID: "7.a", Number: 7, Phase: string(queue.Pending), Notice: notice(queue.ReasonUnknownLane), NoticeTo: "lena", Answered: asked.Add(time.Second)}
		},
	} {
		flags := served(t, func(asked time.Time) []api.Change { return []api.Change{c(asked)} })
		if err := (&Land{Flags: flags, What: "7", Wait: true}).Run(t.Context()); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
}

// Nor does an answer to another command, which came before a command's own, hide that one.
func TestWaitHeedsItsOwnAnswerAfterAnother(t *testing.T) {
	for _, wait := range []bool{false, true} {
		flags := served(t, func(asked time.Time) []api.Change {
			other := api.Change{ID: "7.a", Number: 7, Phase: string(queue.Pending), Notice: notice(queue.ReasonUnknown), NoticeTo: "bob", Answered: asked.Add(time.Second)}
			own := other
			own.Notice, own.NoticeTo, own.Answered = notice(queue.ReasonNoPermission), "lena", asked.Add(2*time.Second)
			landed := own
			landed.Phase, landed.Final, landed.Decided = string(queue.Landed), true, asked.Add(3*time.Second)
			return []api.Change{other, own, landed}
		})
		if err := (&Now{about: about{flags, "7"}, Reason: []string{"it burns"}, Wait: wait}).Run(t.Context()); err == nil {
			t.Errorf("wait %v: no error: lena may not do that, and is not told", wait)
		}
	}
}
