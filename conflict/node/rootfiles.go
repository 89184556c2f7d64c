package node

import (
	"context"
	"path"
	"regexp"
	"strings"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/internal/layout"
)

// The settings of tools beside the package.json of a root are read for every package, and so
// is what they import: eslint.config.js takes its rules from ./packages/rules.

// settingsOf reports whether a file of this name holds settings of a tool.
func settingsOf(base string) bool {
	return strings.HasPrefix(base, ".") && everybodys(base) || strings.Contains(base, ".config.") || strings.Contains(base, ".preset.") || strings.Contains(base, ".setup.")
}

// filesIn returns the files directly in a directory.
func (b *builder) filesIn(dir string) []conflict.Entry {
	var list []conflict.Entry
	for _, e := range b.layout.Under(dir) {
		if layout.Dir(e.Path) == dir {
			list = append(list, e)
		}
	}
	return list
}

// readSettings finds the packages that the settings of a root import.
func (b *builder) readSettings(ctx context.Context, r *root) error {
	for _, e := range b.filesIn(r.dir) {
		base := path.Base(e.Path)
		if !settingsOf(base) || !scannable(base) && base[0] != '.' || e.Mode == conflict.ModeLink || e.Mode == conflict.ModeSubmodule {
			continue
		}
		v, err := b.read(ctx, reading{"settings", e, func(data []byte) (any, error) { return importsIn(data), nil }})
		if err != nil {
			return err
		}
		for _, spec := range v.([]string) {
			b.rootUses(r, spec)
		}
	}
	return nil
}

// setting matches the text before a name in a setting that has a tool load it.
var setting = regexp.MustCompile(`(?:presets|plugins|setupFiles|setupFilesAfterEnv|globalSetup|globalTeardown|testEnvironment|snapshotSerializers)["']?\s*:\s*(?:\[[^\]]*)?\z`)

// importsIn returns the specifiers of a text that stand where one imports: of packages, and
// paths.
func importsIn(src []byte) []string {
	var list []string
	for i, c := range src {
		if c != '"' && c != '\'' && c != '`' {
			continue
		}
		if word := quoted(src[i:]); word != "" && (strings.HasPrefix(word, "./") || strings.HasPrefix(word, "../") || bareStart(word)) && (imported(src[:i]) || setting.Match(src[max(0, i-300):i])) {
			list = append(list, word)
		}
	}
	return list
}

// cascade adds to each package within another one the settings beside the other's
// package.json: tools look for theirs in the folders above.
func (b *builder) cascade() {
	for _, p := range b.pkgs {
		for dir := p.dir; dir != ""; {
			dir = layout.Dir(dir)
			q := b.pkgs[dir]
			if q == nil || q.dir == q.root.dir && q.root.space {
				continue
			}
			for _, e := range b.filesIn(dir) {
				if settingsOf(path.Base(e.Path)) && !b.barred[e.Path] {
					p.inputs = append(p.inputs, e)
				}
			}
		}
	}
}
