package layout_test

import (
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/internal/layout"
)

// tree is files in the order of their paths, links among them as "path -> goal"
// and submodules as "path!".
func tree(files ...string) (*layout.Layout, func(conflict.Entry) (string, error)) {
	var entries []conflict.Entry
	goals := map[string]string{}
	for _, f := range files {
		path, goal, link := strings.Cut(f, " -> ")
		e := conflict.Entry{Path: path, Mode: "100644"}
		if link {
			e.Mode, goals[path] = conflict.ModeLink, goal
		} else if sub, ok := strings.CutSuffix(path, "!"); ok {
			e.Path, e.Mode = sub, conflict.ModeSubmodule
		}
		entries = append(entries, e)
	}
	return layout.New(entries), func(e conflict.Entry) (string, error) { return goals[e.Path], nil }
}

func paths(list []conflict.Entry) string {
	var out []string
	for _, e := range list {
		out = append(out, e.Path)
	}
	return strings.Join(out, " ")
}

func TestResolve(t *testing.T) {
	l, read := tree("a -> b/c", "b/c/x", "circle -> circle", "deep/up -> ../a", "out -> ../..", "root -> /etc", "s!", "top -> .")
	for path, want := range map[string]struct {
		goal, via string
		ok        bool
	}{
		"b/c/x":       {"b/c/x", "", true},
		"a":           {"b/c", "a", true},
		"a/x":         {"b/c/x", "a", true},
		"deep/up/x":   {"b/c/x", "deep/up a", true},
		"top":         {"", "top", true},
		"top/a/x":     {"b/c/x", "top a", true},
		"gone":        {"gone", "", true},
		"out/x":       {"", "out", false},
		"root":        {"", "root", false},
		"s/x":         {"", "s", false},
		"circle/more": {"", strings.TrimSpace(strings.Repeat("circle ", 41)), false},
	} {
		goal, via, ok, err := l.Resolve(path, read)
		if goal != want.goal || paths(via) != want.via || ok != want.ok || err != nil {
			t.Errorf("%s: %q by %q, %v, %v", path, goal, paths(via), ok, err)
		}
	}
}

func TestAt(t *testing.T) {
	l, _ := tree("a", "b-c", "b/x", "b/y/z", "c")
	for path, want := range map[string]string{"a": "a", "b": "b/x b/y/z", "b/y": "b/y/z", "": "a b-c b/x b/y/z c", "no": "", "b/y/z/more": ""} {
		if got := paths(l.At(path)); got != want {
			t.Errorf("at %q: %q", path, got)
		}
	}
}

func TestBehind(t *testing.T) {
	l, read := tree("a", "b/c/more -> ../../d", "b/c/x", "d/y", "link -> b/c", "out -> ../..", "s!", "sub -> s/x", "to -> link")
	for path, want := range map[string]string{
		"a":           "",
		"link":        "b/c/more b/c/x d/y",
		"to":          "link b/c/more b/c/x d/y",
		"link/x":      "link b/c/x",
		"to/more/y":   "to link b/c/more d/y",
		"link/gone":   "link",
		"gone/no":     "",
		"out":         "",
		"out/further": "out",
		"sub":         "s",
	} {
		e, ok := l.ByPath[path]
		if !ok {
			e = conflict.Entry{Path: path, Mode: "missing"}
		}
		found, err := l.Behind([]conflict.Entry{e}, read)
		if got := paths(found); got != want || err != nil {
			t.Errorf("behind %s: %q, %v, want %q", path, got, err, want)
		}
	}
}
