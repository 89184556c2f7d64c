package bazel

import (
	"context"
	"path"
	"regexp"

	"github.com/submitqueue/submitqueue/conflict"
)

// Repositories that are folders of the tree, as they are declared in plain
// words. Repositories that are declared in another way are found once they have
// been fetched.
var (
	innerStatement = regexp.MustCompile(`(?m)^(?:local_repository|local_path_override)\s*\(([^()]*)\)`)
	givenStatement = regexp.MustCompile(`(?m)^new_local_repository\s*\(([^()]*)\)`)
	innerName      = regexp.MustCompile(`\b(?:name|module_name)\s*=\s*["']([A-Za-z0-9_.~+-]+)["']`)
	innerPath      = regexp.MustCompile(`\bpath\s*=\s*["']([A-Za-z0-9_./+=~-]+)["']`)
)

// innerRepos returns the folders of the tree that are repositories: name → folder.
// It notes the repositories that new_local_repository makes of folders (given).
func (l *layout) innerRepos(ctx context.Context, t conflict.Tree) (map[string]string, error) {
	out := map[string]string{}
	for _, file := range roots {
		e, ok := l.resolve(file)
		if !ok || e.Mode == conflict.ModeSubmodule {
			continue
		}
		text, err := t.Blob(ctx, e.OID)
		if err != nil {
			return nil, err
		}
		for _, m := range givenStatement.FindAllSubmatch(text, -1) {
			name, at := innerName.FindSubmatch(m[1]), innerPath.FindSubmatch(m[1])
			if name != nil && at != nil {
				l.given[string(name[1])] = path.Clean(string(at[1]))
			}
		}
		for _, m := range innerStatement.FindAllSubmatch(text, -1) {
			name, at := innerName.FindSubmatch(m[1]), innerPath.FindSubmatch(m[1])
			if name == nil || at == nil {
				continue
			}
			if dir := inside("", path.Clean(string(at[1]))); dir != "" && dir != "." && string(name[1]) != toolsRepo {
				out[string(name[1])] = dir
			}
		}
	}
	return out, nil
}

// exclude removes packages in folders that Bazel does not count as part of the
// tree.
func (l *layout) exclude(dirs map[string]bool) error {
	changed := false
	for dir := range l.packages {
		if below(dir, dirs) {
			delete(l.packages, dir)
			changed = true
		}
	}
	if !changed {
		return nil
	}
	for _, p := range l.packages {
		p.dirs, p.inner = nil, nil
	}
	return l.fill()
}

// scripts returns the .bzl files below a folder.
func (l *layout) scripts(dir string) []string {
	var out []string
	for _, e := range l.entries(dir) {
		if isScript(e.Path) {
			out = append(out, e.Path)
		}
	}
	return out
}
