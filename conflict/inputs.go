package conflict

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/submitqueue/submitqueue/queue/config"
)

// rule is one entry of `inputs`: files that targets read, which the analyzer
// cannot see. Its node, named after its place in the configuration, stands for
// the files; the targets depend on it. A rule adds files to hashes and takes
// none out of any: for all other targets, the files stay ignored, unowned or
// another target's.
type rule struct {
	config.Inputs
	node string
	part string // the one of several analyzers with the targets that it names; "": all of them
}

// isInputs reports whether a name is that of a rule's node.
func isInputs(name string) bool {
	return strings.HasPrefix(name, "analysis.inputs[") || strings.HasPrefix(name, "analysis.analyzers[")
}

// rulesOf returns the rules of the settings, those of several analyzers after
// those of all.
func rulesOf(s *config.Analysis) []rule {
	var rules []rule
	for i, in := range s.Inputs {
		rules = append(rules, rule{Inputs: in, node: fmt.Sprintf("analysis.inputs[%d]", i)})
	}
	for k, p := range s.Analyzers {
		for i, in := range p.Inputs {
			rules = append(rules, rule{Inputs: in, node: fmt.Sprintf("analysis.analyzers[%d].inputs[%d]", k, i), part: p.PartName()})
		}
	}
	return rules
}

// names reports whether the rule is for a target. A target that stands for all
// targets of a part has the inputs of each of them, because their names are not
// known.
func (r *rule) names(target string) bool {
	if part, ok := config.WholePart(target); ok && (r.part == "" || r.part == part) {
		return true
	}
	if r.part != "" {
		inner, ok := strings.CutPrefix(target, config.TargetOf(r.part, ""))
		if !ok {
			return false
		}
		target = inner
	}
	return slices.ContainsFunc(r.Targets, func(glob string) bool {
		return glob == target || doublestar.MatchUnvalidated(strings.TrimPrefix(glob, "./"), strings.TrimPrefix(target, "./"))
	})
}

// readingInputs returns a target with the nodes of the rules that are for it
// among its dependencies.
func readingInputs(rules []rule, t Target) Target {
	if t.Internal {
		return t
	}
	for i := range rules {
		if rules[i].names(t.Name) {
			t.Deps = append(slices.Clip(t.Deps), rules[i].node)
		}
	}
	return t
}

// withInputs returns the targets with their inputs declared, and the nodes of
// the rules. It leaves its argument as it is.
func withInputs(rules []rule, list []inputs, targets []Target) []Target {
	if len(rules) == 0 {
		return targets
	}
	out := make([]Target, 0, len(targets)+len(rules))
	for i := range targets {
		out = append(out, readingInputs(rules, targets[i]))
	}
	for i := range rules {
		out = append(out, list[i].target(&rules[i]))
	}
	return out
}

// inputs are the files of one rule, by directory, so that a snapshot shares all
// directories that do not differ with the snapshot that it was made from.
type inputs struct {
	layered[inputsIn]
	behind []Entry // what links among them, and on the way to them, lead to
}

// inputsIn are the files of a rule in one directory; none: it has none there.
type inputsIn struct {
	files  []Entry // by path
	digest sum
}

// inputsOf returns the files of each rule.
func inputsOf(rules []rule, files []Entry) []inputs {
	out := make([]inputs, len(rules))
	var f framer
	for i := range rules {
		dirs := map[string]inputsIn{}
		for _, e := range files {
			if matches(rules[i].Files, e.Path) {
				dir, _ := parent(e.Path)
				in := dirs[dir]
				in.files = append(in.files, e)
				dirs[dir] = in
			}
		}
		for dir, in := range dirs {
			dirs[dir] = f.inputsIn(in.files)
		}
		out[i] = inputs{layered: layer(dirs)}
	}
	return out
}

func (f *framer) inputsIn(files []Entry) inputsIn {
	return inputsIn{files, f.reset("inputs in1").entries(files).done()}
}

// with returns the files of a rule after changes, and false where no changed
// file is one of the rule's.
func (l inputs) with(r *rule, files []FileChange) (inputs, bool) {
	edits := map[string]inputsIn{}
	for _, c := range files {
		if !matches(r.Files, c.Path) {
			continue
		}
		dir, _ := parent(c.Path)
		in, ok := edits[dir]
		if !ok {
			in.files = slices.Clone(l.get(dir).files)
		}
		at, there := slices.BinarySearchFunc(in.files, c.Path, func(e Entry, path string) int { return strings.Compare(e.Path, path) })
		if there {
			in.files = slices.Delete(in.files, at, at+1)
		}
		if c.To.Path != "" {
			in.files = slices.Insert(in.files, at, c.To)
		}
		edits[dir] = in
	}
	if len(edits) == 0 {
		return l, false
	}
	var f framer
	for dir, in := range edits {
		edits[dir] = f.inputsIn(in.files)
	}
	return inputs{l.layered.with(edits), l.behind}, true
}

// size returns roughly how many bytes it does not share with the inputs that it
// was made from.
func (l *inputs) size() int {
	n, own := 0, l.over
	if len(own) == 0 && l.own > 0 {
		own = l.base
	}
	for _, in := range own {
		n += filedBytes + sourceBytes*len(in.files)
	}
	return n
}

// byDirectory returns the directories that have files of the rule.
func (l *inputs) byDirectory() map[string]inputsIn {
	dirs := map[string]inputsIn{}
	l.each(func(dir string, in inputsIn) {
		if len(in.files) > 0 {
			dirs[dir] = in
		}
	})
	return dirs
}

// target is the node of a rule with these files.
func (l *inputs) target(r *rule) Target {
	dirs := l.byDirectory()
	var f framer
	f.reset("inputs1").count(len(dirs))
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		in := dirs[dir]
		f.text(dir).sum(&in.digest)
	}
	if len(l.behind) > 0 {
		f.text("behind").entries(l.behind)
	}
	return Target{Name: r.node, Kind: "declared inputs", Internal: true, Attrs: f.done().digest()}
}

// files returns all files of the rule, by path.
func (l *inputs) files() []Entry {
	list := []Entry{}
	for _, in := range l.byDirectory() {
		list = append(list, in.files...)
	}
	list = append(list, l.behind...)
	return canonical(list)
}

// input applies the changes to the rules' files, and returns the nodes of the
// rules that have other files now.
func (r *refiling) input(rules []rule, files []FileChange) []Target {
	var moved []Target
	for i := range rules {
		next, ok := r.inputs[i].with(&rules[i], files)
		if !ok {
			continue
		}
		if len(moved) == 0 {
			r.inputs = slices.Clone(r.inputs)
		}
		r.inputs[i] = next
		moved = append(moved, next.target(&rules[i]))
	}
	return moved
}

// declared returns the files that the rules' nodes stand for, by node. Files
// that a target has by these nodes are removed from the ignored files.
func (v *analysis) declared() map[string][]Entry {
	nodes := make(map[string][]Entry, len(v.rules))
	for i := range v.rules {
		files := v.inputs[i].files()
		nodes[v.rules[i].node] = files
		if id, ok := v.snapshot.names.find(v.rules[i].node); ok && v.snapshot.recs.at(id).reached {
			v.parts.ignored = slices.DeleteFunc(v.parts.ignored, func(e Entry) bool { return holds(files, e.Path) })
		}
	}
	return nodes
}
