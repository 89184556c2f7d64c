package node_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/conflicttest"
	"github.com/submitqueue/submitqueue/conflict/node"
	"github.com/submitqueue/submitqueue/queue/storetest"
)

// monorepo is a workspace that npm, Turborepo and Nx all understand.
var monorepo = map[string]string{
	"package.json":                    `{"name": "mono", "version": "1.0.0", "private": true, "packageManager": "npm@10.0.0", "workspaces": ["packages/*", "apps/*", "!apps/gone"]}`,
	"package-lock.json":               `{"name": "mono", "version": "1.0.0", "lockfileVersion": 3, "requires": true, "packages": {}}`,
	"turbo.json":                      `{"tasks": {"build": {"dependsOn": ["^build"]}, "api#build": {"dependsOn": ["^build", "gen#build"]}}} // pkg#task`,
	"nx.json":                         `{"pluginsConfig": {"@nx/js": {"analyzeSourceFiles": true, "analyzePackageJson": true}}, "targetDefaults": {"build": {"dependsOn": ["^build"]}}}`,
	"tsconfig.base.json":              `{"compilerOptions": {"baseUrl": ".", "paths": {"@mono/money": ["packages/money/src/index.ts"]}}}`,
	"packages/ui/package.json":        `{"name": "@mono/ui", "version": "1.0.0", "scripts": {"build": "true"}, "peerDependencies": {"@mono/tokens": "*"}}`,
	"packages/tokens/package.json":    `{"name": "@mono/tokens", "version": "1.0.0", "scripts": {"build": "true"}}`,
	"packages/gen/package.json":       `{"name": "gen", "version": "1.0.0", "scripts": {"build": "true"}}`,
	"packages/config/package.json":    `{"name": "@mono/config", "version": "1.0.0", "scripts": {"build": "true"}}`,
	"packages/money/project.json":     `{"name": "cash", "targets": {"build": {"command": "true"}}}`,
	"packages/money/src/index.ts":     "export const x = 1\n",
	"packages/implied/package.json":   `{"name": "implied", "version": "1.0.0", "scripts": {"build": "true"}}`,
	"apps/web/package.json":           `{"name": "web", "version": "1.0.0", "scripts": {"build": "true"}, "dependencies": {"@mono/ui": "^1.0.0"}, "devDependencies": {"@mono/config": "*"}}`,
	"apps/web/src/app.ts":             "import {x} from '@mono/money'\nexport default import('gen/late')\n",
	"apps/web/src/lazy.ts":            "export const load = () => require(\"@mono/tokens\")\n",
	"apps/web/tsconfig.json":          `{"extends": "../../tsconfig.base.json"}`,
	"apps/api/package.json":           `{"name": "api", "version": "1.0.0", "scripts": {"build": "true"}, "optionalDependencies": {"@mono/tokens": "file:../../packages/tokens"}}`,
	"apps/tool/project.json":          `{"name": "tool", "implicitDependencies": ["implied", "web"], "targets": {"build": {"command": "true", "dependsOn": [{"projects": ["api"], "target": "build"}]}}}`,
	"apps/tool/package.json":          `{"name": "@mono/tool", "version": "1.0.0", "scripts": {"build": "true"}}`,
	"apps/gone/package.json":          `{"name": "gone", "version": "1.0.0"}`,
	"packages/ui/node_modules/README": "",
}

// checkout writes a tree where a tool can read it, and what every package of
// it leads to.
func checkout(t *testing.T, files map[string]string) (dir string, below map[string]map[string]bool) {
	t.Helper()
	dir = t.TempDir()
	for name, content := range files {
		file := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(file), 0o755))
		must(t, os.WriteFile(file, []byte(content), 0o644))
	}
	g, err := node.New().Graph(t.Context(), conflicttest.New(files))
	must(t, err)
	nodes, below := map[string]conflict.Target{}, map[string]map[string]bool{}
	for _, n := range g.Targets {
		nodes[n.Name] = n
	}
	for name, n := range nodes {
		seen := map[string]bool{}
		for todo := []string{name}; len(todo) > 0; {
			at := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			if !seen[at] {
				seen[at] = true
				todo = append(todo, nodes[at].Deps...)
			}
		}
		below[name] = seen
		if n.Alias != "" {
			below[n.Alias] = seen
		}
	}
	return dir, below
}

func mustRun(t *testing.T, dir, tool string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), tool, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TURBO_TELEMETRY_DISABLED=1", "NX_DAEMON=false", "NX_NO_CLOUD=true", "CI=true", "NO_UPDATE_NOTIFIER=1")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s%s", tool, args, err, out, stderr.String())
	}
	return out
}

func needTool(t *testing.T, name string) string {
	t.Helper()
	file, err := exec.LookPath(name)
	storetest.Need(t, name, err == nil)
	return file
}

// target reports whether there is a target of this name or alias.
func target(below map[string]map[string]bool, name string) bool { return below[name] != nil }

func TestNoEdgeOfTurboIsMissing(t *testing.T) {
	turbo := needTool(t, "turbo")
	dir, below := checkout(t, monorepo)
	var plan struct {
		Tasks []struct {
			Package      string
			Dependencies []string
		}
	}
	must(t, json.Unmarshal(mustRun(t, dir, turbo, "run", "build", "--dry=json"), &plan))
	edges := 0
	for _, task := range plan.Tasks {
		if !target(below, task.Package) {
			t.Errorf("no target for the package %s", task.Package)
		}
		for _, d := range task.Dependencies {
			edges++
			if to, _, _ := strings.Cut(d, "#"); !below[task.Package][to] {
				t.Errorf("no path from %s to %s", task.Package, to)
			}
		}
	}
	if len(plan.Tasks) < 8 || edges < 4 {
		t.Fatalf("only %d packages and %d edges were compared", len(plan.Tasks), edges)
	}
}

func TestNoEdgeOfNxIsMissing(t *testing.T) {
	nx := needTool(t, "nx")
	installed, err := filepath.EvalSymlinks(nx)
	must(t, err)
	at := strings.Index(installed, "/node_modules/")
	if at < 0 {
		t.Fatalf("nx is at %s", installed)
	}
	dir, below := checkout(t, monorepo)
	must(t, os.Symlink(installed[:at]+"/node_modules", filepath.Join(dir, "node_modules")))
	mustRun(t, dir, "git", "init", "-q")
	mustRun(t, dir, nx, "graph", "--file=graph.json")
	data, err := os.ReadFile(filepath.Join(dir, "graph.json"))
	must(t, err)
	var out struct {
		Graph struct {
			Nodes        map[string]any
			Dependencies map[string][]struct{ Target string }
		}
	}
	must(t, json.Unmarshal(data, &out))
	edges := 0
	for name := range out.Graph.Nodes {
		if name == "mono" {
			continue
		}
		if !target(below, name) {
			t.Errorf("no target for the project %s", name)
		}
	}
	for from, list := range out.Graph.Dependencies {
		for _, d := range list {
			to := map[string]string{"tool": "@mono/tool"}[d.Target]
			if to == "" {
				to = d.Target
			}
			if strings.HasPrefix(to, "npm:") {
				continue
			}
			edges++
			if !below[from][to] {
				t.Errorf("no path from %s to %s", from, to)
			}
		}
	}
	if len(out.Graph.Nodes) < 9 || edges < 6 {
		t.Fatalf("only %d projects and %d edges were compared", len(out.Graph.Nodes), edges)
	}
	t.Logf("%d projects, %d edges", len(out.Graph.Nodes), edges)
}

func TestNpmHasTheSamePackages(t *testing.T) {
	npm := needTool(t, "npm")
	dir, below := checkout(t, monorepo)
	mustRun(t, dir, npm, "install", "--package-lock-only", "--offline", "--no-audit", "--no-fund")
	lock, err := os.ReadFile(filepath.Join(dir, "package-lock.json"))
	must(t, err)
	files := map[string]string{}
	for name, content := range monorepo {
		files[name] = content
	}
	files["package-lock.json"] = string(lock)
	_, locked := checkout(t, files)
	var list []struct {
		Name     string
		EdgesOut map[string]struct{ To string }
		Location string
		Resolved string
	}
	must(t, json.Unmarshal(mustRun(t, dir, npm, "query", ".workspace", "--package-lock-only"), &list))
	for _, p := range list {
		if !target(below, p.Name) || !target(locked, p.Name) {
			t.Errorf("no target for the package %s in %s", p.Name, p.Location)
		}
	}
	if len(list) < 8 {
		t.Fatalf("only %d packages were compared", len(list))
	}
	var lockfile struct {
		Packages map[string]struct {
			Dependencies, DevDependencies, OptionalDependencies, PeerDependencies map[string]string
		}
	}
	must(t, json.Unmarshal(lock, &lockfile))
	edges := 0
	for at, p := range lockfile.Packages {
		var man struct{ Name string }
		if at == "" || json.Unmarshal([]byte(files[at+"/package.json"]), &man) != nil {
			continue
		}
		for _, deps := range []map[string]string{p.Dependencies, p.DevDependencies, p.OptionalDependencies, p.PeerDependencies} {
			for to := range deps {
				edges++
				if !below[man.Name][to] || !locked[man.Name][to] {
					t.Errorf("no path from %s to %s", man.Name, to)
				}
			}
		}
	}
	if edges < 4 {
		t.Fatalf("only %d edges were compared", edges)
	}
}
