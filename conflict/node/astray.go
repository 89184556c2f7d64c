package node

import (
	"context"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/internal/layout"
)

// Settings of a root may name folders of packages: projects of Jest and Vitest, references
// of TypeScript. Such a tool refuses to run for any package if one of them is not there, and
// no package depends on the one that another change deletes. So the names that lead nowhere
// are in every hash of the workspace: mostly there are none.

// namedPath matches what may be a path of a folder.
var namedPath = regexp.MustCompile(`[A-Za-z0-9_@-][A-Za-z0-9_@.-]*(?:/[A-Za-z0-9_@.-]+)+`)

// findAstray notes the paths in the settings of a root that are where packages are, and
// that no file is at or below.
func (b *builder) findAstray(ctx context.Context, r *root) error {
	homes := map[string]bool{} // the folders that packages are in
	for _, p := range r.members {
		if at, ok := below(r.dir, p.dir); ok && strings.Contains(at, "/") {
			homes[path.Dir(at)] = true
		}
	}
	if len(homes) == 0 {
		return nil
	}
	prefix := r.dir
	if prefix != "" {
		prefix += "/"
	}
	for _, e := range b.layout.Under(r.dir) {
		base := strings.TrimPrefix(e.Path, prefix)
		if strings.Contains(base, "/") || e.Mode == conflict.ModeLink || e.Mode == conflict.ModeSubmodule ||
			!scannable(base) || !everybodys(base) || base == "package.json" || slices.Contains(lockNames, base) || slices.Contains(opaqueLocks, base) {
			continue
		}
		v, err := b.read(ctx, reading{"paths", e, func(data []byte) (any, error) { return pathsIn(data), nil }})
		if err != nil {
			return err
		}
		for _, named := range v.([]string) {
			if at := nameIn(homes, path.Clean(named)); at != "" && len(b.layout.At(path.Join(r.dir, at))) == 0 {
				if _, through := b.layout.Across(path.Join(r.dir, at)); !through {
					r.astray = append(r.astray, base+": "+at)
				}
			}
		}
	}
	slices.Sort(r.astray)
	r.astray = slices.Compact(r.astray)
	return nil
}

// nameIn returns the beginning of a path that is directly in one of the folders, the longest.
func nameIn(homes map[string]bool, named string) string {
	for at := named; ; at = layout.Dir(at) {
		switch dir := layout.Dir(at); {
		case dir == "":
			return ""
		case homes[dir]:
			return at
		}
	}
}

// pathsIn returns the paths in a text.
func pathsIn(text []byte) []string {
	var out []string
	for _, at := range namedPath.FindAllIndex(text, -1) {
		if at[1] < len(text) && strings.IndexByte("*{$?[(", text[at[1]]) >= 0 {
			continue // a part of a pattern
		}
		out = append(out, string(text[at[0]:at[1]]))
	}
	slices.Sort(out)
	return slices.Compact(out)
}
