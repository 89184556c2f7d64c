package bazel

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/queue/digest"
)

// shown is a tree as Bazel may see it: the files that could name programs,
// options or repositories have another text, or none.
type shown struct {
	conflict.Tree
	texts map[string]string // path → text
}

// silenced are the files that Bazel, bazelisk and Debian's wrapper take
// programs and options from.
var silenced = []string{".bazelrc", ".bazelversion", ".bazeliskrc", "tools/bazel", "tools/bazel.bat", "tools/bazel.ps1", "tools/bazel.rc",
	"WORKSPACE", "WORKSPACE.bazel", "WORKSPACE.bzlmod", "MODULE.bazel", "MODULE.bazel.lock"}

// shown returns the tree that Bazel loads packages from.
func (s *scanned) shown() conflict.Tree {
	t := shown{s.tree, map[string]string{}}
	for _, file := range silenced {
		t.silence(s, file)
	}
	main := "WORKSPACE"
	if _, ok := t.texts["WORKSPACE.bazel"]; ok {
		main = "WORKSPACE.bazel"
	}
	var b strings.Builder
	if s.workspace != "" {
		fmt.Fprintf(&b, "workspace(name = %q)\n", s.workspace)
	}
	for _, name := range slices.Sorted(maps.Keys(s.externals.repos)) {
		r := s.externals.repos[name]
		at := r.path
		if r.dir != "" {
			at = r.dir
		}
		fmt.Fprintf(&b, "local_repository(name = %q, path = %s)\n", name, strconv.QuoteToASCII(at))
	}
	t.texts[main] = b.String()
	return t
}

// silence empties the text of a file. If its folder is a link, Bazel would find
// another file there.
func (t shown) silence(s *scanned, file string) {
	if e, ok := s.layout.byPath[file]; ok && e.Mode != conflict.ModeSubmodule {
		t.texts[file] = ""
	} else if to, ok := s.layout.resolve(file); ok {
		t.texts[to.Path] = ""
	}
}

// Files returns the entries, with other ids for the files that have another text.
func (t shown) Files(ctx context.Context) ([]conflict.Entry, error) {
	files, err := t.Tree.Files(ctx)
	if err != nil {
		return nil, err
	}
	out := slices.DeleteFunc(slices.Clone(files), func(e conflict.Entry) bool {
		_, ok := t.texts[e.Path]
		return ok
	})
	for file, text := range t.texts {
		out = append(out, conflict.Entry{Path: file, Mode: "100644", OID: textPrefix + string(digest.Of(text))})
	}
	slices.SortFunc(out, func(a, b conflict.Entry) int { return strings.Compare(a.Path, b.Path) })
	return out, nil
}

const textPrefix = "text "

// Blob returns such a text, or a blob of the tree.
func (t shown) Blob(ctx context.Context, oid string) ([]byte, error) {
	for _, text := range t.texts {
		if oid == textPrefix+string(digest.Of(text)) {
			return []byte(text), nil
		}
	}
	return t.Tree.Blob(ctx, oid)
}
