package cargo_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/conflict/conflicttest"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/storetest"
)

// Some rules of Cargo are about a workspace as a whole, and no one package breaks
// them: two changes may each be good and yet leave a workspace together that
// Cargo refuses for every package. Then something must be built that was not built with
// one of them alone, or the two land on the passes that they have.
func TestNoTwoChangesBreakAWorkspaceUnseen(t *testing.T) {
	_, err := exec.LookPath("cargo")
	storetest.Need(t, "cargo", err == nil)
	const root = "[workspace]\nmembers = [\"crates/*\"]\nresolver = \"2\"\n"
	base := conflicttest.New(map[string]string{
		"Cargo.toml":          root,
		"Cargo.lock":          lockHead + entry("a", "0.1.0", "") + entry("b", "0.1.0", "") + entry("c", "0.1.0", ""),
		"crates/a/Cargo.toml": pkg("a", ""), "crates/a/src/lib.rs": "",
		"crates/b/Cargo.toml": pkg("b", ""), "crates/b/src/lib.rs": "",
		"crates/c/Cargo.toml": pkg("c", ""), "crates/c/src/lib.rs": "",
		"ours/d/Cargo.toml": pkg("d", "[workspace]\n"), "ours/d/src/lib.rs": "",
	})
	links := func(dir string) func(*conflicttest.Tree) *conflicttest.Tree {
		return func(t *conflicttest.Tree) *conflicttest.Tree {
			p := dir + "/Cargo.toml"
			return t.With(p, strings.Replace(t.Content(p), "[package]\n", "[package]\nlinks = \"z\"\n", 1)).With(dir+"/build.rs", "fn main() {}\n")
		}
	}
	without := func(dir string) func(*conflicttest.Tree) *conflicttest.Tree {
		return func(t *conflicttest.Tree) *conflicttest.Tree {
			entry := entry(dir[len(dir)-1:], "0.1.0", "") // which a crate that is no member has not
			return t.Without(dir).With("Cargo.lock", strings.Replace(t.Content("Cargo.lock"), entry, "", 1))
		}
	}
	// Packages of a registry that are copied into the tree, as Cargo is offline.
	const registry = "registry+https://github.com/rust-lang/crates.io-index"
	base = base.With(".cargo/config.toml", "[source.crates-io]\nreplace-with = \"copies\"\n[source.copies]\ndirectory = \"copies\"\n")
	for dir, name := range map[string]string{"z-sys": "z-sys", "libz-sys": "libz-sys"} {
		base = base.With("copies/"+dir+"/Cargo.toml", "[package]\nname = \""+name+"\"\nversion = \"1.0.0\"\nedition = \"2021\"\nlinks = \"z\"\n").
			With("copies/"+dir+"/src/lib.rs", "").With("copies/"+dir+"/build.rs", "fn main() {}\n").With("copies/"+dir+"/.cargo-checksum.json", "{\"files\":{},\"package\":null}")
	}
	var sorted func(lock string) string
	uses := func(crate, dep string) func(*conflicttest.Tree) *conflicttest.Tree {
		return func(t *conflicttest.Tree) *conflicttest.Tree {
			own := "[[package]]\nname = \"" + crate + "\"\nversion = \"0.1.0\"\n"
			lock := strings.Replace(t.Content("Cargo.lock"), own, own+"dependencies = [\n \""+dep+"\",\n]\n", 1)
			added := "[[package]]\nname = \"" + dep + "\"\nversion = \"1.0.0\"\nsource = \"" + registry + "\"\n"
			if !strings.Contains(lock, own+"dep") {
				panic(lock)
			}
			return t.With("crates/"+crate+"/Cargo.toml", pkg(crate, "[dependencies]\n"+dep+" = \"1\"\n")).With("Cargo.lock", sorted(lock+"\n"+added))
		}
	}
	sorted = func(lock string) string { // as Cargo writes it
		list := strings.Split(strings.TrimPrefix(lock, lockHead+"\n"), "\n\n")
		for i := range list {
			list[i] = strings.TrimSpace(list[i]) + "\n"
		}
		slices.Sort(list)
		return lockHead + "\n" + strings.Join(list, "\n")
	}
	top := func(more string) func(*conflicttest.Tree) *conflicttest.Tree {
		return func(t *conflicttest.Tree) *conflicttest.Tree { return t.With("Cargo.toml", root+more) }
	}
	for name, tt := range map[string]struct {
		one, other func(*conflicttest.Tree) *conflicttest.Tree
	}{
		"a default member is deleted":   {top("default-members = [\"crates/a\", \"crates/b\"]\n"), without("crates/b")},
		"two packages link one library": {links("crates/a"), links("crates/b")},
		"an override is deleted": {
			func(t *conflicttest.Tree) *conflicttest.Tree {
				return t.With(".cargo/config.toml", "paths = [\"ours/d\"]\n")
			}, without("ours/d"),
		},
		"two packages of a registry link one library": {uses("a", "z-sys"), uses("b", "libz-sys")},
		"a package patched in is deleted":             {top("\n[patch.crates-io]\nd = { path = \"ours/d\" }\n"), without("ours/d")},
	} {
		t.Run(name, func(t *testing.T) {
			works := func(tree *conflicttest.Tree) bool {
				dir := t.TempDir()
				tree.MustWrite(t, dir)
				cmd := exec.CommandContext(t.Context(), "cargo", "metadata", "--offline", "--format-version", "1")
				cmd.Dir = dir
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Logf("%s", out)
				}
				return err == nil
			}
			one, other, both := tt.one(base), tt.other(base), tt.other(tt.one(base))
			if !works(one) || !works(other) || works(both) {
				t.Fatal("Cargo takes the two together, or not each alone")
			}
			var passed []queue.TargetHash
			for _, tree := range []*conflicttest.Tree{base, one, other} {
				passed = append(passed, mustAnalyze(t, settings, tree).Targets()...)
			}
			for _, target := range mustAnalyze(t, settings, both).Targets() {
				if !slices.Contains(passed, target) {
					return
				}
			}
			t.Error("nothing of the two together is new: they land, and main is red for every package")
		})
	}
}

// One change alone may do that, too: in a dependency that no member takes.
func TestWhatCargoRefusesInASharedDependency(t *testing.T) {
	base := conflicttest.New(map[string]string{
		"Cargo.toml":          "[workspace]\nmembers = [\"crates/*\"]\n",
		"crates/a/Cargo.toml": pkg("a", ""), "crates/a/src/lib.rs": "",
	})
	for _, field := range []string{"public = 1", "artifact = 3", "target = 3", "lib = 3"} {
		to := base.With("Cargo.toml", base.Content("Cargo.toml")+"\n[workspace.dependencies]\nq = { version = \"1\", "+field+" }\n")
		if slices.Equal(mustAnalyze(t, settings, base).Targets(), mustAnalyze(t, settings, to).Targets()) {
			t.Errorf("%s: no target is affected, and Cargo refuses the file for all", field)
		}
	}
}
