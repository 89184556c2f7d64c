package node

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// manifest has the fields of one package.json that the graph needs.
type manifest struct {
	object     object
	name       string
	version    string
	deps       []field  // name and range (or other specifier), of all kinds, sorted
	scripts    []string // names, sorted
	words      []string // of all scripts, sorted
	programs   []string // that it installs
	workspaces []string
	hasSpaces  bool // it is the root of a workspace, even of an empty one
}

// depKinds are the fields that name the dependencies of a package.
var depKinds = []string{"dependencies", "devDependencies", "optionalDependencies", "peerDependencies"}

// parseManifest reads a package.json. An error names file and line.
func parseManifest(file string, data []byte) (*manifest, error) {
	o, err := parseObject(file, data)
	if err != nil {
		return nil, err
	}
	m := &manifest{object: o}
	wrong := func(key, want string) error {
		at := max(bytes.Index(data, []byte(`"`+key+`"`)), 0)
		return fmt.Errorf("%s:%d: %s is no %s", file, 1+bytes.Count(data[:at], []byte("\n")), key, want)
	}
	for _, key := range []string{"name", "version"} {
		if raw, ok := o[key]; ok && string(raw) != "null" && json.Unmarshal(raw, new(string)) != nil {
			return nil, wrong(key, "string")
		}
	}
	m.name, m.version = o.text("name"), o.text("version")
	for _, kind := range depKinds {
		raw, ok := o[kind]
		if !ok || string(raw) == "null" {
			continue
		}
		var deps map[string]json.RawMessage
		if json.Unmarshal(raw, &deps) != nil {
			return nil, wrong(kind, "object")
		}
		for name, spec := range deps {
			f := field{key: name}
			if json.Unmarshal(spec, &f.value) != nil {
				return nil, wrong(name, "string")
			}
			m.deps = append(m.deps, f)
		}
	}
	slices.SortFunc(m.deps, func(a, b field) int {
		return strings.Compare(a.key+"\x00"+a.value, b.key+"\x00"+b.value)
	})
	m.deps = slices.Compact(m.deps)
	scripts := o.object("scripts")
	m.scripts = scripts.keys()
	for _, name := range m.scripts {
		m.words = append(m.words, strings.FieldsFunc(scripts.text(name), func(r rune) bool { return strings.ContainsRune(" \t\n;&|()'\"`", r) })...)
	}
	slices.Sort(m.words)
	m.words = slices.Compact(m.words)
	if m.programs = o.object("bin").keys(); o.text("bin") != "" {
		m.programs = []string{m.name[strings.LastIndexByte(m.name, '/')+1:]}
	}
	if raw, ok := o["workspaces"]; ok && string(raw) != "null" {
		m.hasSpaces = true
		switch raw[0] {
		case '[':
			m.workspaces = o.texts("workspaces")
		case '{':
			m.workspaces = o.object("workspaces").texts("packages")
		default:
			return nil, wrong("workspaces", "list or object")
		}
	}
	return m, nil
}

// asked is the package and the versions that a dependency asks for.
type asked struct {
	name string // of the package, "" if path leads to it
	path string // relative to the package that asks, or to the root of the workspace
	want string // the range of versions, "" for any
}

// ask reads the specifier behind a dependency's name.
func ask(name, spec string) asked {
	protocol, rest, ok := strings.Cut(spec, ":")
	if !ok {
		if strings.HasPrefix(spec, "./") || strings.HasPrefix(spec, "../") || spec == "." || spec == ".." {
			return asked{path: spec}
		}
		return asked{name: name, want: spec}
	}
	switch protocol {
	case "file", "link", "portal":
		return asked{path: strings.TrimPrefix(rest, "//")}
	case "workspace":
		if strings.HasPrefix(rest, ".") || strings.Contains(rest, "/") && !strings.HasPrefix(rest, "@") {
			return asked{path: rest}
		}
		other, _ := alias(rest)
		if other == "" {
			other = name
		}
		return asked{name: other}
	case "npm":
		other, want := alias(rest)
		if other == "" {
			return asked{name: name, want: rest}
		}
		return asked{name: other, want: want}
	}
	return asked{name: name}
}

// alias splits "other@range". Without an at sign it is either a name or a
// range: a name if it cannot be a range.
func alias(s string) (name, want string) {
	if i := strings.LastIndexByte(s, '@'); i > 0 {
		return s[:i], s[i+1:]
	}
	if strings.HasPrefix(s, "@") {
		return s, ""
	}
	if _, err := semver.NewConstraint(s); err == nil || s == "" || s == "^" || s == "~" {
		return "", s
	}
	return s, ""
}

// links reports whether a package manager takes a package of the workspace for
// a dependency. In doubt it does.
func links(want, version string) bool {
	if want == "" || want == "*" || version == "" {
		return true
	}
	c, err := semver.NewConstraint(want)
	if err != nil {
		return true
	}
	v, err := semver.StrictNewVersion(version)
	if err != nil || v.Prerelease() != "" {
		return true
	}
	return c.Check(v)
}
