package golang

import (
	"bytes"
	"context"
	"path"
	"regexp"
	"strings"

	"github.com/submitqueue/submitqueue/conflict"
)

// away matches a string that leads out of a file's directory; one of dots alone, as in
// filepath.Join("..", "testdata"), with the strings behind it.
var away = regexp.MustCompile("\\A[\"`](?:\\.\\.(?:/\\.\\.)*/?[\"`](?:\\s*,\\s*\"[^\"\\s\\\\]+\"){1,8}|\\.\\./[^\"`\\s\\\\]+[\"`])")

// awayPaths returns the paths in the strings of a Go file that lead out of its
// directory, up to a wildcard or a verb of fmt. Strings in comments count, too: more
// inputs are safe.
func awayPaths(src []byte) []string {
	var list []string
	for i := 1; ; i += 2 {
		next := bytes.Index(src[min(i, len(src)):], []byte(".."))
		if next < 0 {
			return list
		}
		i += next
		m := away.Find(src[i-1:])
		if m == nil {
			continue
		}
		at := path.Join(strings.FieldsFunc(string(m), func(r rune) bool { return strings.ContainsRune("\"`, \t\r\n", r) })...)
		if i := strings.IndexAny(at, "%*?["); i >= 0 {
			at = path.Clean(at[:strings.LastIndexByte(at[:i], '/')+1])
		}
		list = append(list, at)
	}
}

// readAway adds to the tests of a package the files and folders that their strings name
// beyond its directory: tests run in the directory of their package. The library of a
// package there is built or run by them, so they depend on it, too. A folder above the
// package is one in which other paths begin.
func (b *builder) readAway(ctx context.Context, p *pkg, paths []string) error {
	for _, to := range paths {
		at := path.Join(p.dir, to)
		if at == ".." || strings.HasPrefix(at, "../") || at == "." || p.dir == at || strings.HasPrefix(p.dir, at+"/") {
			continue
		}
		look := func(path string) { p.watches = append(p.watches, path) }
		look(at)
		p.test.reads = append(p.test.reads, conflict.ListingOf(dirOf(at)), conflict.ListingOf(at))
		if link, ok := b.now.layout.across(at); ok {
			p.test.inputs = append(p.test.inputs, link)
		}
		goal, ok, err := b.now.layout.goal(at, b.linkReader(ctx), look)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		add := func(e conflict.Entry) error {
			behind, err := b.linked(ctx, p, e)
			p.test.inputs = append(append(p.test.inputs, e), behind...)
			return err
		}
		if e, ok := b.now.layout.entry(goal); ok {
			if err := add(e); err != nil {
				return err
			}
		}
		for e := range b.now.layout.under(goal) {
			if err := add(e); err != nil {
				return err
			}
		}
		if goal != p.dir && !hidden(goal) && b.isPackage(goal) {
			p.test.goals = append(p.test.goals, goals{dirs: []string{goal}})
			p.goals = append(p.goals, goal)
		}
	}
	return nil
}
