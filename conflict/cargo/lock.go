package cargo

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/submitqueue/submitqueue/queue"
)

const lockName = "Cargo.lock"

// lock is the content of a Cargo.lock, wherever it lies.
type lock struct {
	broken   *fault
	packages []locked
	byName   map[string][]int
	header   queue.Digest // all but the packages
	exact    bool         // Cargo would write the file so; otherwise its bytes count, too
}

// locked is one package of a lock file.
type locked struct {
	name, version, source, checksum string
	replace                         string
	written                         []string // dependencies as they are written
	deps                            []int
}

// readLock reads a Cargo.lock of any version.
func readLock(src []byte) *lock {
	t, fault := parse(src, maxLock)
	if fault != nil {
		return &lock{broken: fault}
	}
	l := &lock{byName: map[string][]int{}, header: digestOf(without(t, "package"))}
	list, _ := t["package"].([]any)
	if t["package"] != nil && list == nil {
		return &lock{broken: faultAt(src, "package", "package is not a list of tables")}
	}
	for i, v := range list {
		p, ok := v.(table)
		if !ok || textOf(p, "name") == "" || textOf(p, "version") == "" {
			return &lock{broken: faultAt(src, "package", fmt.Sprintf("the package number %d has no name and version", i+1))}
		}
		l.packages = append(l.packages, locked{name: textOf(p, "name"), version: textOf(p, "version"), source: textOf(p, "source"),
			checksum: textOf(p, "checksum"), replace: textOf(p, "replace"), written: listOf(p, "dependencies")})
		l.byName[textOf(p, "name")] = append(l.byName[textOf(p, "name")], i)
	}
	for i := range l.packages {
		p := &l.packages[i]
		for _, w := range slices.Concat(p.written, single(p.replace)) {
			p.deps = append(p.deps, l.find(w)...)
		}
	}
	l.exact = bytes.Equal(bytes.ReplaceAll(src, []byte("\r\n"), []byte("\n")), l.encode(src, t))
	return l
}

func single(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

// find returns the packages that "name", "name version" or "name version
// (source)" may mean.
func (l *lock) find(written string) []int {
	name, rest, _ := strings.Cut(written, " ")
	version, source, _ := strings.Cut(rest, " ")
	source = strings.TrimSuffix(strings.TrimPrefix(source, "("), ")")
	var list []int
	for _, i := range l.byName[name] {
		p := &l.packages[i]
		if (version == "" || p.version == version) && (source == "" || sameSource(p.source, source)) {
			list = append(list, i)
		}
	}
	if version != "" && source == "" && len(list) > 1 { // a package of the tree is written without a source
		list = slices.DeleteFunc(list, func(i int) bool { return l.packages[i].source != "" })
	}
	return list
}

// twice reports whether another package has the same name and version.
func (l *lock) twice(i int) bool {
	p := &l.packages[i]
	return slices.ContainsFunc(l.byName[p.name], func(j int) bool { return j != i && l.packages[j].version == p.version })
}

// sameSource compares sources without the commit that a git source is locked at.
func sameSource(a, b string) bool {
	a, _, _ = strings.Cut(a, "#")
	b, _, _ = strings.Cut(b, "#")
	return a == b
}

// shortest returns a dependency on a package as Cargo writes it: in the
// shortest form that tells it from others.
func (l *lock) shortest(i int) string {
	p := &l.packages[i]
	if len(l.byName[p.name]) == 1 {
		return p.name
	}
	if p.source == "" || !l.twice(i) {
		return p.name + " " + p.version
	}
	source, _, _ := strings.Cut(p.source, "#")
	return p.name + " " + p.version + " (" + source + ")"
}

// encode writes the lock file as Cargo does, under the comments that it has.
// Under --locked Cargo refuses a file that it would write in another way, for
// every package.
func (l *lock) encode(src []byte, t table) []byte {
	var b bytes.Buffer
	for _, line := range strings.SplitAfter(strings.ReplaceAll(string(src), "\r\n", "\n"), "\n") {
		if !strings.HasPrefix(line, "#") {
			break
		}
		b.WriteString(line)
	}
	if v, ok := t["version"].(int64); ok {
		fmt.Fprintf(&b, "version = %d\n", v)
	}
	for i := range l.packages {
		p := &l.packages[i]
		fmt.Fprintf(&b, "\n[[package]]\nname = %q\nversion = %q\n", p.name, p.version)
		field := func(key, value string) {
			if value != "" {
				fmt.Fprintf(&b, "%s = %q\n", key, value)
			}
		}
		field("source", p.source)
		field("checksum", p.checksum)
		if len(p.written) > 0 {
			b.WriteString("dependencies = [\n")
			for _, w := range p.written {
				if to := l.find(w); len(to) == 1 {
					w = l.shortest(to[0])
				} else {
					w = "\n" // Cargo never writes this
				}
				fmt.Fprintf(&b, " %q,\n", w)
			}
			b.WriteString("]\n")
		}
		field("replace", p.replace)
		if i > 0 && !l.before(i-1, i) || !slices.IsSorted(p.written) {
			return nil
		}
	}
	if patch, ok := t["patch"]; ok {
		unused, _ := patch.(table)
		for _, p := range tablesOf(unused, "unused") {
			fmt.Fprintf(&b, "\n[[patch.unused]]\nname = %q\nversion = %q\n", textOf(p, "name"), textOf(p, "version"))
			if s := textOf(p, "source"); s != "" {
				fmt.Fprintf(&b, "source = %q\n", s)
			}
		}
	}
	return b.Bytes()
}

// before reports whether two packages are in Cargo's order.
func (l *lock) before(i, j int) bool {
	a, b := &l.packages[i], &l.packages[j]
	if a.name != b.name {
		return a.name < b.name
	}
	if c := semver.Compare("v"+a.version, "v"+b.version); c != 0 {
		return c < 0
	}
	return a.version != b.version || a.source < b.source
}
