package app

import (
	"context"
	"log/slog"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/mirror"
)

// sparing is a forge whose repository is to be pushed to once a minute.
type sparing struct {
	forge.Forge
	url string
}

func (sparing) Capabilities() forge.Capabilities { return forge.Capabilities{} }

func (p sparing) Remote(context.Context) (forge.Remote, error) {
	return forge.Remote{URL: p.url, Pace: forge.Pace{Pushes: 1}}, nil
}

// The page says until when the recommended pace of pushes holds builds up, and no longer.
func TestHeldPushesAreShown(t *testing.T) {
	bare := filepath.Join(t.TempDir(), "bare")
	if out, err := exec.Command("git", "init", "--quiet", "--bare", bare).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	m, err := mirror.Open(t.Context(), filepath.Join(t.TempDir(), "m"))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	now := time.Now()
	f := sparing{url: bare}
	o := NewOwner(OwnerOptions{Forge: f, Mirror: m, Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler)})
	own := mirror.OwnRefs{Mirror: m, Forge: f}
	if wait, said := own.Wait(t.Context(), false), o.Waits(); wait != 0 || said != "" {
		t.Fatalf("before any push: %v, %q", wait, said)
	}
	commit, err := own.File(t.Context(), "f", []byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	if _, each, err := own.Push(t.Context(), []mirror.RefMove{{Branch: "q/a", Commit: commit}}); err != nil || each[0] != nil {
		t.Fatal(each, err)
	}
	if own.Wait(t.Context(), false) == 0 {
		t.Fatal("the second push within a minute does not wait")
	}
	want := regexp.MustCompile(`^builds are pushed to the forge's CI again at \d\d:\d\d:\d\d UTC: it recommends at most 1 pushes a minute to a repository; landings go on$`)
	if said := o.Waits(); !want.MatchString(said) {
		t.Errorf("%q", said)
	}
	now = now.Add(2 * time.Minute)
	if said := o.Waits(); said != "" {
		t.Errorf("two minutes later: %q", said)
	}
}
