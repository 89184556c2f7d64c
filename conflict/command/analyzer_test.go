package command_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/checkout"
	"github.com/submitqueue/submitqueue/conflict/command"
	"github.com/submitqueue/submitqueue/conflict/conflicttest"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// script is that of the package's documentation.
const script = `cd "$SUBMITQUEUE_TREE"
for file in */deps; do
  dir=${file%/deps}
  deps=
  while read -r need; do
    deps="$deps${deps:+,}\"$need\""
  done <"$file"
  printf '{"target":"%s","deps":[%s],"sources":["%s/"],"reads":["%s","./"]}\n' \
    "$dir" "$deps" "$dir" "$file"
done
`

func settings() config.Analysis {
	return config.Analysis{Analyzer: "command", Command: "sh tools/graph.sh", Program: []string{"tools/*.sh"}, Definitions: []string{"*/deps"}, Timeout: 20 * time.Second}
}

func shop() *conflicttest.Tree {
	return conflicttest.New(map[string]string{".submitqueue.yml": "version: 1\n", "tools/graph.sh": script,
		"api/deps": "", "api/x": "1", "web/deps": "api\n", "web/x": "1", "web/sub/y": "1", "lone/deps": "", "README.md": "hi"})
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mustOpen(t testing.TB, size int) *checkout.Pool {
	t.Helper()
	p, err := checkout.Open(filepath.Join(t.TempDir(), "pool"), checkout.Options{Size: size})
	must(t, err)
	t.Cleanup(func() { must(t, p.Close()) })
	return p
}

// line is a target branch with the analyzer of a server.
type line struct {
	testing.TB
	settings config.Analysis
	target   conflict.Tree
	pool     *checkout.Pool
}

func (l line) analyze(tree conflict.Tree) *conflict.Snapshot {
	l.Helper()
	a, err := command.New(l.settings, l.pool)
	must(l, err)
	s, err := conflict.Analyze(context.Background(), a.Trusting(l.target), l.settings, tree)
	must(l, err)
	return s
}

func (l line) footprint(tree conflict.Tree) queue.Footprint {
	l.Helper()
	f := conflict.FootprintOf(l.analyze(l.target), l.analyze(tree), "main")
	return f
}

func newLine(t testing.TB, target conflict.Tree) line {
	return line{t, settings(), target, mustOpen(t, 1)}
}

func TestTheExample(t *testing.T) {
	main := shop()
	l := newLine(t, main)
	for name, c := range map[string]struct {
		tree *conflicttest.Tree
		want []string
	}{
		"a source":         {main.With("api/x", "2"), []string{"api", "web"}},
		"a dependent":      {main.With("web/sub/y", "2"), []string{"web"}},
		"a new source":     {main.With("lone/z", "2"), []string{"lone"}},
		"exec bit":         {main.WithMode("lone/deps", "100755", ""), []string{"lone"}},
		"a new edge":       {main.With("lone/deps", "web\n"), []string{"lone"}},
		"a missing edge":   {main.With("lone/deps", "later\n"), []string{"lone"}},
		"a new target":     {main.With("later/deps", ""), []string{"later"}},
		"a deleted target": {main.Without("api"), []string{"web"}},
		"moved":            {main.Without("web/x").With("lone/x", "1"), []string{"lone", "web"}},
		"nobody's file":    {main.With("README.md", "ho"), []string{"api", "lone", "web"}},
	} {
		f := l.footprint(c.tree)
		if got := slices.Sorted(slices.Values(f.Affected)); f.Unknown != "" || !slices.Equal(got, c.want) {
			t.Errorf("%s: affected %q, want %q (%s)", name, got, c.want, f.Unknown)
		}
	}
	if f := l.footprint(main.Without("api")); !slices.Contains(f.Write, "api") {
		t.Errorf("who deletes a target writes %q", f.Write)
	}
	use := l.footprint(main.With("lone/deps", "later\n"))
	add := l.footprint(main.With("later/deps", ""))
	if !slices.Contains(use.Read, "later") || !slices.Contains(add.Write, "later") {
		t.Errorf("who uses what another adds: reads %q, writes %q", use.Read, add.Write)
	}
}

// A file behind a link is read through it.
func TestWhatALinkLeadsTo(t *testing.T) {
	main := shop().With("shared/x", "1").With("more/deep/y", "1").
		WithMode("api/shared", conflict.ModeLink, "../shared").WithMode("shared/y", conflict.ModeLink, "../more/deep/y").
		WithMode("lone/out", conflict.ModeLink, "../../out").WithMode("lone/loop", conflict.ModeLink, "loop")
	l := newLine(t, main)
	l.settings.Unowned = config.UnownedTarget
	for _, file := range []string{"shared/x", "more/deep/y"} {
		f := l.footprint(main.With(file, "2"))
		if got := strings.Join(f.Write, " "); f.Unknown != "" || got != "api unowned web" {
			t.Errorf("%s: %q is written %s", file, got, f.Unknown)
		}
	}
}

// A cycle that two changes make together is a conflict, and one tree with it
// has a hash for each member.
func TestCycles(t *testing.T) {
	main := shop().With("api/deps", "").With("web/deps", "")
	l := newLine(t, main)
	a, b := l.footprint(main.With("api/deps", "web\n")), l.footprint(main.With("web/deps", "api\n"))
	if !slices.ContainsFunc(a.Write, func(n string) bool { return slices.Contains(b.Read, n) }) {
		t.Errorf("write %q, read %q", a.Write, b.Read)
	}
	s := l.analyze(main.With("api/deps", "web\n").With("web/deps", "api\n"))
	if len(s.Cycles) != 1 || s.Unknown != "" {
		t.Errorf("cycles %q, %s", s.Cycles, s.Unknown)
	}
}

// The same tree gives the same hashes in each directory, though the program
// prints where it is.
func TestPlacesAreInNoHash(t *testing.T) {
	main := shop().With("tools/graph.sh", `printf '{"target":"a","sources":["api/"],"attrs":{"dir":"%s","me":"%s"}}\n' "$SUBMITQUEUE_TREE" "$PWD"`+"\n")
	l := newLine(t, main)
	l.pool = mustOpen(t, 2)
	held, err := l.pool.Checkout(t.Context(), main, nil)
	must(t, err)
	one := l.analyze(main)
	held.Release()
	held, err = l.pool.Checkout(t.Context(), shop(), nil)
	must(t, err)
	two := l.analyze(main)
	held.Release()
	other := newLine(t, main).analyze(main)
	if one.Unknown != "" || !slices.Equal(one.Targets(), two.Targets()) || !slices.Equal(one.Targets(), other.Targets()) {
		t.Errorf("%v, %v, %v: %s", one.Targets(), two.Targets(), other.Targets(), one.Unknown)
	}
}

// Nothing that a pull request writes is run before it is on the target branch.
func TestNothingOfAPullRequestRuns(t *testing.T) {
	main := shop().With("tools/lib.sh", "true\n").With("tools/graph.sh", ". tools/lib.sh\n"+script)
	l := newLine(t, main)
	marker := filepath.Join(t.TempDir(), "marker")
	evil := "touch " + marker + "\n"
	for name, tree := range map[string]*conflicttest.Tree{
		"the program":     main.With("tools/graph.sh", evil+script),
		"a library of it": main.With("tools/lib.sh", evil),
		"a new part":      main.With("tools/more.sh", evil),
		"a part removed":  main.Without("tools/lib.sh"),
		"the exec bit":    main.WithMode("tools/lib.sh", "100755", "true\n"),
		"a link":          main.WithMode("tools/lib.sh", conflict.ModeLink, "../evil.sh").With("evil.sh", evil),
		"a link above":    main.Without("tools").WithMode("tools", conflict.ModeLink, "evil").With("evil/graph.sh", evil),
		"the settings":    main.With(".submitqueue.yml", "version: 1 # else\n"),
		"none at all":     main.Without("tools"),
	} {
		s := l.analyze(tree)
		if s.Unknown == "" || !s.Provisional || len(s.Targets()) != 1 || s.Targets()[0].Target != config.TargetTree {
			t.Errorf("%s: %v, unknown %q", name, s.Targets(), s.Unknown)
		}
		if f := l.footprint(tree); !f.All {
			t.Errorf("%s: the footprint is not All", name)
		}
		landed := l
		landed.target = tree
		if name == "a part removed" && landed.analyze(tree).Unknown == "" {
			t.Errorf("%s: the program runs without it", name)
		}
		if name == "the exec bit" && landed.analyze(tree).Unknown != "" {
			t.Errorf("%s: it does not run after it has landed", name)
		}
	}
	// Beside the program, where it might look by accident.
	for _, path := range []string{"evil.sh", "tools/evil.py", "sh", "tools/deeper/lib.sh", "web/tools/lib.sh"} {
		if s := l.analyze(main.WithMode(path, "100755", evil)); s.Unknown != "" {
			t.Errorf("%s: %s", path, s.Unknown)
		}
	}
	a, err := command.New(l.settings, l.pool)
	must(t, err)
	for _, untrusting := range []conflict.Analyzer{a, a.Trusting(nil)} {
		if _, err := untrusting.Graph(t.Context(), main.With("tools/graph.sh", evil)); !errors.Is(err, conflict.ErrProvisional) {
			t.Errorf("got %v", err)
		}
	}
	if _, err := os.Stat(marker); err == nil {
		t.Fatal("a program of a pull request was run")
	}
}

func TestTheProgramIsAlone(t *testing.T) {
	main := shop().With("tools/graph.sh", `for f in * */*; do printf '{"target":"%s"}\n' "$f"; done`)
	l := newLine(t, main)
	var names []string
	for _, target := range l.analyze(main).Targets() {
		names = append(names, target.Target)
	}
	if !slices.Equal(names, []string{"tools", "tools/graph.sh"}) {
		t.Errorf("it sees %q", names)
	}
}

func TestFailures(t *testing.T) {
	for program, want := range map[string]string{
		`echo first >&2; printf 'bad \033[1mthing\n' >&2; exit 4`: "exit status 4: first\nbad [1mthing",
		`sleep 100`:     "did not end within 1s",
		`echo nonsense`: "line 1: it is not a JSON object: nonsense",
		`printf '{"target":"a"}\n\n{"target":"b","source":[]}\n'`: `line 3: the field "source" is not known: {"target":"b","source":[]}`,
		`true`: "no target that can be verified",
		`echo '{"target":"a","sources":["api"]}'`: `"api" is a folder: write "api/"`,
		`cat "$SUBMITQUEUE_TREE/none"; exit 1`:    "/tree/none",
	} {
		main := shop().With("tools/graph.sh", program)
		l := newLine(t, main)
		l.settings.Timeout = time.Second
		s := l.analyze(main)
		if late := program == `sleep 100`; !strings.Contains(s.Unknown, want) || s.Provisional != late {
			t.Errorf("%s: unknown %q, provisional %t, want %q", program, s.Unknown, s.Provisional, want)
		}
	}
	l := newLine(t, shop())
	if s := l.analyze(shop().With("a/../b", "")); !strings.Contains(s.Unknown, "not made of names") || s.Provisional {
		t.Errorf("got %q", s.Unknown)
	}
	l.pool = nil
	if s := l.analyze(shop()); !s.Provisional {
		t.Errorf("got %q", s.Unknown)
	}
	a, err := command.New(settings(), mustOpen(t, 1))
	must(t, err)
	sick := errors.New("no such blob")
	if _, err := conflict.Analyze(t.Context(), a.Trusting(shop()), settings(), shop().Failing(sick)); !errors.Is(err, sick) {
		t.Errorf("got %v", err)
	}
}

// A tool that fails at its first start only is given a second one.
func TestASecondStart(t *testing.T) {
	main := shop().With("tools/graph.sh", `if test -e "$HOME/seen"; then echo '{"target":"a"}'; else touch "$HOME/seen"; exit 7; fi`)
	if s := newLine(t, main).analyze(main); s.Unknown != "" {
		t.Error(s.Unknown)
	}
}

func TestWithoutReadsDefinitionsAreGlobal(t *testing.T) {
	main := shop().With("tools/graph.sh", `echo '{"target":"a","sources":["api/"],"reads":[]}'; echo '{"target":"b","sources":["web/"]}'`)
	l := newLine(t, main)
	if f := l.footprint(main.With("web/deps", "x")); !f.All {
		t.Errorf("affected %q", f.Affected)
	}
	if f := l.footprint(main.With("web/x", "2")); f.All || !slices.Equal(f.Affected, []string{"b"}) {
		t.Errorf("affected %q", f.Affected)
	}
}

func TestSettings(t *testing.T) {
	for want, s := range map[string]config.Analysis{
		"analysis.command":        {Command: " \n"},
		"analysis.program[0]":     {Command: "x", Program: []string{"["}},
		"analysis.definitions[1]": {Command: "x", Definitions: []string{"a", "["}},
	} {
		if _, err := command.New(s, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	ids := map[string]bool{}
	for _, s := range []config.Analysis{{Command: "x"}, {Command: "x", Program: []string{"a"}}, {Command: "x", Definitions: []string{"a"}}, {Command: "y"}} {
		a, err := command.New(s, nil)
		must(t, err)
		ids[a.ID()] = true
	}
	if len(ids) != 4 {
		t.Errorf("ids %v", ids)
	}
}
