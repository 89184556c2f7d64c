package conflicttest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/queue/config"
)

// Places says where the files are that no target of Words claims. A place is a
// file, or a directory with a slash at its end.
type Places struct {
	Barrier []string
	Ignore  []string
	Unowned config.Unowned
	Lean    bool                // as in Words
	Reads   map[string][]string // places that a target reads, whichever target claims them
}

// Analyzer returns the analyzer of the targets that Contents writes out.
func (p Places) Analyzer() Words { return Words{Lean: p.Lean} }

// Settings returns the places as settings of an analysis.
func (p Places) Settings() config.Analysis {
	globs := func(places []string) []string {
		var out []string
		for _, s := range places {
			if strings.HasSuffix(s, "/") {
				s += "**"
			}
			out = append(out, s)
		}
		return out
	}
	s := config.Analysis{Barrier: globs(p.Barrier), Ignore: globs(p.Ignore), Unowned: p.Unowned}
	if p.Lean {
		s.Ignore = append(s.Ignore, "**/BUILD", "rules/*", "flags")
	}
	for _, target := range slices.Sorted(maps.Keys(p.Reads)) {
		s.Inputs = append(s.Inputs, config.Inputs{Targets: []string{target}, Files: globs(p.Reads[target])})
	}
	return s
}

func in(places []string, file string) bool {
	return slices.ContainsFunc(places, func(s string) bool { return file == s || strings.HasSuffix(s, "/") && strings.HasPrefix(file, s) })
}

// Content is all that the result of a target can depend on.
type Content struct {
	Text    string   // all of it, written out; equal texts have equal results
	Files   []string // that it sees the words of, sorted
	Missing []string // dependencies that do not exist, sorted
	Cyclic  bool     // something below it depends on itself
	Depth   int      // how many targets are below it
}

// Contents returns each target of a tree that can be verified, with all of its
// content. It goes down all dependencies of the target: it uses no hash, and
// nothing of package conflict.
func (p Places) Contents(files map[string]string) map[string]Content {
	parts := map[string]making{}
	for _, dir := range packages(files) {
		parts[dir] = made(files, dir)
	}
	out := map[string]Content{}
	for name, m := range parts {
		if !m.internal {
			out[name] = p.written(files, parts, name)
		}
	}
	everywhere := slices.DeleteFunc(slices.Sorted(maps.Keys(files)), func(f string) bool { return !in(p.Barrier, f) })
	unowned := p.Nobodys(files)
	if p.Unowned != config.UnownedTarget {
		everywhere = append(everywhere, unowned...)
	} else if len(unowned) > 0 {
		out[config.TargetUnowned] = Content{Text: show(files, unowned), Files: unowned}
	}
	all := show(files, everywhere)
	for name, c := range out {
		c.Text += all
		c.Files = slices.Sorted(maps.Keys(set(append(c.Files, everywhere...))))
		out[name] = c
	}
	return out
}

// Nobodys returns the files that no target is made of and that are in no place,
// sorted.
func (p Places) Nobodys(files map[string]string) []string {
	parts := map[string]making{}
	for _, dir := range packages(files) {
		parts[dir] = made(files, dir)
	}
	claimed, claiming := map[string]bool{}, p
	claiming.Reads = nil
	for name, m := range parts {
		if !m.internal {
			maps.Copy(claimed, set(claiming.written(files, parts, name).Files))
		}
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(files)), func(f string) bool {
		return claimed[f] || in(p.Barrier, f) || in(p.Ignore, f) || p.Lean && defines(f)
	})
}

// written goes down from a target.
func (p Places) written(files map[string]string, parts map[string]making, name string) Content {
	below := map[string]bool{}
	for todo := []string{name}; len(todo) > 0; {
		n := todo[0]
		todo = todo[1:]
		if !below[n] {
			below[n] = true
			todo = append(todo, parts[n].deps...)
		}
	}
	var c Content
	var text strings.Builder
	seen := map[string]bool{}
	for n := range below {
		if m, ok := parts[n]; !ok || m.internal {
			continue
		}
		for f := range files {
			seen[f] = seen[f] || in(p.Reads[n], f)
		}
	}
	maps.DeleteFunc(seen, func(_ string, read bool) bool { return !read })
	fmt.Fprintf(&text, "reads\n%s", show(files, slices.Sorted(maps.Keys(seen))))
	for _, n := range slices.Sorted(maps.Keys(below)) {
		m, ok := parts[n]
		if !ok {
			c.Missing = append(c.Missing, n)
		}
		fmt.Fprintf(&text, "[%s %t %q needs %q]\n%s", n, ok, m.attrs, m.deps, show(files, m.owned(p.Lean)))
		for _, f := range m.owned(p.Lean) {
			seen[f] = true
		}
		c.Cyclic = c.Cyclic || reaches(parts, n, n)
	}
	c.Text, c.Files, c.Depth = text.String(), slices.Sorted(maps.Keys(seen)), len(below)-1
	return c
}

// reaches reports whether there is a way of one dependency or more.
func reaches(parts map[string]making, from, to string) bool {
	seen := map[string]bool{}
	for todo := slices.Clone(parts[from].deps); len(todo) > 0; {
		n := todo[0]
		todo = todo[1:]
		if n == to {
			return true
		}
		if !seen[n] {
			seen[n] = true
			todo = append(todo, parts[n].deps...)
		}
	}
	return false
}

func show(files map[string]string, list []string) string {
	var out strings.Builder
	for _, f := range list {
		fmt.Fprintf(&out, "%s: %q\n", f, files[f])
	}
	return out.String()
}

func set(list []string) map[string]bool {
	out := map[string]bool{}
	for _, s := range list {
		out[s] = true
	}
	return out
}
