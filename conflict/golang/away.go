package golang

import (
	"bytes"
	"context"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/conflict"
)

// Strings of a test that may be paths, with the strings behind them: one of dots alone and
// what is put behind it, as in f("..", "testdata"), and the arguments of a function Join.
var (
	upward = regexp.MustCompile("\\A[\"`](?:\\.\\.(?:/\\.\\.)*/?[\"`](?:\\s*,\\s*\"[^\"\\s\\\\]+\"){0,8}|\\.\\./[^\"`\\s\\\\]+[\"`])")
	joined = regexp.MustCompile(`Join\((?:[^"()\n]|\([^"()\n]*\))*("[^"\s\\]+"(?:\s*,\s*"[^"\s\\]+"){1,8})`)
)

// maxAway is the longest string that is taken for a path, and mostAway how many a file may
// have: one with more is taken for one that names the whole tree.
const (
	maxAway  = 200
	mostAway = 4096
)

// awayPaths returns the paths in the strings of a Go file that may lead out of its directory,
// up or down, up to a wildcard or a verb of fmt; those of dots alone are folders in which
// others may begin. Names without a folder are among them only where there is such a folder.
// Strings in comments count, too: more inputs are safe.
func awayPaths(src []byte) []string {
	var list, names []string
	add := func(at string) {
		if at = fixed(at); at == "." || at == "..." || len(at) > maxAway {
			return
		}
		if !strings.Contains(at, "/") && !up(at) {
			at += "/" // no mere name
		}
		list = append(list, at)
	}
	for i := 1; ; i += 2 {
		next := bytes.Index(src[min(i, len(src)):], []byte(".."))
		if next < 0 {
			break
		}
		if i += next; upward.Match(src[i-1:]) {
			add(together(upward.Find(src[i-1:])))
		}
	}
	for _, m := range joined.FindAllSubmatch(src, -1) {
		add(together(m[1]))
	}
	for i, c := range src {
		if c != '"' && c != '`' {
			continue
		}
		switch word := wordAt(src[i:]); {
		case word == "go.mod" || word == "go.sum": // of the package's own directory, too, though others own it
			list = append(list, word)
		case strings.HasPrefix(word, "/"):
			names = append(names, fixed(word[1:]))
		case strings.Contains(word, "**"): // no pattern of Go's
		case strings.Contains(word, "/"):
			add(word)
		case strings.Trim(word, ".") != "" && strings.Contains(word, "."):
			names = append(names, word)
		}
	}
	if slices.ContainsFunc(list, up) {
		list = append(list, names...)
	}
	slices.Sort(list)
	return slices.Clip(slices.Compact(list))
}

// fixed returns the part of a path before a wildcard or a verb of fmt, clean.
func fixed(at string) string {
	if i := strings.IndexAny(at, "%*?["); i >= 0 {
		at = at[:strings.LastIndexByte(at[:i], '/')+1]
	}
	return path.Clean(at)
}

// together joins the strings in a piece of code.
func together(code []byte) string {
	return path.Join(strings.FieldsFunc(string(code), func(r rune) bool { return strings.ContainsRune("\"`, \t\r\n", r) })...)
}

// wordAt returns the text between the quote that src begins with and the next one, if it may
// be a path that begins with a name or with this folder.
func wordAt(src []byte) string {
	for j := 1; j < len(src) && j <= maxAway; j++ {
		switch c := src[j]; {
		case c == src[0]:
			if bytes.HasPrefix(src[1:], []byte("..")) {
				return "" // it is found by its dots
			}
			return string(src[1:j])
		case c <= ' ' || strings.IndexByte("\"`\\:;,=<>()!&|$#^'", c) >= 0:
			return ""
		}
	}
	return ""
}

// up reports whether a clean path is one of dots alone.
func up(at string) bool { return strings.Trim(at, "./") == "" && at != "." && at != "..." }

// readAway adds to a half of a package the files and folders that its strings name beyond its
// directory: tests run in the directory of their package, and helpers of tests find files from
// their own. The library of a
// package there is built or run by them, so they depend on it, too, as they depend on a
// package that a string names by its import path. A folder above the package is one in which
// other paths begin.
func (b *builder) readAway(ctx context.Context, p *pkg, h *half, paths []string) error {
	bases := []string{p.dir}
	for _, to := range paths {
		if base, ok := inTree(p.dir, to); ok && up(to) && !slices.Contains(bases, base) {
			bases = append(bases, base)
		}
	}
	for _, to := range paths {
		from := bases
		switch {
		case up(to):
			continue
		case strings.HasPrefix(to, "../"):
			from = bases[:1]
		}
		for _, base := range from {
			n := named{p, h, base, to}
			if b.away[n] {
				continue
			}
			b.away[n] = true
			if err := b.readAt(ctx, n); err != nil {
				return err
			}
		}
	}
	return nil
}

// deep splits a pattern of packages, such as ../x/..., into its folder.
func deep(at string) (string, bool) { return strings.CutSuffix(at, "/...") }

// readNamed adds the packages that an import path means, if it is of a module of the tree.
func (b *builder) readNamed(p *pkg, to string) {
	to, all := deep(to)
	if strings.HasPrefix(to, "../") {
		return
	}
	for _, at := range p.in.resolve(strings.TrimSuffix(to, "/")).dirs {
		switch {
		case !all && at != p.dir:
			p.test.goals = append(p.test.goals, goals{dirs: []string{at}})
			p.goals = append(p.goals, at)
		case all && !above(at, p.dir):
			p.watches = append(p.watches, at)
			b.dependOn(p, at, all)
		}
	}
}

// above reports whether a directory is one or above it.
func above(at, dir string) bool { return at == "" || at == dir || strings.HasPrefix(dir, at+"/") }

// dependOn makes the tests of a package depend on the library in a directory, or on all
// libraries below it.
func (b *builder) dependOn(p *pkg, at string, all bool) {
	if all {
		for _, sub := range b.now.layout.subs(at) {
			if !hidden(sub) {
				b.dependOn(p, sub, true)
			}
		}
	}
	if b.isPackage(at) {
		p.test.goals = append(p.test.goals, goals{dirs: []string{at}})
		p.goals = append(p.goals, at)
	}
}

// named is a path that a half of a package names, and the directory in which it begins.
type named struct {
	*pkg
	half     *half
	base, to string
}

// readAt adds what a path means that begins in a directory of the tree.
func (b *builder) readAt(ctx context.Context, n named) error {
	p, h, base := n.pkg, n.half, n.base
	if base == p.dir && h == &p.test {
		b.readNamed(p, n.to)
	}
	if base == p.dir && !strings.Contains(n.to, "/") {
		if e, ok := b.now.layout.entry(below(base, n.to)); ok && (n.to == "go.mod" || n.to == "go.sum") {
			h.inputs = append(h.inputs, e)
		}
		return nil
	}
	to, all := deep(n.to)
	at, ok := inTree(base, strings.TrimSuffix(to, "/"))
	if !ok || above(at, p.dir) || h == &p.test && b.holdsAlready(p, at) {
		return nil
	}
	look := func(path string) { p.watches = append(p.watches, path) }
	if strings.HasPrefix(to, "../") {
		look(at)
	} else {
		first, _, _ := strings.Cut(to, "/")
		look(below(base, first))
		if !b.now.layout.there(below(base, first)) {
			return nil
		}
	}
	h.reads = append(h.reads, conflict.ListingOf(dirOf(at)), conflict.ListingOf(at))
	if link, ok := b.now.layout.across(at); ok {
		h.inputs = append(h.inputs, link)
	}
	goal, ok, err := b.now.layout.goal(at, b.linkReader(ctx), look)
	if err != nil || !ok {
		return err
	}
	inner := !strings.HasPrefix(to, "../") && b.isPackage(goal) // it has packages of its own below
	if err := b.addBelow(ctx, n, goal, inner); err != nil {
		return err
	}
	if h == &p.test && goal != p.dir && !hidden(goal) {
		b.dependOn(p, goal, all)
	}
	return nil
}

// addBelow adds the file at a path or all files below it, without those of packages below it if
// there are inner ones.
func (b *builder) addBelow(ctx context.Context, n named, goal string, inner bool) error {
	h, goals := n.half, b.goals[n.half]
	mark := goal
	if inner {
		mark += "/" // no path of a goal
	}
	if goals[goal] || goals[mark] {
		return nil
	}
	goals[mark] = true
	add := func(e conflict.Entry) error {
		behind, err := b.linked(ctx, n.pkg, e, goals)
		h.inputs = append(append(h.inputs, e), behind...)
		return err
	}
	if e, ok := b.now.layout.entry(goal); ok {
		if err := add(e); err != nil {
			return err
		}
	}
	others, last := false, goal
	for e := range b.now.layout.under(goal) {
		if dir := dirOf(e.Path); inner && dir != last {
			others, last = b.within(dir, goal), dir
		}
		if others {
			continue
		}
		if err := add(e); err != nil {
			return err
		}
	}
	return nil
}

// within reports whether a directory is in a package that is below another directory.
func (b *builder) within(dir, other string) bool {
	for ; dir != other && dir != ""; dir = dirOf(dir) {
		if !hidden(dir) && b.isPackage(dir) {
			return true
		}
	}
	return false
}

// holdsAlready reports whether a path is one of a package's own files or test data.
func (b *builder) holdsAlready(p *pkg, at string) bool {
	rest, ok := strings.CutPrefix(at, p.dir+"/")
	if p.dir == "" {
		rest, ok = at, true
	}
	if !ok {
		return false
	}
	first, _, deeper := strings.Cut(rest, "/")
	_, file := b.now.layout.entry(at)
	return deeper && p.holds(first) || !deeper && (file || p.holds(first))
}
