package bazel

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/queue"
)

// externals are the external repositories that packages may load from.
type externals struct {
	made  []string // the files that say what they are
	repos map[string]repo
}

// repo is one external repository as files.
type repo struct {
	path   string // where it is, on this machine
	dir    string // or in the tree
	digest queue.Digest
}

// digest is one of what can be loaded from a repository.
func (x *externals) digest(l *layout, name string) queue.Digest {
	r, ok := x.repos[name]
	switch {
	case !ok:
		return ""
	case r.dir == "":
		return r.digest
	}
	var all []string
	for _, e := range l.under(r.dir) {
		all = append(all, e.Path, e.Mode, e.OID)
	}
	return queue.DigestOf(all...)
}

// inTree returns the folder of a repository that is a part of the tree.
func (x *externals) inTree(name string) (string, bool) {
	r := x.repos[name]
	return r.dir, r.dir != ""
}

// imports returns the files of the tree that an rc file imports.
func (s *scanned) imports(ctx context.Context, file string) ([]string, error) {
	e, ok := s.layout.resolve(file)
	if !ok || e.Mode == conflict.ModeSubmodule {
		return nil, nil
	}
	text, err := s.tree.Blob(ctx, e.OID)
	if err != nil {
		return nil, err
	}
	var out []string
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) > 1 && (words[0] == "import" || words[0] == "try-import") {
			out = append(out, path.Clean(strings.TrimPrefix(strings.Trim(words[1], `"'`), "%workspace%/")))
		}
	}
	return out, nil
}

// externals returns the repositories for a tree.
func (a trusting) externals(ctx context.Context, program string, s *scanned) (*externals, error) {
	x := &externals{made: workspaceFiles}
	if len(s.repos) == 0 {
		return x, nil
	}
	return nil, fmt.Errorf("it loads from @%s: %w", s.repos[0], conflict.ErrProvisional)
}

// workspaceFiles say what external repositories there are.
var workspaceFiles = []string{"WORKSPACE", "WORKSPACE.bazel", "WORKSPACE.bzlmod", "MODULE.bazel", "MODULE.bazel.lock"}
