package cargo_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/cargo"
	"github.com/submitqueue/submitqueue/conflict/conflicttest"
	"github.com/submitqueue/submitqueue/queue/storetest"
)

// metadata is what `cargo metadata` says of a workspace.
type metadata struct {
	Packages []struct {
		ID, Name     string
		ManifestPath string `json:"manifest_path"`
		Dependencies []struct{ Name, Kind, Path string }
		Targets      []struct {
			SrcPath string `json:"src_path"`
		}
	}
	Members []string `json:"workspace_members"`
}

func TestNoEdgeOfCargoMetadataIsMissing(t *testing.T) {
	_, err := exec.LookPath("cargo")
	storetest.Need(t, "cargo", err == nil)
	total := 0
	compareAt := func(t *testing.T, files map[string]string, root string) {
		dir := mustWrite(t, files)
		total += compare(t, dir, root, conflicttest.New(files))
		lock, err := os.ReadFile(filepath.Join(dir, root, "Cargo.lock"))
		must(t, err)
		if !cargo.LockIsExact(lock) {
			t.Errorf("cargo's own lock file is not taken apart:\n%s", lock)
		}
	}
	t.Run("by hand", func(t *testing.T) {
		files := mapsWithout(workspace, "rust-toolchain.toml")
		compareAt(t, files, ".")
		compareAt(t, files, "crates/odd/inner")
	})
	for seed := range uint64(6) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { compareAt(t, generated(seed), ".") })
	}
	if total < 300 {
		t.Errorf("only %d edges and sources were compared", total)
	}
}

func mapsWithout(files map[string]string, path string) map[string]string {
	out := map[string]string{}
	for p, content := range files {
		if p != path {
			out[p] = content
		}
	}
	return out
}

func mustWrite(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	for name, content := range files {
		file := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(file), 0o755))
		must(t, os.WriteFile(file, []byte(content), 0o644))
	}
	return dir
}

// compare holds the graph of a tree against what Cargo finds in a folder with
// the same files. It returns how much it has compared.
func compare(t *testing.T, dir, root string, tree conflict.Tree) (compared int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "cargo", "metadata", "--offline", "--format-version", "1")
	cmd.Dir = filepath.Join(dir, root)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	var m metadata
	must(t, json.Unmarshal(out, &m))
	nodes := map[string]conflict.Target{}
	for _, n := range mustGraph(t, tree).Targets {
		nodes[n.Name] = n
	}
	rel := func(p string) string {
		r, err := filepath.Rel(dir, p)
		must(t, err)
		return filepath.ToSlash(r)
	}
	for _, p := range m.Packages {
		at := dotted(rel(filepath.Dir(p.ManifestPath)))
		target := at
		if _, ok := nodes[at]; !ok {
			target = p.Name
		}
		if slices.Contains(m.Members, p.ID) && (nodes[target].Name == "" || nodes[target].Internal) {
			t.Errorf("no target for the member %s in %s", p.Name, at)
		}
		for _, d := range p.Dependencies {
			from, to := "lib:"+at, "lib:"+dotted(rel(d.Path))
			if d.Kind == "dev" {
				from = target
			}
			compared++
			if !slices.Contains(nodes[from].Deps, to) {
				t.Errorf("%s has the dependency %s (%s): no edge from %s to %s", p.Name, d.Name, d.Kind, from, to)
			}
		}
		for _, src := range p.Targets {
			compared++
			if f := rel(src.SrcPath); !owns(nodes["lib:"+at], f) && !owns(nodes[target], f) {
				t.Errorf("%s does not own its source %s", p.Name, f)
			}
		}
	}
	return compared
}

func dotted(dir string) string {
	if dir == "." {
		return "."
	}
	return "./" + dir
}

func owns(n conflict.Target, path string) bool {
	return slices.ContainsFunc(n.Sources, func(e conflict.Entry) bool { return e.Path == path })
}

func mustGraph(t testing.TB, tree conflict.Tree) *conflict.Graph {
	t.Helper()
	g, err := cargo.New().Graph(t.Context(), tree)
	must(t, err)
	return g
}

// generated returns a workspace of random shape: members by glob, by name and
// by path alone, excluded packages, every kind of dependency.
func generated(seed uint64) map[string]string {
	r := rand.New(rand.NewPCG(seed, 1))
	files := map[string]string{}
	places := []string{"crates/", "crates/", "deep/er/", "libs/", "out/", "crates/c0/sub/"}
	n := 8 + r.IntN(12)
	dirs := make([]string, n)
	inherited, members := "", `"crates/*"`
	for i := range dirs {
		dirs[i] = places[r.IntN(len(places))] + fmt.Sprint("c", i)
		if i == 0 {
			dirs[i] = "crates/c0"
		}
		if strings.HasPrefix(dirs[i], "deep") || strings.HasPrefix(dirs[i], "crates/c0/") {
			members += fmt.Sprintf(", %q", dirs[i])
		}
		inherited += fmt.Sprintf("c%d = { path = %q }\n", i, dirs[i])
	}
	for i, dir := range dirs {
		up := strings.Repeat("../", strings.Count(dir, "/")+1)
		text := pkg(fmt.Sprint("c", i), "")
		dep := func(section string, j int) {
			switch excluded := strings.HasPrefix(dir, "out/"); r.IntN(3) {
			case 0:
				if !excluded {
					text += fmt.Sprintf("[%s.c%d]\nworkspace = true\n", section, j)
					return
				}
				fallthrough
			case 1:
				text += fmt.Sprintf("[%s.as%d]\npackage = \"c%d\"\npath = %q\n", section, j, j, up+dirs[j])
			case 2:
				text += fmt.Sprintf("[%s.c%d]\npath = %q\n", section, j, up+dirs[j])
			}
		}
		for j := range n {
			section := []string{"dependencies", "build-dependencies", "dev-dependencies", "target.'cfg(unix)'.dependencies", "target.'cfg(windows)'.dev-dependencies"}[r.IntN(5)]
			dev := strings.Contains(section, "dev-")
			if r.IntN(n) < 2 && (j < i || dev && j != i) {
				dep(section, j)
			}
		}
		files[dir+"/Cargo.toml"] = text
		for _, f := range []string{"src/lib.rs", "src/main.rs", "src/bin/x.rs", "src/bin/y/main.rs", "tests/t.rs", "benches/b.rs", "examples/e/main.rs", "build.rs"} {
			if f == "src/lib.rs" || r.IntN(3) == 0 {
				files[dir+"/"+f] = "fn main() {}\n"
			}
		}
	}
	files["Cargo.toml"] = "[workspace]\nresolver = \"2\"\nmembers = [" + members + "]\nexclude = [\"out\"]\n\n[workspace.dependencies]\n" + inherited
	if r.IntN(2) == 0 {
		files["Cargo.toml"] += "\n" + pkg("root", "[dependencies]\nc0.workspace = true\n")
		files["src/lib.rs"], files["tests/r.rs"] = "", ""
	}
	return files
}
