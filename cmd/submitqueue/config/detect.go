package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/doctor"
)

// found is one build system in a repository.
type found struct {
	analyzer string
	under    string // folder; "": the whole repository
	run      string // shell command of its step; lines end in a newline where there are several
	report   string // "": by exit code
	note     string // what a person should know of it
}

// tree is a repository's files as detect sees them.
type tree struct {
	files []string // sorted
	read  func(name string) string
}

func (t tree) has(name string) bool {
	_, ok := slices.BinarySearch(t.files, name)
	return ok
}

// foreign are folders whose manifests are not the repository's own.
var foreign = regexp.MustCompile(`(^|/)(node_modules|testdata|vendor|third_party|fixtures|__fixtures__|\.[^/]*)/`)

// roots returns the folders of a manifest that are within no other such one,
// and whether there are more within.
func (t tree) roots(manifests ...string) (list []string, nested bool) {
	var all []string
	for _, f := range t.files {
		if slices.Contains(manifests, path.Base(f)) && !foreign.MatchString(f) {
			dir, _ := path.Split(f)
			all = append(all, strings.TrimSuffix(dir, "/"))
		}
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(len(a)-len(b), strings.Compare(a, b)) })
	for _, dir := range slices.Compact(all) {
		if slices.ContainsFunc(list, func(up string) bool { return within(dir, up) }) {
			nested = true
			continue
		}
		list = append(list, dir)
	}
	slices.Sort(list)
	return list, nested
}

// within says whether a folder is another one, or in it; "" is the repository.
func within(dir, up string) bool {
	return up == "" || dir == up || strings.HasPrefix(dir, up+"/")
}

// maxRoots bounds how many folders of one build system are told apart.
const maxRoots = 10

// detect finds the build systems of a repository. What is within a workspace of
// Bazel or GN is built by it.
func (t tree) detect() (list []found) {
	outer := slices.Concat(
		t.workspaces(found{analyzer: "bazel", run: "bazel test {targets} || [ $? = 4 ]     # 4: there was no test among them"}, "MODULE.bazel", "WORKSPACE.bazel", "WORKSPACE"),
		t.workspaces(found{analyzer: "gn", run: `gn gen out && ninja -C out $(printf '%s\n' {targets} | sed 's,^//,,')`}, ".gn"))
	slices.SortStableFunc(outer, func(a, b found) int { return len(a.under) - len(b.under) })
	for _, f := range slices.Concat(outer, t.golang(), t.cargo(), t.node()) {
		inside := func(w found) bool { return (w.analyzer == "bazel" || w.analyzer == "gn") && within(f.under, w.under) }
		if !slices.ContainsFunc(list, inside) {
			list = append(list, f)
		}
	}
	return list
}

// workspaces are the outermost folders with one of these files.
func (t tree) workspaces(f found, files ...string) (list []found) {
	dirs, _ := t.roots(files...)
	for _, f.under = range dirs[:min(len(dirs), maxRoots)] {
		list = append(list, f)
	}
	return list
}

func (t tree) golang() (list []found) {
	dirs, nested := t.roots("go.mod", "go.work")
	for _, dir := range dirs[:min(len(dirs), maxRoots)] {
		f := found{analyzer: "go", under: dir, run: "go vet {targets} && go test -json {targets}", report: "go-test-json"}
		if nested && !t.has(path.Join(dir, "go.work")) {
			// Without a workspace, a go command sees the module that it is in, and no other.
			f.run = "failed=0\n" +
				"for t in {targets}; do\n" +
				"  case $t in\n" +
				"    ./...) for m in $(git ls-files 'go.mod' '*/go.mod'); do (cd \"$(dirname \"$m\")\" && go vet ./... && go test ./...) || failed=1; done ;;\n" +
				"    *) (cd \"$t\" && go vet . && go test .) || failed=1 ;;\n" +
				"  esac\n" +
				"done\n" +
				"exit $failed\n"
			f.report, f.note = "", "several Go modules without a go.work: each directory is tested by itself"
		}
		list = append(list, f)
	}
	return list
}

func (t tree) cargo() (list []found) {
	dirs, _ := t.roots("Cargo.toml")
	for _, dir := range dirs[:min(len(dirs), maxRoots)] {
		locked := ""
		if t.has(path.Join(dir, "Cargo.lock")) {
			locked = " --locked"
		}
		list = append(list, found{analyzer: "cargo", under: dir, run: "for t in {targets}; do\n" +
			"  case $t in\n" +
			"    ./...) cargo test" + locked + " --workspace ;;\n" +
			"    ./*) cargo test" + locked + " --manifest-path \"$t/Cargo.toml\" ;;\n" +
			"    *) cargo test" + locked + " -p \"$t\" ;;\n" +
			"  esac || exit 1\n" +
			"done\n"})
	}
	return list
}

// packageJSON is what matters here of a package.json.
type packageJSON struct {
	Scripts    map[string]string `json:"scripts"`
	Workspaces any               `json:"workspaces"`
	Manager    string            `json:"packageManager"`
}

func (t tree) manifest(dir string) (p packageJSON) {
	_ = json.Unmarshal([]byte(t.read(path.Join(dir, "package.json"))), &p) // what cannot be read has no scripts
	return p
}

func (t tree) node() (list []found) {
	dirs, _ := t.roots("package.json")
	for _, dir := range dirs {
		if f, ok := t.nodeAt(dir); ok && len(list) < maxRoots {
			list = append(list, f)
		}
	}
	return list
}

func (t tree) nodeAt(dir string) (found, bool) {
	in := func(name string) bool { return t.has(path.Join(dir, name)) }
	p := t.manifest(dir)
	var install, whole, one string
	switch {
	case in("pnpm-lock.yaml") || in("pnpm-workspace.yaml"):
		install, whole, one = "pnpm install --frozen-lockfile", "pnpm -r --if-present run SCRIPT", `pnpm --filter "$t" --if-present run SCRIPT`
	case in("yarn.lock"):
		install = "yarn install --frozen-lockfile"
		if in(".yarnrc.yml") || strings.HasPrefix(p.Manager, "yarn@") && !strings.HasPrefix(p.Manager, "yarn@1.") {
			install = "yarn install --immutable"
		}
		whole, one = "yarn workspaces run SCRIPT", `yarn workspace "$t" run SCRIPT`
		if strings.HasSuffix(install, "--immutable") {
			whole = "yarn workspaces foreach -A run SCRIPT"
		}
	default:
		install = "npm install"
		if in("package-lock.json") || in("npm-shrinkwrap.json") {
			install = "npm ci"
		}
		whole, one = "npm run SCRIPT --workspaces --if-present", `npm run SCRIPT -w "$t" --if-present`
	}
	manager, _, _ := strings.Cut(install, " ")
	if p.Workspaces == nil && !in("pnpm-workspace.yaml") {
		script := scriptOf(p)
		if script == "" {
			return found{}, false // nothing here is verified
		}
		return found{analyzer: "node", under: dir, run: "echo {targets} && " + install + " && " + manager + " run " + script}, true
	}
	script := "test"
	switch {
	case in("turbo.json"):
		whole, one = "npx turbo run SCRIPT", `npx turbo run SCRIPT "--filter=$t"`
	case in("nx.json"):
		whole, one = "npx nx run-many -t SCRIPT", `npx nx run-many -t SCRIPT -p "$t"`
	}
	f := found{analyzer: "node", under: dir, run: strings.ReplaceAll(install+" || exit 1\n"+
		"for t in {targets}; do\n"+
		"  case $t in\n"+
		"    ./...) "+whole+" ;;\n"+
		"    *) "+one+" ;;\n"+
		"  esac || exit 1\n"+
		"done\n", "SCRIPT", script)}
	if manager == "yarn" && !in("turbo.json") && !in("nx.json") {
		f.note = "yarn wants a script \"test\" in each package"
	}
	return f, true
}

// scriptOf is the script that verifies a package, or "".
func scriptOf(p packageJSON) string {
	for _, name := range []string{"test", "check", "lint", "build"} {
		if s, ok := p.Scripts[name]; ok && !strings.Contains(s, "no test specified") {
			return name
		}
	}
	return ""
}

// checks lists the names of the checks that the workflows report, where they
// can be told.
func (t tree) checks() (list []string) {
	for _, f := range t.files {
		if ok, _ := path.Match(".github/workflows/*.y*ml", f); !ok {
			continue
		}
		w := doctor.ReadWorkflow(f, []byte(t.read(f)))
		if w.Err != nil || !w.Pulls && !w.Starts {
			continue
		}
		list = append(list, w.Checks...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// whole is a command that verifies everything, where no analyzer knows the
// build system; "" where none is found.
func (t tree) whole() string {
	target := regexp.MustCompile(`(?m)^(test|check)\s*:([^=]|$)`)
	for _, name := range []string{"Makefile", "makefile", "GNUmakefile"} {
		if m := target.FindStringSubmatch(t.read(name)); t.has(name) && m != nil {
			return "make " + m[1]
		}
	}
	for _, known := range []struct{ file, run string }{
		{"gradlew", "./gradlew check"}, {"mvnw", "./mvnw -B verify"}, {"pom.xml", "mvn -B verify"},
		{"build.gradle", "gradle check"}, {"build.gradle.kts", "gradle check"}, {"tox.ini", "tox"}, {"noxfile.py", "nox"},
		{"pytest.ini", "python -m pytest"}, {"pyproject.toml", "python -m pytest"}, {"mix.exs", "mix deps.get && mix test"},
		{"Package.swift", "swift test"}, {"CMakeLists.txt", "cmake -S . -B build && cmake --build build && ctest --test-dir build"},
		{"Rakefile", "bundle exec rake"}, {"composer.json", "composer install && composer test"},
	} {
		if t.has(known.file) {
			return known.run
		}
	}
	return ""
}

// names gives each of several build systems a name of its own.
func names(list []found) []string {
	taken := map[string]bool{"tree": true, "unowned": true, "def": true, "list": true} // the queue's own
	bad := regexp.MustCompile(`[^a-z0-9_-]+`)
	out := make([]string, len(list))
	for i, f := range list {
		base := f.analyzer
		if f.under != "" {
			base = strings.Trim(bad.ReplaceAllString(strings.ToLower(path.Base(f.under)), "-"), "-")
		}
		if base == "" || base[0] < 'a' || base[0] > 'z' {
			base = f.analyzer
		}
		base = base[:min(len(base), 24)]
		for n := 1; ; n++ {
			name := base
			if n > 1 {
				name = fmt.Sprintf("%s-%d", base, n)
			}
			if !taken[name] {
				taken[name], out[i] = true, name
				break
			}
		}
	}
	return out
}
