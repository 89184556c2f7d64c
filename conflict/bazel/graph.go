package bazel

import (
	"bytes"
	"context"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/queue/digest"
)

// builder makes the graph of a tree's records.
type builder struct {
	*scanned
	a         *Analyzer
	g         *conflict.Graph
	nodes     map[string]string // label → the node that it is, for all but source files
	outside   map[string]bool   // repositories that are used
	platforms map[string]bool   // labels of rules
	defined   map[string]bool   // .bzl files of the tree, and the paths through links by which they are loaded
}

// graph makes the graph.
func (a *Analyzer) graph(ctx context.Context, s *scanned) (*conflict.Graph, error) {
	b := &builder{scanned: s, a: a, g: &conflict.Graph{}, nodes: map[string]string{}, outside: map[string]bool{}, platforms: map[string]bool{}, defined: map[string]bool{}}
	var err error
	if b.g.Barrier, err = a.barrier(ctx, s); err != nil {
		return nil, err
	}
	b.g.Salt = []string{"bazel " + s.version}
	if s.workspace != "" { // it is in the paths of runfiles
		b.g.Salt = append(b.g.Salt, "workspace "+s.workspace)
	}
	for _, r := range s.records {
		for i := range r.rules {
			b.nodes[r.rules[i].name] = r.rules[i].name
			if r.rules[i].class == "platform" {
				b.platforms[r.rules[i].name] = true
			}
		}
		for _, g := range r.groups {
			b.nodes[g.name] = g.name
		}
		for file, rule := range r.generated {
			b.nodes[file] = rule
		}
	}
	for _, e := range s.layout.files {
		if isScript(e.Path) { // a change may remove a file that no package loads, while another begins to load it
			b.defined[e.Path] = true
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(s.records)) {
		b.add(s.layout.packages[dir], s.records[dir])
	}
	for file := range b.defined {
		b.g.Definitions = append(b.g.Definitions, conflict.Definition{Name: conflict.DefinitionPrefix + file, Digest: digest.Of("bzl1", s.layout.state(file))})
	}
	if err := b.addOutside(ctx); err != nil {
		return nil, err
	}
	return b.g, b.toolchains(ctx)
}

// add adds a package.
func (b *builder) add(p *place, r *record) {
	reads := []string{conflict.DefinitionPrefix + p.build}
	states := []string{"package1", b.layout.state(p.build)}
	claims := []conflict.Entry{claim(p.build)}
	var repos []string
	for _, name := range r.loaded {
		states = append(states, name, b.loadState(name))
		l, _ := parseLabel(name, b.workspace)
		if l.repo != "" {
			repos = append(repos, b.external(l.repo))
			continue
		}
		b.defined[l.file()] = true
		reads = append(reads, conflict.DefinitionPrefix+l.file())
		claims = append(claims, claim(l.file()))
		if at := b.layout.packages[l.dir]; at != nil {
			claims = append(claims, claim(at.build))
		}
	}
	if r.globs {
		for _, dir := range slices.Concat(p.dirs, p.inner) {
			reads = append(reads, conflict.ListingOf(dir))
		}
	}
	var settings []string
	for _, name := range r.settings {
		if l, ok := parseLabel(name, b.workspace); ok && b.nodes[b.real(l).String()] != "" {
			settings = append(settings, b.nodes[b.real(l).String()])
		}
	}
	for _, name := range r.platform {
		if l, ok := parseLabel(name, b.workspace); ok && b.platforms[b.real(l).String()] {
			settings = append(settings, b.real(l).String())
		}
	}
	definition := digest.Of(states...)
	b.g.Definitions = append(b.g.Definitions, conflict.Definition{Name: conflict.DefinitionPrefix + p.build, Digest: definition})
	first := true
	for i := range r.rules {
		t := b.rule(p, &r.rules[i])
		t.Reads = append(slices.Clip(reads), borders(r.rules[i].inputs, b.workspace)...) // mostly shared
		t.Deps = append(t.Deps, repos...)
		if !r.rules[i].native {
			t.Attrs = digest.Of(string(t.Attrs), string(definition))
		}
		if !nativeClasses[r.rules[i].class] && !slices.Contains(settings, t.Name) {
			t.Deps = append(t.Deps, settings...)
		}
		if first && !t.Internal {
			t.Sources, first = append(t.Sources, claims...), false
		}
		b.g.Targets = append(b.g.Targets, t)
	}
	for _, g := range r.groups {
		b.g.Targets = append(b.g.Targets, conflict.Target{Name: g.name, Kind: "bazel group", Internal: true, Attrs: g.attrs, Deps: g.deps, Reads: reads})
	}
}

// borders returns the definitions of the packages that could be made between a package and a
// file of it that a label names, such as //a:sub/x: Bazel refuses the label then.
func borders(inputs []string, workspace string) (reads []string) {
	for _, name := range inputs {
		l, _ := parseLabel(name, workspace)
		if l.repo != "" {
			continue
		}
		for dir := folder(l.name); dir != ""; dir = folder(dir) {
			for _, build := range []string{"BUILD", "BUILD.bazel"} {
				reads = append(reads, conflict.DefinitionPrefix+path.Join(l.dir, dir, build))
			}
		}
	}
	slices.Sort(reads)
	return slices.Compact(reads)
}

// claim says that a definition file is already in hashes, by Bazel's answer
// about it: its text must not change them.
func claim(file string) conflict.Entry { return conflict.Entry{Path: file, Mode: "definition"} }

// rule makes the node of a rule.
func (b *builder) rule(p *place, r *rule) conflict.Target {
	t := conflict.Target{Name: r.name, Kind: "bazel " + r.class, Internal: r.manual, Attrs: r.attrs}
	facts := []string{string(r.attrs)}
	for _, name := range r.inputs {
		l, _ := parseLabel(name, b.workspace)
		if node, ok := b.nodes[b.real(l).String()]; ok {
			t.Deps = append(t.Deps, node)
			continue
		}
		if l.repo != "" || l.dir == "external" {
			t.Deps = append(t.Deps, b.external(l.repo))
			continue
		}
		if l.dir != p.dir {
			facts = append(facts, name, b.visible(l))
		}
		found := b.layout.entries(l.file())
		t.Sources = append(t.Sources, found...)
		if len(found) == 0 { // a file or a rule that a later change may add
			t.Sources = append(t.Sources, conflict.Entry{Path: l.file(), Mode: missingMode})
			t.Deps = append(t.Deps, name)
		}
	}
	t.Attrs = digest.Of(facts...)
	return t
}

// visible returns a digest of the visibility of a file of another package.
func (b *builder) visible(l label) string {
	l = b.real(l)
	r := b.records[l.dir]
	if r == nil {
		return "no package"
	}
	return string(r.files[l.String()])
}

// real returns the label without links, in an existing package, for a label
// that goes through a link.
func (b *builder) real(l label) label {
	if l.repo == "" && b.records[l.dir] == nil {
		if dir, ok := b.layout.follow(l.dir); ok && b.records[dir] != nil {
			l.dir = dir
		}
	}
	return l
}

// external returns the node of a repository.
func (b *builder) external(repo string) string {
	if repo == "" {
		repo = "external" // the repository of targets that WORKSPACE binds
	}
	b.outside[repo] = true
	return externalPrefix + repo
}

// externalPrefix begins the names of external repositories' nodes.
const externalPrefix = "ext:"

// addOutside adds the nodes of the repositories that are used.
func (b *builder) addOutside(ctx context.Context) error {
	var made []conflict.Entry
	var reads []string
	for _, file := range b.externals.made {
		made = append(made, b.layout.entries(file)...)
		if b.defined[file] {
			reads = append(reads, conflict.DefinitionPrefix+file)
		}
	}
	texts := slices.Clone(b.externals.made)
	for _, dir := range b.externals.within {
		inside := b.layout.entries(dir)
		made = append(made, inside...)
		texts = append(texts, definitionsOf(inside)...)
	}
	back, err := b.refersBack(ctx, texts)
	if err != nil {
		return err
	}
	for _, repo := range slices.Sorted(maps.Keys(b.outside)) {
		t := conflict.Target{Name: externalPrefix + repo, Kind: "bazel repository", Internal: true,
			Attrs: b.externals.digest(b.layout, repo), Sources: made, Reads: reads, Deps: back.deps, Inputs: back.files}
		dir, ok := b.externals.inTree(repo)
		if !ok {
			dir = b.layout.given[repo]
		}
		if dir != "" {
			inside, own, err := b.repoAt(ctx, dir)
			if err != nil {
				return err
			}
			t.Sources = slices.Concat(made, inside)
			t.Deps, t.Inputs = slices.Concat(back.deps, own.deps), slices.Concat(back.files, own.files)
		}
		b.g.Targets = append(b.g.Targets, t)
	}
	return nil
}

// repoAt returns the files of a repository that is a folder of the tree, and what these use
// of the tree.
func (b *builder) repoAt(ctx context.Context, dir string) ([]conflict.Entry, references, error) {
	inside := b.layout.entries(dir)
	own, err := b.refersBack(ctx, definitionsOf(inside))
	return inside, own, err
}

// definitionsOf returns the files among some that may name targets.
func definitionsOf(files []conflict.Entry) (out []string) {
	for _, e := range files {
		if isBuild(e.Path) || isScript(e.Path) {
			out = append(out, e.Path)
		}
	}
	return out
}

// references are the nodes and files of the tree that its repositories use.
type references struct {
	deps  []string
	files []conflict.Entry
}

// refersBack finds labels of the tree in the texts of repositories. The labels
// of the repositories themselves begin with // alone.
func (b *builder) refersBack(ctx context.Context, files []string) (references, error) {
	var r references
	for _, file := range files {
		src, err := b.a.source(ctx, b.scanned, file)
		if err != nil {
			return r, err
		}
		for _, name := range src.named {
			l, ok := parseLabel(name, b.workspace)
			if !ok || l.repo != "" {
				continue
			}
			if node, ok := b.nodes[b.real(l).String()]; ok {
				r.deps = append(r.deps, node)
			} else {
				r.files = append(r.files, b.layout.entries(l.file())...)
			}
		}
	}
	return r, nil
}

// globals are the files that every target depends on.
var globals = []string{".bazelversion", ".bazelignore", ".bazeliskrc", "REPO.bazel", "tools/bazel", "tools/bazel.rc", "platform_mappings"}

// overriding matches an option that has Bazel take a repository from a folder.
var overriding = regexp.MustCompile(`--(?:override_repository|override_module|inject_repository)[= \t]+["']?[^\s=]+=([^\s"']+)`)

// barrier returns the files that every target depends on: globals, the rc
// files, and the files that these name, as in
// --workspace_status_command=tools/status.sh, the folder of a repository, or aspects, with all
// that their files load.
func (a *Analyzer) barrier(ctx context.Context, s *scanned) ([]conflict.Entry, error) {
	files := map[string]bool{}
	for _, file := range globals {
		files[file] = true
	}
	for _, file := range s.rc {
		files[file] = true
		text, err := s.text(ctx, file)
		if err != nil {
			return nil, err
		}
		for _, word := range bytes.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\r\n='\"", r) }) {
			at := path.Clean(strings.TrimPrefix(string(word), "%workspace%/"))
			if _, ok := s.layout.resolve(at); ok || s.layout.byPath[at].OID != "" {
				files[at] = true
			}
		}
		for _, name := range innerLabel.FindAll(text, -1) {
			if l, ok := parseLabel(string(name), s.workspace); ok && l.repo == "" && isScript(l.file()) {
				if _, _, err := a.closure(ctx, s, files, []string{l.file()}); err != nil {
					return nil, err
				}
			}
		}
		for _, m := range overriding.FindAllSubmatch(text, -1) {
			if at := path.Clean(strings.TrimPrefix(string(m[1]), "%workspace%/")); at != "." {
				files[at] = true
			}
		}
	}
	var out []conflict.Entry
	for _, file := range slices.Sorted(maps.Keys(files)) {
		out = append(out, s.layout.entries(file)...)
	}
	return out, nil
}
