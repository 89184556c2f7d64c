package audit

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/conflicttest"
	"github.com/submitqueue/submitqueue/conflict/paths"
	"github.com/submitqueue/submitqueue/queue/config"
)

// manifest is an analyzer that reads a file for all targets without being
// hashed over it: what it means is in their hashes.
type manifest struct{ conflict.Analyzer }

func (m manifest) Graph(ctx context.Context, t conflict.Tree) (*conflict.Graph, error) {
	g, err := m.Analyzer.Graph(ctx, t)
	if err != nil {
		return nil, err
	}
	files, err := t.Files(ctx)
	for _, e := range files {
		if e.Path == "manifest" {
			g.Salt = append(g.Salt, "has a manifest")
		}
	}
	return g, err
}

func newTree(t *testing.T, files map[string]string, inputs ...config.Inputs) *Tree {
	t.Helper()
	areas := []config.Area{{Name: "api", Files: []string{"api/**"}}, {Name: "web", Files: []string{"web/**"}, Needs: []string{"api"}}}
	a, err := paths.New(areas)
	if err != nil {
		t.Fatal(err)
	}
	s := config.Analysis{Areas: areas, Unowned: config.UnownedTarget, Ignore: []string{"docs/**", "manifest"}, Inputs: inputs}
	d, err := conflict.Describe(t.Context(), manifest{a}, s, conflicttest.New(files))
	if err != nil || d.Unknown != "" {
		t.Fatal(err, d.Unknown)
	}
	return &Tree{Description: d, Settings: s, Config: "analysis:\n  # docs/**\n  ignore:\n    - docs/**\n    - manifest\n", Files: conflicttest.New(files).Paths(),
		Without: func(ctx context.Context, gone []string) (*conflict.Snapshot, error) {
			left := conflicttest.New(files)
			for _, file := range gone {
				left = left.Without(file)
			}
			return conflict.Analyze(ctx, manifest{a}, s, left)
		}}
}

var shop = map[string]string{"api/code": "", "web/code": "", "web/page": "", "docs/a.md": "", "docs/b.md": "", "manifest": "", "Makefile": "", "other/x.go": ""}

func read(files ...string) map[string][]string {
	m := map[string][]string{}
	for _, f := range files {
		m[f] = []string{"cat"}
	}
	return m
}

func TestJudge(t *testing.T) {
	tree := newTree(t, shop, config.Inputs{Targets: []string{"api"}, Files: []string{"docs/b.md"}})
	got, err := Judge(t.Context(), tree, "api", Reads{
		Content: read("api/code", "web/page", "docs/a.md", "docs/b.md", "manifest", "Makefile", "made"),
		Listed:  read("api", "web", "made-dir"), Tested: read("web/code", "docs", "nothing", "docs/b.md"), Scanned: read("web/code")})
	if err != nil {
		t.Fatal(err)
	}
	want := &Judged{Findings: []Finding{
		{File: "Makefile", Programs: []string{"cat"}, Holders: []string{config.TargetUnowned}},
		{File: "docs/a.md", Programs: []string{"cat"}, Ignored: "docs/**", Line: 4, Holders: []string{}},
		{File: "web/page", Programs: []string{"cat"}, Holders: []string{"web"}},
	}, Partly: []string{"manifest"}, Listed: []string{"web"}, Tested: []string{"web/code"}, Missing: []string{"nothing"}, Scanned: 1, Own: 2}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	var why []string
	for i := range got.Findings {
		why = append(why, got.Findings[i].Why())
	}
	if d := cmp.Diff([]string{"claimed by no target: in that of unowned files alone", `ignored by "docs/**" (.submitqueue.yml:4)`, "only in the hash of web"}, why); d != "" {
		t.Error(d)
	}
	// Of a target above, the files below are in its hash.
	if got, err = Judge(t.Context(), tree, "web", Reads{Content: read("api/code", "docs/b.md")}); err != nil || len(got.Findings) != 0 || got.Unread {
		t.Errorf("%+v %v", got, err)
	}
	if got, err = Judge(t.Context(), tree, "web", Reads{Content: read("Makefile")}); err != nil || !got.Unread {
		t.Errorf("%+v %v", got, err)
	}
}

func TestPropose(t *testing.T) {
	found := func(listed string, files ...string) *Judged {
		j := &Judged{Listed: strings.Fields(listed)}
		for _, f := range files {
			j.Findings = append(j.Findings, Finding{File: f})
		}
		return j
	}
	for name, tt := range map[string]struct {
		judged map[string]*Judged
		want   []config.Inputs
	}{
		"nothing":            {map[string]*Judged{"a": found("")}, nil},
		"a file":             {map[string]*Judged{"a": found("", "README.md")}, []config.Inputs{{Targets: []string{"a"}, Files: []string{"README.md"}}}},
		"twice the same":     {map[string]*Judged{"b": found("", "x"), "a": found("", "x")}, []config.Inputs{{Targets: []string{"a", "b"}, Files: []string{"x"}}}},
		"two files":          {map[string]*Judged{"a": found("", "d/x.md", "d/y.md")}, []config.Inputs{{Targets: []string{"a"}, Files: []string{"d/x.md", "d/y.md"}}}},
		"of a listed folder": {map[string]*Judged{"a": found("d", "d/x.md", "d/y.md")}, []config.Inputs{{Targets: []string{"a"}, Files: []string{"d/*.md"}}}},
		"of listed folders":  {map[string]*Judged{"a": found(".", "d/x.go", "e/y.go")}, []config.Inputs{{Targets: []string{"a"}, Files: []string{"**/*.go"}}}},
		"below one folder":   {map[string]*Judged{"a": found("", "p/d/x.go", "p/e/x.go", "p/f/x.go", "p/g/x.go")}, []config.Inputs{{Targets: []string{"a"}, Files: []string{"p/**/*.go"}}}},
		"names that are odd": {map[string]*Judged{"[a]": found("", "x*y")}, []config.Inputs{{Targets: []string{`\[a\]`}, Files: []string{`x\*y`}}}},
		"without an ending":  {map[string]*Judged{"a": found("d", "d/x", "d/.y")}, []config.Inputs{{Targets: []string{"a"}, Files: []string{"d/.y", "d/x"}}}},
	} {
		if d := cmp.Diff(tt.want, Propose(tt.judged)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// TestProposalsMend holds that what is proposed takes what was found in.
func TestProposalsMend(t *testing.T) {
	all := []string{"api/code", "web/code", "web/page", "docs/a.md", "docs/b.md", "Makefile", "other/x.go"}
	for n := range 1 << len(all) {
		var files []string
		for i, file := range all {
			if n>>i&1 == 1 {
				files = append(files, file)
			}
		}
		before, err := Judge(t.Context(), newTree(t, shop), "api", Reads{Content: read(files...), Listed: read(".", "docs")})
		if err != nil {
			t.Fatal(err)
		}
		inputs := Propose(map[string]*Judged{"api": before})
		after, err := Judge(t.Context(), newTree(t, shop, inputs...), "api", Reads{Content: read(files...)})
		if err != nil || len(after.Findings) > 0 || len(before.Findings) != len(slices.DeleteFunc(slices.Clone(files), func(f string) bool { return f == "api/code" })) {
			t.Fatalf("%q: found %v, then %v %v, with %v", files, before.Findings, after.Findings, err, inputs)
		}
	}
}
