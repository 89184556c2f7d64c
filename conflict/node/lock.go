package node

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/digest"
)

// lock is the content of a lock file: the external packages, the packages that
// each of them uses, and those that the packages of the workspace have.
// Directories are relative to the lock file's directory.
type lock struct {
	facts    queue.Digest         // of all fields that are not about a single package
	packages map[string]*external // by an id of the lock file's own
	byName   map[string][]string  // name → ids, sorted
	own      map[string]string    // directory → digests of the fields about the workspace's package there
	catalogs map[entryOf]string   // digest of the value that pnpm has looked up in a catalog
	hoisted  []string             // ids of packages that every package sees without naming them
	find     func(dir, name, want string) found

	byProgram map[string][]string // program → ids of packages that install it for all; nil if each package has only its own programs
}

// external is one external package.
type external struct {
	name    string
	archive string // the beginning of its name in .yarn/cache
	digest  queue.Digest
	uses    found
}

// found is where a dependency leads.
type found struct {
	ids  []string // external packages
	dirs []string // of packages of the workspace
}

func (f *found) add(g found) {
	f.ids = append(f.ids, g.ids...)
	f.dirs = append(f.dirs, g.dirs...)
}

// lockNames are the lock files that can be read.
var lockNames = []string{"npm-shrinkwrap.json", "package-lock.json", "pnpm-lock.yaml", "yarn.lock"}

// opaqueLocks are lock files that cannot be read: they are in every hash.
var opaqueLocks = []string{"bun.lock", "bun.lockb", "deno.lock"}

// parseLock reads a lock file. An error says that the packages in it cannot be
// told apart: a change of the file may reach every package.
func parseLock(file string, data []byte) (l *lock, err error) {
	defer func() {
		// The YAML library is not ours, and its input may be hostile.
		if p := recover(); p != nil {
			l, err = nil, fmt.Errorf("%s: %v", file, p)
		}
	}()
	switch path.Base(file) {
	case "pnpm-lock.yaml":
		l, err = parsePnpm(data)
	case "yarn.lock":
		l, err = parseYarn(data)
	default:
		l, err = parseNpm(file, data)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for _, ids := range l.byName {
		slices.Sort(ids)
	}
	for _, ids := range l.byProgram {
		slices.Sort(ids)
	}
	return l, nil
}

func newLock() *lock {
	return &lock{packages: map[string]*external{}, byName: map[string][]string{}, own: map[string]string{}, catalogs: map[entryOf]string{}}
}

// factsOf returns the fields about a package of the workspace, as far as they are
// not in the external packages that it uses. An installer refuses the whole file if
// one of these fields is wrong.
func (l *lock) factsOf(dir string, deps []field) []string {
	facts := []string{l.own[dir]}
	for _, f := range deps {
		if at, ok := inCatalog(f); ok {
			facts = append(facts, l.catalogs[at])
		}
	}
	return facts
}

// rest returns the fields about directories that are no package's, and about
// entries of catalogs that no dependency looks up.
func (l *lock) rest(dirs map[string]bool, deps []field) []string {
	var rest []string
	for _, dir := range slices.Sorted(maps.Keys(l.own)) {
		if !dirs[dir] {
			rest = append(rest, dir, l.own[dir])
		}
	}
	used := map[entryOf]bool{}
	for _, f := range deps {
		if at, ok := inCatalog(f); ok {
			used[at] = true
		}
	}
	for _, at := range slices.SortedFunc(maps.Keys(l.catalogs), entryOf.compare) {
		if !used[at] {
			rest = append(rest, at.catalog, at.name, l.catalogs[at])
		}
	}
	return rest
}

func (l *lock) add(id string, e *external) {
	l.packages[id] = e
	l.byName[e.name] = append(l.byName[e.name], id)
}

// addProgram notes that a package installs a program.
func (l *lock) addProgram(name, id string) {
	if l.byProgram == nil {
		l.byProgram = map[string][]string{}
	}
	l.byProgram[name] = append(l.byProgram[name], id)
}

// mapping is a map of a YAML file.
type mapping map[string]any

// sub returns a field that is a map, nil if it is anything else.
func (m mapping) sub(key string) mapping {
	sub, _ := m[key].(map[string]any)
	return sub
}

// text returns a field that is a scalar as it is written.
func (m mapping) text(key string) string {
	switch v := m[key].(type) {
	case nil, map[string]any, []any:
		return ""
	case string:
		return v
	default:
		return fmt.Sprint(v)
	}
}

// allMaps reports whether all fields are maps.
func (m mapping) allMaps() bool {
	for _, v := range m {
		if _, ok := v.(map[string]any); !ok {
			return false
		}
	}
	return true
}

// digest covers all fields but those named.
func (m mapping) digest(without ...string) queue.Digest {
	rest := make(map[string]any, len(m))
	for k, v := range m {
		if !slices.Contains(without, k) {
			rest[k] = v
		}
	}
	out, err := json.Marshal(rest)
	if err != nil {
		return digest.Of(fmt.Sprintf("%#v", rest)) // infinities; maps are printed sorted
	}
	return digest.Of(string(out))
}

// bareName returns the package that an import names: "@a/b/c" is of "@a/b".
func bareName(specifier string) string {
	parts := strings.SplitN(specifier, "/", 3)
	if strings.HasPrefix(specifier, "@") && len(parts) > 1 {
		return parts[0] + "/" + parts[1]
	}
	return parts[0]
}
