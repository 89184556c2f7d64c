package mirror_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
)

// Branches move each by itself, from where it is expected alone, and none is ever deleted
// or is main itself.
func TestPushHeads(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.commit("main", "base", files{"f": "1"})
	topic := r.commit("topic", "topic", files{"g": "1"}, base)
	late := r.commit("topic", "late", files{"g": "2"}, topic)
	other := r.commit("other", "other", files{"o": "1"}, base)
	m := r.fetched("topic", "other")
	squash := pick(base, topic)
	squash.Squash = true
	landed := must(m.Merges.MergeWave(t.Context(), []mirror.Pick{squash}))(t)[0].Commit
	head := func(branch string) queue.CommitID {
		return queue.CommitID(strings.TrimSpace(r.run("", "rev-parse", branch)))
	}
	push := func(moves ...mirror.Move) []mirror.PushOutcome {
		t.Helper()
		return must(m.Remotes.PushHeads(t.Context(), r.remote(), "main", moves))(t)
	}
	beside, back := mirror.Move{Branch: "other", From: other, To: landed}, mirror.Move{Branch: "other", From: landed, To: other}
	for name, x := range map[string]struct {
		mirror.Move
		lost bool
	}{
		"somebody has pushed": {mirror.Move{Branch: "topic", From: topic, To: landed}, true},
		"it is gone":          {mirror.Move{Branch: "none", From: topic, To: landed}, true},
		"to nothing":          {mirror.Move{Branch: "topic", From: late}, false},
		"main itself":         {mirror.Move{Branch: "main", From: base, To: landed}, false},
		"no branch":           {mirror.Move{Branch: "a:b", From: topic, To: landed}, false},
	} {
		got := push(x.Move, beside)
		if got[0].Moved || got[0].Lost != x.lost || (got[0].Refused == "") != x.lost {
			t.Errorf("%s: %+v", name, got[0])
		}
		if !got[1].Moved || head("other") != landed {
			t.Errorf("%s: the one beside it: %+v", name, got[1])
		}
		if head("main") != base || head("topic") != late {
			t.Fatalf("%s: main is at %s, topic at %s", name, head("main"), head("topic"))
		}
		if got := push(back); !got[0].Moved || head("other") != other {
			t.Fatalf("put back: %+v", got)
		}
	}
	r.point("topic", topic)
	for range 2 { // the second time its answer was lost
		if got := push(mirror.Move{Branch: "topic", From: topic, To: landed}); !got[0].Moved || head("topic") != landed {
			t.Errorf("%+v", got)
		}
	}
}

// A rule that has the remote refuse a whole push stops only the branch that it is about.
func TestPushHeadsOneByOne(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.commit("main", "base", files{"f": "1"})
	var moves []mirror.Move
	for _, branch := range []string{"a", "held", "c"} {
		moves = append(moves, mirror.Move{Branch: branch, From: r.commit(branch, branch, files{branch: "1"}, base), To: base})
	}
	m := r.fetched("a", "held", "c")
	hook := "#!/bin/sh\nif grep -q refs/heads/held; then echo 'GH013: Repository rule violations found for refs/heads/held.' >&2; exit 1; fi\n"
	if err := os.WriteFile(filepath.Join(r.dir, "hooks", "pre-receive"), []byte(hook), 0o755); err != nil {
		t.Fatal(err)
	}
	got := must(m.Remotes.PushHeads(t.Context(), r.remote(), "main", moves))(t)
	if !got[0].Moved || got[1].Moved || !queue.RefusalOf(got[1].Refused).Rule() || !got[2].Moved {
		t.Errorf("%+v", got)
	}
	for i, branch := range []string{"a", "held", "c"} {
		if at := queue.CommitID(strings.TrimSpace(r.run("", "rev-parse", branch))); (at == base) != got[i].Moved {
			t.Errorf("%s is at %s", branch, at)
		}
	}
}

// A branch that could not be locked has not been moved by somebody else: it is pushed
// again.
func TestPushHeadsUnderALock(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.commit("main", "base", files{"f": "1"})
	move := mirror.Move{Branch: "topic", From: r.commit("topic", "topic", files{"g": "1"}, base), To: base}
	m := r.fetched("topic")
	lock := filepath.Join(r.dir, "refs", "heads", "topic.lock")
	if err := os.WriteFile(lock, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var passing *forge.Transient
	if got, err := m.Remotes.PushHeads(t.Context(), r.remote(), "main", []mirror.Move{move}); !errors.As(err, &passing) {
		t.Errorf("under a lock: %+v, %v", got, err)
	}
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	if got := must(m.Remotes.PushHeads(t.Context(), r.remote(), "main", []mirror.Move{move}))(t); !got[0].Moved {
		t.Errorf("%+v", got)
	}
}
