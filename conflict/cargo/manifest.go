package cargo

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/submitqueue/submitqueue/queue"
)

// manifest is the content of a Cargo.toml, wherever it lies.
type manifest struct {
	broken *fault // it cannot be read; nothing else is set then

	isPackage bool
	name      string
	pointer   string // package.workspace
	links     string // the native library that no other package of a workspace may link
	inherits  []string
	deps      []dependency
	lib, test []string     // paths of sources of the library and programs, and of tests, benches and examples
	build     string       // path of the build script; empty if it is not written
	built     queue.Digest // of the parts that dependents build
	tested    queue.Digest // of the parts that only its own tests are built of

	workspace *shared // [workspace]
	patches   []dependency
	rest      queue.Digest // of a workspace root: of the parts for all members
}

// shared is the [workspace] table.
type shared struct {
	members, exclude []string
	defaults         []string // default-members
	deps             map[string]dependency
	odd              map[string]bool         // the parts that are dependencies with fields nobody has looked at here
	parts            map[string]queue.Digest // the parts that members can inherit: "package version", "dep serde", "lints"
}

// dependency is one entry of a table of dependencies.
type dependency struct {
	key     string // as it is written
	name    string // of the package
	path    string // from the directory of the manifest that holds it; empty if there is none
	inherit bool   // workspace = true
	dev     bool
}

// readManifest reads a Cargo.toml. It keeps everything that may lead to an
// edge, for all platforms and features at once.
func readManifest(src []byte) *manifest {
	t, fault := parse(src, maxManifest)
	if fault != nil {
		return &manifest{broken: fault}
	}
	m := &manifest{}
	pkg := tableOf(t, "package")
	if pkg == nil {
		pkg = tableOf(t, "project") // its name until 2015
	}
	if pkg != nil {
		m.isPackage, m.name, m.pointer = true, textOf(pkg, "name"), textOf(pkg, "workspace")
		m.links = textOf(pkg, "links")
		if !validName(m.name) {
			return &manifest{broken: faultAt(src, "name", "package.name is missing or not a package's name")}
		}
		m.build = textOf(pkg, "build")
		m.inherits = inherited(t, pkg)
	}
	for _, key := range []string{"package", "project", "workspace", "dependencies", "features", "lib"} {
		if _, ok := t[key].(table); t[key] != nil && !ok {
			return &manifest{broken: faultAt(src, key, key+" is not a table")}
		}
	}
	if d := misshapen(t); d != "" {
		return &manifest{broken: faultAt(src, d, "the dependency "+d+" is not one that Cargo reads: a name with a version or a table")}
	}
	for _, key := range []string{"members", "exclude", "default-members"} {
		if v, ok := tableOf(t, "workspace")[key]; ok && !isList(v) {
			return &manifest{broken: faultAt(src, key, key+" is not a list of strings")}
		}
	}
	m.readDeps(t)
	m.readTargets(t)
	if ws := tableOf(t, "workspace"); ws != nil {
		m.workspace = readShared(ws)
	}
	m.patches = patches(t)
	m.digest(t)
	return m
}

func faultAt(src []byte, key, text string) *fault { return &fault{lineOf(src, key), text} }

// validName reports whether Cargo takes the name for a package's.
func validName(name string) bool {
	for i, r := range name {
		if r != '_' && r != '-' && !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r)) {
			return false
		}
	}
	return name != "" && name[0] != '-'
}

// plainFields are the fields of a dependency with a type that misshapen looks at.
var plainFields = []string{"version", "path", "git", "branch", "tag", "rev", "package", "registry", "features", "default-features", "default_features", "optional"}

// misshapen returns the first dependency of [workspace] that Cargo cannot read.
// Cargo refuses it even if no member takes it.
func misshapen(t table) string {
	deps := tableOf(tableOf(t, "workspace"), "dependencies")
	for _, key := range slices.Sorted(maps.Keys(deps)) {
		if !validName(key) {
			return key
		}
		switch v := deps[key].(type) {
		case string:
		case table:
			for _, k := range []string{"version", "path", "git", "branch", "tag", "rev", "package", "registry"} {
				if _, ok := v[k].(string); v[k] != nil && !ok {
					return key
				}
			}
			if v["features"] != nil && !isList(v["features"]) {
				return key
			}
			for _, k := range []string{"default-features", "default_features"} {
				if _, ok := v[k].(bool); v[k] != nil && !ok {
					return key
				}
			}
			if no, ok := v["optional"].(bool); v["optional"] != nil && (!ok || no) { // only the package that takes it may say so
				return key
			}
		default:
			return key
		}
	}
	return ""
}

// inherited returns the parts of [workspace] that a package takes, beside
// dependencies.
func inherited(t, pkg table) []string {
	var list []string
	for _, k := range slices.Sorted(maps.Keys(pkg)) {
		if tableOf(pkg, k)["workspace"] == true {
			list = append(list, "package "+k)
		}
	}
	if tableOf(t, "lints")["workspace"] == true {
		list = append(list, "lints")
	}
	return list
}

// Tables of dependencies, with their old spellings.
var (
	normalTables = []string{"dependencies", "build-dependencies", "build_dependencies"}
	devTables    = []string{"dev-dependencies", "dev_dependencies"}
)

func (m *manifest) readDeps(t table) {
	m.addDeps(t)
	for _, platform := range slices.Sorted(maps.Keys(tableOf(t, "target"))) {
		m.addDeps(tableOf(tableOf(t, "target"), platform))
	}
}

func (m *manifest) addDeps(t table) {
	for i, k := range slices.Concat(normalTables, devTables) {
		for _, key := range slices.Sorted(maps.Keys(tableOf(t, k))) {
			d := readDep(key, tableOf(t, k)[key])
			d.dev = i >= len(normalTables)
			m.deps = append(m.deps, d)
		}
	}
}

func readDep(key string, v any) dependency {
	d := dependency{key: key, name: key}
	if t, ok := v.(table); ok {
		d.path, d.inherit = textOf(t, "path"), t["workspace"] == true
		if name := textOf(t, "package"); name != "" {
			d.name = name
		}
	}
	return d
}

// readTargets notes the paths of sources that are not found by convention.
func (m *manifest) readTargets(t table) {
	add := func(list *[]string, t table) {
		if p := textOf(t, "path"); p != "" {
			*list = append(*list, p)
		}
	}
	add(&m.lib, tableOf(t, "lib"))
	for _, b := range tablesOf(t, "bin") {
		add(&m.lib, b)
	}
	for _, kind := range []string{"test", "bench", "example"} {
		for _, b := range tablesOf(t, kind) {
			add(&m.test, b)
		}
	}
	if m.build != "" {
		m.lib = append(m.lib, m.build)
	}
}

func readShared(ws table) *shared {
	s := &shared{members: listOf(ws, "members"), exclude: listOf(ws, "exclude"), defaults: listOf(ws, "default-members"), deps: map[string]dependency{}, odd: map[string]bool{}, parts: map[string]queue.Digest{}}
	for key, v := range tableOf(ws, "dependencies") {
		s.deps[key] = readDep(key, v)
		s.parts["dep "+key] = digestOf(v)
		t, _ := v.(table)
		s.odd["dep "+key] = len(without(t, plainFields...)) > 0
	}
	for key, v := range tableOf(ws, "package") {
		s.parts["package "+key] = digestOf(v)
	}
	if lints := tableOf(ws, "lints"); lints != nil {
		s.parts["lints"] = digestOf(lints)
	}
	return s
}

// patches returns the packages that [patch] and [replace] put in the place of others.
func patches(t table) []dependency {
	var list []dependency
	add := func(entries table) {
		for _, key := range slices.Sorted(maps.Keys(entries)) {
			d := readDep(key, entries[key])
			d.name = d.name[strings.LastIndexAny(d.name, "/#")+1:] // replace may have an address,
			if i := strings.IndexAny(d.name, ":@"); i >= 0 {       // and a version
				d.name = d.name[:i]
			}
			list = append(list, d)
		}
	}
	for _, source := range slices.Sorted(maps.Keys(tableOf(t, "patch"))) {
		add(tableOf(tableOf(t, "patch"), source))
	}
	add(tableOf(t, "replace"))
	return list
}
