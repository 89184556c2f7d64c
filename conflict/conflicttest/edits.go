package conflicttest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Edit is the effect of a change on a tree of Words: for each file the words
// that it adds, and with a minus those that it takes out. A file without words
// is gone.
type Edit map[string]string

// On returns the tree with the edit.
func (e Edit) On(files map[string]string) map[string]string {
	out := maps.Clone(files)
	for f, words := range e {
		have := set(strings.Fields(out[f]))
		for _, w := range strings.Fields(words) {
			if gone, minus := strings.CutPrefix(w, "-"); minus {
				delete(have, gone)
			} else {
				have[w] = true
			}
		}
		if out[f] = strings.Join(slices.Sorted(maps.Keys(have)), " "); out[f] == "" {
			delete(out, f)
		}
	}
	return out
}

// Drawer draws trees and edits of Words. Pick returns a number below its
// argument; Word, if set, a word of code.
type Drawer struct {
	Pick func(n int) int
	Word func() string
	next int
}

var names = []string{"a", "b", "c", "d", "e", "f", "a/n", "low"}

func (d *Drawer) one(list []string) string { return list[d.Pick(len(list))] }

func (d *Drawer) word() string {
	if d.Word != nil && d.Pick(2) == 0 {
		return d.Word()
	}
	d.next++
	return fmt.Sprint("w", d.next)
}

// Tree draws a tree in which targets depend on nothing that is missing, nor on
// themselves.
func (d *Drawer) Tree() map[string]string {
	files := map[string]string{"rules/r": "macro", "rules/s": "macro dep:low", "flags": "on", "flag/BUILD": "src:flag/code src:flags src:rules/r src:rules/s", "flag/code": "base",
		"low/BUILD": "src:low/code", "low/code": "base", "docs/readme": "words", "u/shared": "data", "barrier": "go1"}
	if d.Pick(2) == 0 {
		files["low/BUILD"] += " internal"
	}
	there := []string{"low"}
	for _, n := range names[:6] {
		if d.Pick(5) == 0 {
			continue
		}
		build := "src:" + n + "/code src:x/" + n
		for range d.Pick(3) {
			build += " dep:" + d.one(there)
		}
		for _, extra := range []string{"glob", "use:r", "use:s", "when:on:dep:low", "when:off:dep:low"} {
			if d.Pick(4) == 0 {
				build += " " + extra
			}
		}
		files[n+"/code"], files["x/"+n] = "base", "text"
		files = Edit{n + "/BUILD": build}.On(files)
		there = append(there, n)
	}
	return files
}

// The kinds of edit that Edit draws.
const (
	EditCode    = "code"        // the code of a target
	EditAddDep  = "add-dep"     // a new edge
	EditDropDep = "drop-dep"    // an edge less
	EditReverse = "reverse"     // an edge the other way round
	EditAdd     = "add"         // a new target, in a new place or below another
	EditDelete  = "delete"      // a target less
	EditGlob    = "glob"        // a new file where a glob may look
	EditMacro   = "macro"       // rules that targets share
	EditUse     = "use"         // a target starts or stops to use such rules
	EditFlag    = "flag"        // the condition of others
	EditWhen    = "conditional" // an edge with a condition
	EditText    = "text"        // a file that does not merge
	EditUnowned = "unowned"     // a file that no target claims
	EditBarrier = "barrier"     // a file in every hash
	EditIgnored = "ignored"     // a file that counts for nothing
	EditComment = "comment"     // a definition that means the same
	EditAttr    = "attribute"   // of a target
	EditMove    = "move"        // a file from one target to another
)

// EditKinds lists them all.
var EditKinds = []string{EditCode, EditAddDep, EditDropDep, EditReverse, EditAdd, EditDelete, EditGlob, EditMacro, EditUse, EditFlag, EditWhen,
	EditText, EditUnowned, EditBarrier, EditIgnored, EditComment, EditAttr, EditMove}

// Edit draws an edit of a tree and says of which kinds it is.
func (d *Drawer) Edit(files map[string]string) (Edit, []string) {
	e, kinds := Edit{}, []string(nil)
	for range 1 + d.Pick(4)/3 {
		kind := EditKinds[d.Pick(len(EditKinds))]
		if d.Pick(3) == 0 {
			kind = EditCode
		}
		more := d.edit(kind, files)
		for f, words := range more {
			e[f] = strings.TrimSpace(e[f] + " " + words)
		}
		if len(more) > 0 {
			kinds = append(kinds, kind)
		}
	}
	return e, kinds
}

func (d *Drawer) edit(kind string, files map[string]string) Edit {
	t := d.one(append(packages(files), "a"))
	build := t + "/BUILD"
	var deps []string // that are written down in it
	for _, w := range strings.Fields(files[build]) {
		if n, ok := strings.CutPrefix(w, "dep:"); ok {
			deps = append(deps, n)
		}
	}
	switch kind {
	case EditCode:
		return Edit{t + "/code": d.word()}
	case EditAddDep:
		return Edit{build: "dep:" + d.one(names)}
	case EditDropDep, EditReverse:
		if len(deps) == 0 {
			return nil
		}
		to := d.one(deps)
		if kind == EditDropDep {
			return Edit{build: "-dep:" + to}
		}
		return Edit{build: "-dep:" + to, to + "/BUILD": "dep:" + t}
	case EditAdd:
		n := d.one(names)
		e := Edit{n + "/BUILD": "src:" + n + "/code", n + "/code": "base"}
		if d.Pick(2) == 0 {
			e[n+"/BUILD"] += " dep:" + d.one(names)
		}
		if n == "a/n" && d.Pick(2) == 0 {
			e[n+"/BUILD"] += " glob"
		}
		return e
	case EditDelete:
		e := Edit{}
		for f, text := range files {
			if strings.HasPrefix(f, t+"/") || f == "x/"+t {
				e[f] = "-" + strings.Join(strings.Fields(text), " -")
			}
		}
		return e
	case EditGlob:
		return Edit{t + []string{"/", "/n/"}[d.Pick(2)] + fmt.Sprintf("g%d.txt", d.Pick(3)): d.word()}
	case EditMacro:
		return Edit{"rules/" + d.one([]string{"r", "s"}): d.one([]string{d.word(), "dep:" + d.one(names), "-macro", "#" + d.word(), "-dep:low"})}
	case EditUse:
		return Edit{build: d.one([]string{"", "-"}) + "use:" + d.one([]string{"r", "s"})}
	case EditFlag:
		return Edit{"flags": d.one([]string{"-on", "off", "on", "other"})}
	case EditWhen:
		return Edit{build: "when:" + d.one([]string{"on", "off"}) + ":dep:" + d.one(names)}
	case EditText:
		return Edit{"x/" + t: "-text " + d.word()}
	case EditUnowned:
		return Edit{"u/" + d.one([]string{"shared", "other"}): d.word()}
	case EditBarrier:
		return Edit{"barrier": d.word()}
	case EditIgnored:
		return Edit{"docs/readme": d.word()}
	case EditComment:
		return Edit{build: "#" + d.word()}
	case EditAttr:
		return Edit{build: d.word()}
	case EditMove:
		return Edit{build: "-src:x/" + t, d.one(names) + "/BUILD": "src:x/" + t}
	}
	panic("conflicttest: no edit of kind " + kind)
}

// Merge is git's merge, as far as words go: each word is a line of its own. Two
// different edits of one file of x/ do not merge.
func Merge(base, ours, theirs map[string]string) (merged map[string]string, ok bool) {
	merged = map[string]string{}
	files := set(slices.Concat(slices.Collect(maps.Keys(base)), slices.Collect(maps.Keys(ours)), slices.Collect(maps.Keys(theirs))))
	for f := range files {
		b, o, t := base[f], ours[f], theirs[f]
		text := o
		switch {
		case o == t || b == t:
		case b == o:
			text = t
		case strings.HasPrefix(f, "x/"):
			return nil, false
		default:
			was, now, out := set(strings.Fields(b)), set(strings.Fields(t)), set(strings.Fields(o))
			for w := range was {
				if !now[w] {
					delete(out, w)
				}
			}
			for w := range now {
				if !was[w] {
					out[w] = true
				}
			}
			text = strings.Join(slices.Sorted(maps.Keys(out)), " ")
		}
		if text != "" {
			merged[f] = text
		}
	}
	return merged, true
}
