package bazel

import (
	"bytes"
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/conflict"
)

// Toolchains and platforms are found when targets are analyzed: a query does
// not show which rules use them. So the rules that WORKSPACE registers and that
// rc files name are dependencies of all rules that they do not depend on
// themselves. Where toolchains of external repositories are registered, the
// files that define the repositories are dependencies, too, with all repositories
// that are folders of the tree.

// toolchainNode is their node.
const toolchainNode = "cfg:toolchains"

var (
	anyRegistration = regexp.MustCompile(`\b(\w*(?:register|toolchain)\w*)\s*\(([^)]*)\)`)

	registration = regexp.MustCompile(`\bregister_(?:toolchains|execution_platforms)\s*\(([^)]*)\)`)
	innerLabel   = regexp.MustCompile(`(?:@[A-Za-z0-9_.~+-]*)?//[A-Za-z0-9_./+=~-]*(?::[A-Za-z0-9_./+=~*-]+)?`)
)

// toolchains adds the node and the edges to it.
func (b *builder) toolchains(ctx context.Context) error {
	registered := map[string]bool{}
	outer := false
	note := func(text []byte) {
		for _, found := range innerLabel.FindAll(text, -1) {
			b.each(string(found), func(rule string) { registered[rule] = true })
		}
	}
	for _, file := range b.externals.made {
		text, err := b.text(ctx, file)
		if err != nil {
			return err
		}
		for _, m := range registration.FindAllSubmatch(text, -1) {
			note(m[1])
		}
		outer = outer || registersOuter(text)
	}
	for _, e := range b.g.Barrier {
		if !strings.HasSuffix(e.Path, "rc") && !isScript(e.Path) && e.Path != "platform_mappings" {
			continue
		}
		text, err := b.text(ctx, e.Path)
		if err != nil {
			return err
		}
		note(text)
	}
	if len(registered) == 0 && !outer {
		return nil
	}
	var made []conflict.Entry
	for _, file := range b.externals.made {
		if outer {
			made = append(made, b.layout.entries(file)...)
		}
	}
	if outer { // it is not known of which repository the toolchains are
		for _, dir := range slices.Concat(slices.Sorted(maps.Values(b.layout.repos)), slices.Sorted(maps.Values(b.layout.given)), b.externals.within) {
			inside, own, err := b.repoAt(ctx, dir)
			if err != nil {
				return err
			}
			made = slices.Concat(made, inside, own.files)
			for _, rule := range own.deps {
				registered[rule] = true
			}
		}
	}
	b.addToolchains(registered, made)
	return nil
}

// registersOuter reports whether a file that defines repositories registers
// toolchains of them: by a label, or by a macro with such a name, which is the
// only hint. The versions of the toolchains are in the same files.
func registersOuter(text []byte) bool {
	for _, m := range anyRegistration.FindAllSubmatch(text, -1) {
		switch string(m[1]) {
		case "register_toolchains", "register_execution_platforms":
			if !bytes.Contains(m[2], []byte("@")) {
				continue
			}
		}
		return true
	}
	return false
}

// addToolchains adds the node, which depends on the registered rules and has the given files.
func (b *builder) addToolchains(registered map[string]bool, made []conflict.Entry) {
	index := make(map[string]int, len(b.g.Targets))
	for i := range b.g.Targets {
		index[b.g.Targets[i].Name] = i
	}
	node := conflict.Target{Name: toolchainNode, Kind: "bazel toolchains", Internal: true, Sources: made}
	below := map[string]bool{}
	var todo []string
	for name := range registered {
		node.Deps = append(node.Deps, name)
		todo = append(todo, name)
	}
	for len(todo) > 0 {
		name := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if i, ok := index[name]; ok && !below[name] {
			below[name] = true
			todo = append(todo, b.g.Targets[i].Deps...)
		}
	}
	slices.Sort(node.Deps)
	for i := range b.g.Targets {
		if t := &b.g.Targets[i]; !below[t.Name] && strings.HasPrefix(t.Name, "//") {
			t.Deps = append(t.Deps, toolchainNode)
		}
	}
	b.g.Targets = append(b.g.Targets, node)
}

// each calls f with each rule that a label or a pattern of labels names.
func (b *builder) each(pattern string, f func(rule string)) {
	l, ok := parseLabel(pattern, b.workspace)
	if !ok || l.repo != "" {
		return
	}
	dir, deep := strings.CutSuffix(l.dir, "...")
	dir = strings.TrimSuffix(dir, "/")
	for at, r := range b.records {
		if at != dir && !(deep && (dir == "" || strings.HasPrefix(at, dir+"/"))) {
			continue
		}
		for i := range r.rules {
			if name := r.rules[i].name; deep || l.name == "all" || l.name == "*" || l.name == "all-targets" || name == l.String() {
				f(name)
			}
		}
	}
}

// text returns the text at a path, nothing if there is none.
func (s *scanned) text(ctx context.Context, file string) ([]byte, error) {
	e, ok := s.layout.resolve(file)
	if !ok || e.Mode == conflict.ModeSubmodule {
		return nil, nil
	}
	return s.tree.Blob(ctx, e.OID)
}
