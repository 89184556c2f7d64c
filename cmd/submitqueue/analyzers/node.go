package analyzers

import (
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/goccy/go-yaml"
)

// packageJSON is the part of a package.json that init reads.
type packageJSON struct {
	Name       string            `json:"name"`
	Scripts    map[string]string `json:"scripts"`
	Workspaces any               `json:"workspaces"`
	Manager    string            `json:"packageManager"`

	dir string
}

func (t Tree) manifest(dir string) (p packageJSON) {
	_ = json.Unmarshal([]byte(t.Read(path.Join(dir, "package.json"))), &p) // a manifest that cannot be read has no scripts
	return p
}

func (t Tree) node() (list []Found) {
	dirs, _ := t.roots("package.json")
	for _, dir := range dirs {
		if f, ok := t.nodeAt(dir); ok && len(list) < maxRoots {
			list = append(list, f)
		}
	}
	return list
}

// nodeAt returns the step of one root. No line of it may exit with 0 without having run
// a script: package managers silently skip a package that lacks the script.
func (t Tree) nodeAt(dir string) (Found, bool) {
	in := func(name string) bool { return t.Has(path.Join(dir, name)) }
	p := t.manifest(dir)
	install, whole, one := nodeCommands(in, p)
	manager, _, _ := strings.Cut(install, " ")
	root := Found{Under: dir, Run: "echo {targets} && " + install + " && " + manager + " run " + scriptOf(p)}
	if p.Workspaces == nil && !in("pnpm-workspace.yaml") {
		return root, scriptOf(p) != "" // without a script nothing here is verified
	}
	script, lacking, all := t.scriptOfAll(dir, p)
	switch {
	case len(lacking) > 0 && scriptOf(p) != "":
		root.Note = fmt.Sprintf("%d of %d packages have no script %q, so every change runs the root's", len(lacking), all, script)
		if len(lacking) == all {
			root.Note = "no package has a script of its own that verifies it, so every change runs the root's"
		}
		return root, true
	case len(lacking) == all:
		return Found{}, false
	}
	if len(lacking) == 0 {
		if f, ok := t.reporting(dir, p, script, install, in); ok {
			return f, true
		}
	}
	if len(lacking) > 0 && strings.HasPrefix(whole, "yarn workspaces run") {
		whole = "npm run SCRIPT --workspaces --if-present" // yarn 1 fails at the first package without the script
	}
	var b strings.Builder
	b.WriteString(install + " || exit 1\nfor t in {targets}; do\n  case $t in\n    ./...) " + whole + " ;;\n")
	if len(lacking) > 0 {
		b.WriteString("    '" + strings.Join(lacking, "'|'") + "') " + whole + " ;;\n")
	}
	b.WriteString("    *) " + one + " ;;\n  esac || exit 1\ndone\n")
	f := Found{Under: dir, Run: strings.ReplaceAll(b.String(), "SCRIPT", script)}
	if len(lacking) > 0 {
		f.Note = fmt.Sprintf("%d of %d packages have no script %q: a change to one of them runs it in all that have", len(lacking), all, script)
	}
	return f, true
}

// plainTool is a script that is one run of Jest or Vitest.
var plainTool = regexp.MustCompile(`^(jest|vitest run)( [a-zA-Z0-9@._/=-]+)*$`)

// testFile matches files that Jest and Vitest take for tests.
var testFile = regexp.MustCompile(`(\.(test|spec)\.[cm]?[jt]sx?$|/__tests__/)`)

// reportFile is the name of a package's report.
const reportFile = "test-report.json"

// reporting returns a step that has each package of a workspace write a report. It needs a
// workspace of npm or pnpm where all packages have the same script, one run of Jest or
// Vitest.
func (t Tree) reporting(dir string, root packageJSON, script, install string, in func(string) bool) (Found, bool) {
	members := t.members(dir, root)
	if in("turbo.json") || in("nx.json") || len(members) == 0 {
		return Found{}, false
	}
	run := members[0].Scripts[script]
	for _, m := range members {
		if m.Scripts[script] != run {
			return Found{}, false
		}
	}
	if !plainTool.MatchString(run) || strings.Contains(run, "--bail") || strings.Contains(run, "--reporter") || strings.Contains(run, "--json") {
		return Found{}, false
	}
	if strings.HasPrefix(run, "jest") {
		run += " --passWithNoTests --json --outputFile=" + reportFile
	} else {
		for _, m := range members { // for no tests, Vitest writes no report
			if !slices.ContainsFunc(t.Files, func(f string) bool { return within(path.Dir(f), m.dir) && testFile.MatchString(f) }) {
				return Found{}, false
			}
		}
		run += " --reporter=default --reporter=json --outputFile.json=" + reportFile
	}
	var all, one string
	switch manager, _, _ := strings.Cut(install, " "); manager {
	case "npm":
		all, one = "npm exec --workspaces -- ", `npm exec -w "$t" -- `
	case "pnpm":
		all, one = "pnpm -r exec ", `pnpm --filter "$t" exec `
	default:
		return Found{}, false
	}
	f := Found{Under: dir, Report: "jest-json", Run: install + " || exit 1\nfailed=0\nfor t in {targets}; do\n  case $t in\n    ./...) " + all + run + " ;;\n    *) " + one + run + " ;;\n  esac || failed=1\ndone\nexit $failed\n"}
	for _, m := range members {
		rel := strings.TrimPrefix(strings.TrimPrefix(m.dir, dir), "/")
		f.Files = append(f.Files, path.Join(path.Dir(rel), "*", reportFile))
	}
	slices.Sort(f.Files)
	f.Files = slices.Compact(f.Files)
	return f, len(f.Files) <= 20
}

// nodeCommands returns how dependencies are installed, and how a script is run in all
// packages and in one.
func nodeCommands(in func(string) bool, p packageJSON) (install, whole, one string) {
	switch {
	case in("pnpm-lock.yaml") || in("pnpm-workspace.yaml"):
		install, whole, one = "pnpm install --frozen-lockfile", "pnpm -r run SCRIPT", `pnpm --filter "$t" run SCRIPT`
	case in("yarn.lock"):
		install, whole, one = "yarn install --frozen-lockfile", "yarn workspaces run SCRIPT", `yarn workspace "$t" run SCRIPT`
		if in(".yarnrc.yml") || strings.HasPrefix(p.Manager, "yarn@") && !strings.HasPrefix(p.Manager, "yarn@1.") {
			install, whole = "yarn install --immutable", "yarn workspaces foreach -A run SCRIPT"
		}
	default:
		install = "npm install"
		if in("package-lock.json") || in("npm-shrinkwrap.json") {
			install = "npm ci"
		}
		whole, one = "npm run SCRIPT --workspaces --if-present", `npm run SCRIPT -w "$t"`
	}
	switch {
	case in("turbo.json"):
		whole, one = "npx turbo run SCRIPT", `npx turbo run SCRIPT "--filter=$t"`
	case in("nx.json"):
		whole, one = "npx nx run-many -t SCRIPT", `npx nx run-many -t SCRIPT -p "$t"`
	}
	return install, whole, one
}

// verifying are the scripts that verify a package, the best first.
var verifying = []string{"test", "check", "lint", "build"}

// scriptOf is the script that verifies a package, or "".
func scriptOf(p packageJSON) string {
	for _, name := range verifying {
		if p.has(name) {
			return name
		}
	}
	return ""
}

func (p packageJSON) has(script string) bool {
	s, ok := p.Scripts[script]
	return ok && !strings.Contains(s, "no test specified")
}

// scriptOfAll returns the script that verifies most packages of a workspace, the sorted
// names of the packages that do not have it, and how many packages there are.
func (t Tree) scriptOfAll(dir string, root packageJSON) (script string, lacking []string, all int) {
	members := t.members(dir, root)
	most := -1
	for _, name := range verifying {
		n := 0
		for _, m := range members {
			if m.has(name) {
				n++
			}
		}
		if n > most {
			script, most = name, n
		}
	}
	for _, m := range members {
		if !m.has(script) {
			lacking = append(lacking, m.Name)
		}
	}
	slices.Sort(lacking)
	return script, lacking, len(members)
}

// members returns the packages of a workspace beside its root, as far as its globs say.
func (t Tree) members(dir string, root packageJSON) (list []packageJSON) {
	globs := stringsOf(root.Workspaces)
	if m, ok := root.Workspaces.(map[string]any); ok {
		globs = stringsOf(m["packages"])
	}
	var of struct {
		Packages []string `yaml:"packages"`
	}
	if yaml.Unmarshal([]byte(t.Read(path.Join(dir, "pnpm-workspace.yaml"))), &of) == nil {
		globs = append(globs, of.Packages...)
	}
	for _, f := range t.Files {
		at, base := path.Split(f)
		at = strings.TrimSuffix(at, "/")
		if base != "package.json" || at == dir || !within(at, dir) || foreign.MatchString(f) {
			continue
		}
		rel := strings.TrimPrefix(strings.TrimPrefix(at, dir), "/")
		is := func(glob string) bool {
			ok, err := doublestar.Match(strings.TrimSuffix(strings.TrimPrefix(glob, "./"), "/"), rel)
			return ok && err == nil
		}
		in := false
		for _, glob := range globs {
			if not, ok := strings.CutPrefix(glob, "!"); ok {
				in = in && !is(not)
			} else {
				in = in || is(glob)
			}
		}
		if m := t.manifest(at); in && m.Name != "" && !strings.ContainsAny(m.Name, "'\n") {
			m.dir = at
			list = append(list, m)
		}
	}
	return list
}

func stringsOf(v any) (list []string) {
	of, _ := v.([]any)
	for _, x := range of {
		if s, ok := x.(string); ok {
			list = append(list, s)
		}
	}
	return list
}
