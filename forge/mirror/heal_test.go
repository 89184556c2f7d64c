package mirror_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/storetest"
)

// ailing is a mirror that is used as a server does: what it lacks is fetched, and
// where it is damaged it is made again.
type ailing struct {
	t      testing.TB
	repo   *repo
	mirror *mirror.Mirror
	heads  []mirror.HeadRef
	healed int
	made   []queue.CommitID
}

// sound does something until the mirror is sound enough for it.
func (a *ailing) sound(what string, do func() error) {
	a.t.Helper()
	for range 4 {
		err := do()
		if err == nil {
			return
		}
		if !a.mirror.Suspect(err) {
			a.t.Fatalf("%s: not suspected: %v", what, err)
		}
		why := a.mirror.Examine(a.t.Context(), err, a.made...)
		a.t.Logf("%s: %v\n  damage: %s", what, err, why)
		if why == "" {
			continue
		}
		if err := a.mirror.Heal(a.t.Context(), a.repo.remote(), []string{"main"}, a.heads); err != nil {
			a.t.Fatalf("%s: %v", what, err)
		}
		a.healed++
	}
	a.t.Fatalf("%s: it never worked", what)
}

// merges fetches main and the heads and merges them one after the other.
func (a *ailing) merges() (made []queue.CommitID) {
	a.t.Helper()
	a.sound("merging", func() error {
		base, err := a.mirror.Remotes.FetchBranch(a.t.Context(), a.repo.remote(), "main")
		if err != nil {
			return err
		}
		each, err := a.mirror.Remotes.FetchHeads(a.t.Context(), a.repo.remote(), a.heads)
		if err = errors.Join(append(each, err)...); err != nil {
			return err
		}
		var picks []mirror.Pick
		for _, h := range a.heads {
			picks = append(picks, mirror.Pick{Head: h.Want, Message: "Merge " + h.Ref})
		}
		merged, err := a.mirror.Merges.MergeChain(a.t.Context(), base, picks)
		made = nil
		for _, m := range merged {
			if !m.Clean() {
				a.t.Errorf("a change that merges is refused: %+v", m)
			}
			made = append(made, m.Commit)
		}
		return err
	})
	a.made = made
	return made
}

func (a *ailing) checkout(commit queue.CommitID, dir string) {
	a.t.Helper()
	a.sound("checking out", func() error {
		if _, err := a.mirror.Objects.Tree(a.t.Context(), commit); err != nil {
			a.merges() // a healing loses what only the mirror had
		}
		release, err := a.mirror.Checkout(a.t.Context(), commit, dir)
		if err == nil {
			err = release()
		}
		return err
	})
}

// A mirror damaged in any way, before a start or after it, makes the commits that an
// undamaged one makes, and blames no change.
func TestDamagedMirrorHeals(t *testing.T) {
	storetest.OneOf(t, 2)
	t.Parallel()
	names := slices.Sorted(maps.Keys(forgetest.Damages))
	seen, most := 0, 8 // each takes a second
	if storetest.Required("long") {
		most = 24
	}
	rapid.Check(t, func(rt *rapid.T) {
		if seen++; seen > most && !testing.Short() {
			return
		}
		damages := rapid.SliceOfN(rapid.SampledFrom(names), 1, 3).Draw(rt, "damages")
		restarts := rapid.SliceOfN(rapid.Bool(), len(damages), len(damages)).Draw(rt, "restarts")
		ailment(t, damages, restarts)
	})
}

// Without SUBMITQUEUE_REQUIRE=long, each damage befalls in one of the two ways, by chance.
func TestEachDamageHeals(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(forgetest.Damages)) {
		for restart, way := range map[bool]string{false: "while it runs", true: "before a start"} {
			t.Run(name+" "+way, func(t *testing.T) {
				storetest.OneOf(t, 3)
				t.Parallel()
				ailment(t, []string{name}, []bool{restart})
			})
		}
	}
}

func ailment(t *testing.T, damages []string, restarts []bool) {
	t.Helper()
	r := newRepo(t)
	r.commit("main", "first", files{"word": lines(9, nil), "d/a": "a", "d/e/b": "b"})
	base := r.commit("main", "second", files{"d/c": "c"})
	one := r.commit("one", "one", files{"word": lines(9, map[int]string{0: "one"})}, base)
	two := r.commit("two", "two", files{"word": lines(9, map[int]string{8: "nine"}), "d/two": "2"}, base)
	heads := []mirror.HeadRef{{Ref: "refs/heads/one", Want: one}, {Ref: "refs/heads/two", Want: two}}
	want := (&ailing{t: t, repo: r, mirror: openMirror(t), heads: heads}).merges()

	dir := filepath.Join(t.TempDir(), "m.git")
	work := filepath.Join(t.TempDir(), "work")
	open := func() *mirror.Mirror {
		for limit := time.Now().Add(time.Minute); ; {
			m, err := mirror.Open(t.Context(), dir)
			if errors.Is(err, mirror.ErrBusy) && time.Now().Before(limit) {
				continue // a process that another test starts holds all our files until it is git
			}
			return must(m, err)(t)
		}
	}
	a := &ailing{t: t, repo: r, mirror: open(), heads: heads}
	defer func() { a.mirror.Close() }()
	a.checkout(a.merges()[1], work)
	for i, name := range damages {
		if restarts[i] {
			a.mirror.Close()
		}
		if err := forgetest.Damages[name](dir); err != nil {
			t.Logf("%s: %v", name, err)
		}
		if restarts[i] {
			a.mirror = open()
		}
		if got := a.merges(); !slices.Equal(got, want) {
			t.Errorf("after %q: %v, want %v", damages[:i+1], got, want)
		}
		a.checkout(want[1], work)
		if text, err := os.ReadFile(filepath.Join(work, "word")); err != nil || string(text) != lines(9, map[int]string{0: "one", 8: "nine"}) {
			t.Errorf("after %q: %v\n%s", damages[:i+1], err, text)
		}
	}
	if a.healed > 2*len(damages) {
		t.Errorf("%q: it was made again %d times", damages, a.healed)
	}
	for _, left := range []string{dir + ".new", dir + ".damaged"} {
		if _, err := os.Stat(left); err == nil {
			t.Errorf("%s is left", left)
		}
	}
}

// A sound mirror is not made again for an object that was never there.
func TestSoundMirrorIsFoundSound(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.commit("main", "first", files{"a": "1"})
	m := r.fetched()
	_, err := m.Objects.Tree(t.Context(), queue.CommitID(strings.Repeat("1", 40)))
	if !m.Suspect(err) {
		t.Fatalf("not suspected: %v", err)
	}
	if why := m.Examine(t.Context(), err); why != "" {
		t.Errorf("damaged: %s", why)
	}
}

// A healing that fails leaves the mirror as it was, and nothing beside it.
func TestHealingWithoutARemote(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.commit("main", "first", files{"a": "1"})
	m := r.fetched()
	before := m.Generation()
	if err := m.Heal(t.Context(), forge.Remote{URL: filepath.Join(t.TempDir(), "nowhere")}, []string{"main"}, nil); err == nil {
		t.Fatal("it healed from nowhere")
	}
	if m.Generation() != before {
		t.Error("the mirror was replaced")
	}
	whole(t, m, base)
	if _, err := os.Stat(m.Dir() + ".new"); err == nil {
		t.Error("the new one is left")
	}
}

// A mirror that another process has made in the place of one that was removed is left alone.
func TestHealingLeavesAnothersMirrorAlone(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.commit("main", "first", files{"a": "1"})
	m := r.fetched()
	if err := os.RemoveAll(m.Dir()); err != nil {
		t.Fatal(err)
	}
	other := must(mirror.Open(t.Context(), m.Dir()))(t)
	defer other.Close()
	if err := m.Heal(t.Context(), r.remote(), []string{"main"}, nil); !errors.Is(err, mirror.ErrBusy) {
		t.Errorf("%v", err)
	}
}

// Files that are not git's survive a healing.
func TestHealingKeepsWhatIsNotGits(t *testing.T) {
	storetest.OneOf(t, 2)
	t.Parallel()
	r := newRepo(t)
	base := r.commit("main", "first", files{"a": "1"})
	m := r.fetched()
	kept := filepath.Join(m.Dir(), "lfs", "objects", "x")
	if err := errors.Join(os.MkdirAll(filepath.Dir(kept), 0o755), os.WriteFile(kept, []byte("x"), 0o644)); err != nil {
		t.Fatal(err)
	}
	if err := m.Heal(t.Context(), r.remote(), []string{"main"}, nil); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(kept); err != nil || string(text) != "x" {
		t.Errorf("%q, %v", text, err)
	}
	whole(t, m, base)
	if _, err := mirror.Open(t.Context(), m.Dir()); !errors.Is(err, mirror.ErrBusy) {
		t.Errorf("the new mirror has no owner: %v", err)
	}
}

// An ancestor that is missing is no reason to say that histories have nothing in common.
func TestMissingAncestorIsNoRefusal(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.commit("main", "first", files{"word": lines(9, nil)})
	r.commit("main", "m", files{"m": "m"})
	r.commit("topic", "t", files{"t": "t"}, base)
	m := r.fetched("topic")
	main, topic := r.tip("main"), r.tip("topic")
	if err := forgetest.Damages["the first commit is missing"](m.Dir()); err != nil {
		t.Fatal(err)
	}
	merged, err := m.Merges.MergeWave(t.Context(), []mirror.Pick{{Parent: main, Head: topic, Message: "m"}})
	if err == nil {
		t.Errorf("%+v", merged)
	} else if !m.Suspect(err) {
		t.Errorf("not suspected: %v", err)
	}
}
