package mirror_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
)

// at is a forge of which only the repository counts.
type at struct {
	forge.Forge
	remote forge.Remote
}

func (a at) Remote(context.Context) (forge.Remote, error) { return a.remote, nil }

func TestOwnRefs(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	one := r.commit("main", "one", files{"a": "1\n"})
	two := r.commit("main", "two", files{"a": "2\n"})
	m, err := mirror.Open(t.Context(), filepath.Join(t.TempDir(), "m"))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	own := mirror.OwnRefs{Mirror: m, Forge: at{remote: r.remote()}}
	if _, err := m.Remotes.FetchBranch(t.Context(), r.remote(), "main"); err != nil {
		t.Fatal(err)
	}
	side, err := own.File(t.Context(), "targets.json", []byte("{}\n"))
	if err != nil {
		t.Fatal(err)
	}
	push := func(moves ...mirror.RefMove) ([]bool, []error) {
		t.Helper()
		fresh, each, err := own.Push(t.Context(), moves)
		if err != nil {
			t.Fatal(err)
		}
		return fresh, each
	}
	fresh, each := push(mirror.RefMove{Branch: "q/main/a", Commit: one}, mirror.RefMove{Branch: "side/a", Commit: side},
		mirror.RefMove{Branch: "bad..name", Commit: one}, mirror.RefMove{Branch: "q/main/never"})
	if !fresh[0] || !fresh[1] || each[0] != nil || each[1] != nil || each[2] == nil || each[3] != nil {
		t.Errorf("fresh %v, errors %v", fresh, each)
	}
	if got := r.run("", "show", "side/a:targets.json"); got != "{}" {
		t.Errorf("the file says %q", got)
	}
	if got, err := own.Message(t.Context(), one); err != nil || strings.TrimSpace(got) != "one" {
		t.Errorf("the message %q, %v", got, err)
	}
	if got, err := own.Message(t.Context(), side); err != nil || got != "Targets of a build\n" {
		t.Errorf("the message %q, %v", got, err)
	}
	// Once more is no news; another commit is, and nothing has to descend.
	if fresh, _ := push(mirror.RefMove{Branch: "q/main/a", Commit: one}, mirror.RefMove{Branch: "q/main/b", Commit: two}); fresh[0] || !fresh[1] {
		t.Errorf("fresh %v", fresh)
	}
	if fresh, _ := push(mirror.RefMove{Branch: "q/main/b", Commit: one}); !fresh[0] {
		t.Error("a ref that moved back is not news")
	}
	// One that cannot be made does not stop the others.
	_, each = push(mirror.RefMove{Branch: "q/main/a/below", Commit: one}, mirror.RefMove{Branch: "q/main/c", Commit: one})
	if each[0] == nil || each[1] != nil {
		t.Errorf("errors %v", each)
	}
	found, err := own.List(t.Context(), "q/main/")
	if err != nil || len(found) != 3 || found["q/main/b"] != one {
		t.Errorf("%v, %v", found, err)
	}
	push(mirror.RefMove{Branch: "q/main/a"}, mirror.RefMove{Branch: "q/main/b"}, mirror.RefMove{Branch: "q/main/c"})
	if found, err := own.List(t.Context(), "q/main/"); err != nil || len(found) != 0 {
		t.Errorf("%v, %v", found, err)
	}
	if _, err := own.List(t.Context(), "q/*/"); err == nil {
		t.Error("a pattern is taken for a prefix")
	}
	if _, err := own.File(t.Context(), "../x", nil); err == nil {
		t.Error("a file may be anywhere")
	}
	gone := mirror.OwnRefs{Mirror: m, Forge: at{remote: forge.Remote{URL: filepath.Join(t.TempDir(), "none.git")}}}
	var transient *forge.Transient
	if _, _, err := gone.Push(t.Context(), []mirror.RefMove{{Branch: "x", Commit: queue.CommitID(one)}}); !errors.As(err, &transient) {
		t.Errorf("a remote that is away: %v", err)
	}
}
