package gn

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/queue/digest"
)

// missingMode marks a file that a target names and the tree does not have.
const missingMode = "missing"

// described has the fields of a target's description that the graph needs by
// name; the whole description is in the hash.
type described struct {
	Type      string
	Toolchain string
	Deps      []string
	DataDeps  []string `json:"data_deps"`
	Public    []string `json:"public_deps"`
	Gen       []string `json:"gen_deps"`
}

// graph makes the graph of the targets that GN describes.
func (s *scanned) graph(description, runtime []byte) (*conflict.Graph, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(description, &all); err != nil {
		return nil, err
	}
	var data map[string]struct {
		Files []string `json:"runtime_deps"`
	}
	if err := json.Unmarshal(runtime, &data); err != nil {
		return nil, err
	}
	g := &conflict.Graph{}
	global := append(s.closure(s.buildconfig), ".gn")
	for _, file := range global {
		g.Barrier = append(g.Barrier, s.entry(file))
	}
	defined := map[string]bool{}
	verifiable := false
	var toolchains []string // of each target
	for _, label := range slices.Sorted(maps.Keys(all)) {
		if err := checkLabel(label); err != nil {
			return nil, err
		}
		t, toolchain, err := s.target(label, all[label], data[label].Files)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", label, err)
		}
		for _, read := range t.Reads {
			defined[strings.TrimPrefix(read, conflict.DefinitionPrefix)] = true
		}
		toolchains = append(toolchains, toolchain)
		verifiable = verifiable || !t.Internal
		g.Targets = append(g.Targets, t)
	}
	if !verifiable {
		return nil, fmt.Errorf("there is no target in the default toolchain")
	}
	s.built(g, toolchains)
	for file := range defined {
		e := s.entry(file)
		g.Definitions = append(g.Definitions, conflict.Definition{Name: conflict.DefinitionPrefix + file, Digest: digest.Of("file1", e.Mode, e.OID)})
	}
	return g, nil
}

// target makes the node of a description, and returns its toolchain.
func (s *scanned) target(label string, raw json.RawMessage, data []string) (conflict.Target, string, error) {
	var d described
	// `public` is a list of files or "*"; its files are found below.
	var fields map[string]any
	if err := json.Unmarshal(raw, &fields); err != nil {
		return conflict.Target{}, "", err
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		return conflict.Target{}, "", err
	}
	canonical, err := json.Marshal(fields) // sorted names
	if err != nil {
		return conflict.Target{}, "", err
	}
	t := conflict.Target{Name: label, Kind: "gn " + d.Type, Internal: strings.Contains(label, "("), Attrs: digest.Of("gn1", string(canonical)),
		Deps: slices.Concat(d.Deps, d.DataDeps, d.Public, d.Gen)}
	s.dirs[label] = searched(fields)
	from := []string{buildFile(label), buildFile(d.Toolchain)}
	owned := map[string]bool{"sources": true, "inputs": true, "script": true, "public": true}
	for name, value := range fields {
		each(value, func(v string) {
			if strings.HasSuffix(name, "configs") {
				from = append(from, buildFile(v))
				return
			}
			found := s.named(v, owned[name])
			if owned[name] || name == "args" {
				t.Sources = append(t.Sources, found...)
			} else {
				t.Inputs = append(t.Inputs, found...)
			}
		})
	}
	for _, v := range data {
		t.Sources = append(t.Sources, s.named(v, true)...)
	}
	for _, file := range s.closure(from...) {
		t.Sources = append(t.Sources, s.entry(file))
		t.Reads = append(t.Reads, conflict.DefinitionPrefix+file)
	}
	behind, err := s.Behind(slices.Concat(t.Sources, t.Inputs), s.link)
	t.Inputs = append(t.Inputs, behind...)
	return t, d.Toolchain, err
}

// built puts what a toolchain depends on below its targets. These are targets of other
// toolchains, such as a compiler of the tree, which are built before any target of the
// toolchain; GN describes no toolchain, so nothing tells which they are. A toolchain with
// no word deps in its definition has none; one with it may depend on each target of
// another toolchain that does not itself depend on a target of this one.
func (s *scanned) built(g *conflict.Graph, toolchains []string) {
	members, up := map[string][]int{}, map[string][]int{}
	for i := range g.Targets {
		members[toolchains[i]] = append(members[toolchains[i]], i)
		for _, d := range g.Targets[i].Deps {
			up[d] = append(up[d], i)
		}
	}
	if len(members) == 1 {
		return
	}
	var nodes []conflict.Target
	for _, toolchain := range slices.Sorted(maps.Keys(members)) {
		if !slices.ContainsFunc(s.closure(buildFile(toolchain), s.buildconfig), func(file string) bool { return s.deps[file] }) {
			continue
		}
		above := make([]bool, len(g.Targets))
		for todo := slices.Clone(members[toolchain]); len(todo) > 0; {
			i := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			if !above[i] {
				above[i] = true
				todo = append(todo, up[g.Targets[i].Name]...)
			}
		}
		n := conflict.Target{Name: "toolchain:" + toolchain, Kind: "what a toolchain may depend on", Internal: true}
		for i := range g.Targets {
			if !above[i] {
				n.Deps = append(n.Deps, g.Targets[i].Name)
			}
		}
		for _, i := range members[toolchain] {
			g.Targets[i].Deps = append(g.Targets[i].Deps, n.Name)
		}
		nodes = append(nodes, n)
	}
	g.Targets = append(g.Targets, nodes...)
}

// checkLabel refuses labels that could not stand in lists and messages.
func checkLabel(label string) error {
	if len(label) > 500 || !strings.HasPrefix(label, "//") || strings.ContainsFunc(label, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return fmt.Errorf("the label %.200q is too long or not made of plain characters", label)
	}
	return nil
}

// each calls f with each text of a JSON value.
func each(value any, f func(string)) {
	switch v := value.(type) {
	case string:
		f(v)
	case []any:
		for _, x := range v {
			each(x, f)
		}
	case map[string]any:
		for _, x := range v {
			each(x, f)
		}
	}
}

// buildFile returns the path of the BUILD.gn of a label.
func buildFile(label string) string {
	label, _, _ = strings.Cut(label, "(")
	dir, _, _ := strings.Cut(label, ":")
	return path.Join(strings.TrimPrefix(dir, "//"), "BUILD.gn")
}

// placed returns the path in the tree that a text of a description stands for, "" if it stands
// for none.
func placed(v string) string {
	for _, prefix := range []string{"//", "../", "/tree/"} {
		if rest, ok := strings.CutPrefix(v, prefix); ok {
			return rest
		}
	}
	return ""
}

// named returns the files that a text of a description stands for: //x from the
// root, ../x from the build directory, /tree/x; all files below a folder, if it
// ends with a slash. If it must be a file, a file that the tree does not have
// is marked as missing.
func (s *scanned) named(v string, must bool) []conflict.Entry {
	file := placed(v)
	if file == "" || strings.HasPrefix(file, "/") || strings.HasPrefix(file, buildDir+"/") {
		return nil
	}
	if dir, ok := strings.CutSuffix(file, "/"); ok {
		if !must {
			return nil // e.g. include_dirs: the files that are read there are in sources
		}
		if _, through := s.Across(dir); through {
			return []conflict.Entry{s.entry(dir)}
		}
		return s.Under(dir)
	}
	file = path.Clean(file)
	if e, ok := s.ByPath[file]; ok {
		return []conflict.Entry{e}
	}
	if _, through := s.Across(file); !must && !through {
		return nil
	}
	if below := s.Under(file); len(below) > 0 {
		return below
	}
	return []conflict.Entry{{Path: file, Mode: missingMode}}
}

func (s *scanned) entry(file string) conflict.Entry {
	if e, ok := s.ByPath[file]; ok {
		return e
	}
	return conflict.Entry{Path: file, Mode: missingMode}
}
