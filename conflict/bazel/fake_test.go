package bazel

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/checkout"
	"github.com/submitqueue/submitqueue/conflict/conflicttest"
)

// fake is a program in Bazel's place: it notes what it is asked and does what a
// script says, in which $answer is a file with a stream and $n counts queries.
type fake struct {
	*Analyzer
	dir string
}

func mustFake(t *testing.T, timeout time.Duration, script string, answer []byte) fake {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	text := "#!/bin/sh\nd=" + dir + `
answer=$d/answer
for a; do
  case $a in
  --version) echo "bazel 99"; exit ;;
  --query_file=*) cat "${a#--query_file=}" >>$d/asked; echo >>$d/asked ;;
  esac
done
echo "Starting local Bazel server and connecting to it..." >&2
n=$(grep -c '^set' $d/asked)
` + script + "\n"
	must(t, os.WriteFile(filepath.Join(dir, "bazel"), []byte(text), 0o700))
	must(t, os.WriteFile(filepath.Join(dir, "answer"), answer, 0o600))
	p, err := checkout.Open(filepath.Join(dir, "pool"), checkout.Options{Size: 1})
	must(t, err)
	t.Cleanup(func() { must(t, p.Close()) })
	return fake{New(timeout, p), dir}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (f fake) graph(t *conflicttest.Tree) (*conflict.Graph, error) {
	return f.Graph(context.Background(), t)
}

// asked returns what the program was asked since the last time.
func (f fake) asked(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(f.dir, "asked"))
	if !errors.Is(err, os.ErrNotExist) {
		must(t, err)
	}
	must(t, os.WriteFile(filepath.Join(f.dir, "asked"), nil, 0o600))
	return strings.Join(strings.Fields(string(b)), " ")
}

func fileOf(name string, loads ...string) []byte {
	more := []any{1, name}
	for _, l := range loads {
		more = append(more, 3, l)
	}
	return message(1, 2, 3, message(more...))
}

var (
	toyTree = conflicttest.New(map[string]string{"WORKSPACE": "", "a/BUILD": "load", "b/BUILD": "glob", "BUILD": "", "one.bzl": "1", "two.bzl": "2", "b/x": ""})
	toyText = stream(fileOf("//a:BUILD", "//:one.bzl", "//:two.bzl"), ruleOf("//a:a", 5, "//b:b"), fileOf("//b:BUILD"), ruleOf("//b:b", 5, "//b:x"), fileOf("//:BUILD"))
)

// Known repositories are not asked for again; those that may have changed are.
func TestWhatIsAsked(t *testing.T) {
	f := mustFake(t, 0, "cat $answer", toyText)
	for _, x := range []struct {
		name, want string
		tree       *conflicttest.Tree
	}{
		{"at first", `set("//:all-targets" "//a:all-targets" "//b:all-targets" )`, toyTree},
		{"the same", "", toyTree},
		{"a source", "", toyTree.With("b/x", "1")},
		{"a BUILD file", `set("//a:all-targets" )`, toyTree.With("a/BUILD", "# load")},
		{"what is loaded through another file", `set("//a:all-targets" )`, toyTree.With("two.bzl", "3")},
		{"that is removed", `set("//a:all-targets" )`, toyTree.Without("two.bzl")},
		{"a file nobody loads", "", toyTree.With("three.bzl", "")},
		{"a new file where nothing looks", "", toyTree.With("a/y", "")},
		{"a new file where something looks", `set("//b:all-targets" )`, toyTree.With("b/y", "")},
		{"its exec bit", "", toyTree.With("b/y", "").WithMode("b/y", "100755", "")},
		{"a folder that no glob looks into", `set("//b:all-targets" )`, toyTree.With(".bazelignore", "b/y")},
		{"a function of native by name", `set("//a:all-targets" )`, toyTree.With("a/BUILD", "getattr(native, 'g' + 'lob')")},
		{"a new file that it may find", `set("//a:all-targets" )`, toyTree.With("a/BUILD", "getattr(native, 'g' + 'lob')").With("a/y", "")},
		{"a new package", `set("//a:all-targets" "//a/c:all-targets" )`, toyTree.With("a/c/BUILD", "")},
		{"a package that is ignored", `set("//a:all-targets" "//b:all-targets" )`, toyTree.With(".bazelignore", "a/c\n# no\n").With("a/c/BUILD", "")},
		{"BUILD.bazel before BUILD", `set("//a:all-targets" )`, toyTree.With("a/BUILD.bazel", "")},
		{"what all packages have in common", `set("//:all-targets" "//a:all-targets" "//b:all-targets" )`, toyTree.With("REPO.bazel", "repo(features = ['x'])")},
		{"another name of all", `set("//:all-targets" "//a:all-targets" "//b:all-targets" )`, toyTree.With("WORKSPACE", "workspace(name = 'w')")},
		{"the first again", "", toyTree},
	} {
		must(t, os.WriteFile(filepath.Join(f.dir, "answer"), append(slices.Clone(toyText), stream(fileOf("//a/c:BUILD"))...), 0o600))
		if _, err := f.graph(x.tree); err != nil {
			t.Errorf("%s: %v", x.name, err)
		}
		if got := f.asked(t); got != x.want {
			t.Errorf("%s: it was asked %s, want %s", x.name, got, x.want)
		}
	}
}

func TestHowQueriesFail(t *testing.T) {
	broken := "echo 'ERROR: '$PWD'/a/BUILD:1:1: no' >&2; "
	for name, x := range map[string]struct {
		script, want string
		asked        int
		provisional  bool
	}{
		"broken":            {broken + "exit 7", "bazel query: ERROR: /tree/a/BUILD:1:1: no", 2, false},
		"broken at first":   {"if [ $n = 1 ]; then exit 7; fi; cat $answer", "", 2, false},
		"parts left out":    {"cat $answer; exit 3", "exit status 3", 2, true},
		"a bad option":      {"exit 2", "exit status 2", 2, true},
		"a crash of Bazel":  {"exit 37", "exit status 37", 2, true},
		"no memory":         {"echo 'FATAL: out of memory' >&2; exit 33", "exit status 33: FATAL: out of memory", 2, true},
		"killed":            {"kill -9 $$", "by a signal", 2, true},
		"it takes too long": {"exec sleep 600", "did not end within", 1, true},
		"rubbish":           {"echo hello", "no protocol buffer", 1, false},
		"nothing":           {"true", "has not said anything of the package //", 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			timeout := time.Minute
			if name == "it takes too long" {
				timeout = 300 * time.Millisecond
			}
			f := mustFake(t, timeout, x.script, toyText)
			_, err := f.graph(toyTree)
			if got := fmt.Sprint(err); (x.want == "") != (err == nil) || err != nil && !strings.Contains(got, x.want) || strings.Contains(got, "Starting") {
				t.Errorf("got %v", err)
			}
			if errors.Is(err, conflict.ErrProvisional) != x.provisional {
				t.Errorf("provisional is %t: %v", !x.provisional, err)
			}
			if got := strings.Count(f.asked(t), "set("); got != x.asked {
				t.Errorf("it was asked %d times", got)
			}
		})
	}
}

// Bazel gets to see neither the options of a tree nor those of the server.
func TestHowBazelIsCalled(t *testing.T) {
	f := mustFake(t, 0, `echo "$@" >$d/args; cat WORKSPACE .bazelrc tools/bazel >$d/saw; cat $answer`, toyText)
	_, err := f.graph(toyTree.With(".bazelrc", "evil").WithMode("tools/bazel", "100755", "evil").With("WORKSPACE", "workspace(name = 'w')\nevil()"))
	must(t, err)
	saw, err := os.ReadFile(filepath.Join(f.dir, "saw"))
	must(t, err)
	if string(saw) != "workspace(name = \"w\")\n" {
		t.Errorf("it saw %q", saw)
	}
	args, err := os.ReadFile(filepath.Join(f.dir, "args"))
	must(t, err)
	for _, want := range []string{"--nohome_rc --noworkspace_rc --output_user_root=" + f.dir, "--host_jvm_args=-Xmx1g", "--max_idle_secs=", " query ",
		"--experimental_repository_disable_download", "--output=streamed_proto", "--noproto:locations", "--noproto:flatten_selects", "--proto:default_values"} {
		if !strings.Contains(string(args), want) {
			t.Errorf("%q is not in %s", want, args)
		}
	}
}

func TestFailingTrees(t *testing.T) {
	f := mustFake(t, 0, "cat $answer", toyText)
	gone := errors.New("gone")
	if _, err := f.graph(toyTree.Failing(gone)); !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
}

// Repositories that another version of Bazel has fetched are not used.
func TestVersionsFetchForThemselves(t *testing.T) {
	f := mustFake(t, 0, `for a; do case $a in --output_base=*/fetch*) mkdir -p "${a#*=}/external/r" ;; esac; done; cat $answer`, toyText)
	tree := toyTree.With("a/BUILD", `load("@r//:x.bzl", "X")`)
	for _, x := range []struct {
		version string
		fetches int
	}{{"99", 1}, {"99", 0}, {"100", 1}} {
		program := filepath.Join(f.dir, "bazel")
		text, err := os.ReadFile(program)
		must(t, err)
		must(t, os.WriteFile(program, []byte(strings.Replace(string(text), `"bazel 99"`, `"bazel `+x.version+`"`, 1)), 0o700))
		_, err = f.Trusting(tree).Graph(context.Background(), tree)
		must(t, err)
		if got := strings.Count(f.asked(t), "//"+askDir); got != x.fetches {
			t.Errorf("version %s has fetched %d times, want %d", x.version, got, x.fetches)
		}
	}
}

// A repository that is the tree itself, or has it inside, is another one in the
// next checkout.
func TestTheTreeIsNoRepositoryOfItself(t *testing.T) {
	dir := t.TempDir()
	tree, outside := filepath.Join(dir, "slot", "tree"), filepath.Join(dir, "outside")
	f := &fetched{base: filepath.Join(dir, "base")}
	for _, at := range []string{tree, outside, filepath.Join(f.base, "external")} {
		must(t, os.MkdirAll(at, 0o700))
	}
	for name, to := range map[string]string{"self": tree, "around": filepath.Dir(tree), "other": outside} {
		must(t, os.Symlink(to, filepath.Join(f.base, "external", name)))
	}
	must(t, f.collect(tree, ""))
	if len(f.repos) != 1 || f.repos["other"].path == "" {
		t.Errorf("the repositories are %v", f.repos)
	}
}

// Bazel does not say that it has loaded the prelude, nor what that loads.
func TestAPreludeIsRefused(t *testing.T) {
	f := mustFake(t, 0, "cat $answer", toyText)
	tree := toyTree.With("other/prelude_bazel", "V = 1").With("tools/BUILD", "")
	for name, tree := range map[string]*conflicttest.Tree{
		"a file":       toyTree.With("tools/build_rules/prelude_bazel", "V = 1"),
		"below a link": tree.WithMode("tools/build_rules", conflict.ModeLink, "../other"),
	} {
		_, err := f.graph(tree)
		if err == nil || !strings.Contains(err.Error(), "tools/build_rules/prelude_bazel") || errors.Is(err, conflict.ErrProvisional) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if got := f.asked(t); got != "" {
		t.Errorf("it was asked %s", got)
	}
}

// A file that a repository was made of may not be named anywhere: Bazel tells
// it. Once the file has changed on the target branch, the repository is fetched
// again.
func TestWhatHasBeenReadIsFetchedAgain(t *testing.T) {
	f := mustFake(t, 0, `for a; do case $a in --output_base=*/fetch*) mkdir -p "${a#*=}/external/r"; echo "FILE:@//b:x 1" >"${a#*=}/external/@r.marker" ;; esac; done; cat $answer`, toyText)
	for _, x := range []struct {
		text    string
		fetches int
	}{{"1", 1}, {"1", 0}, {"2", 1}} {
		tree := toyTree.With("a/BUILD", `load("@r//:x.bzl", "X")`).With("b/x", x.text)
		_, err := f.Trusting(tree).Graph(context.Background(), tree)
		must(t, err)
		if got := strings.Count(f.asked(t), "//"+askDir); got != x.fetches {
			t.Errorf("with %s it has fetched %d times, want %d", x.text, got, x.fetches)
		}
	}
}

// A few links to large folders stand for more files than memory holds.
func TestManyLinks(t *testing.T) {
	files := map[string]string{"WORKSPACE": "", "BUILD": ""}
	for i := range 1025 {
		files[fmt.Sprintf("big/%d", i)] = ""
	}
	tree := conflicttest.New(files)
	for i := range 1025 {
		tree = tree.WithMode(fmt.Sprintf("links/%d", i), conflict.ModeLink, "../big")
	}
	f := mustFake(t, 0, "cat $answer", toyText)
	if _, err := f.graph(tree); err == nil || !strings.Contains(err.Error(), "links") || errors.Is(err, conflict.ErrProvisional) {
		t.Errorf("got %v", err)
	}
}

// A repository that could not be fetched is tried again, but not each time.
func TestFetchingGoesOn(t *testing.T) {
	f := mustFake(t, 0, `for a; do case $a in --output_base=*/fetch*) [ -e $d/down ] || mkdir -p "${a#*=}/external/r" ;; esac; done; cat $answer`, toyText)
	tree := toyTree.With("a/BUILD", `load("@r//:x.bzl", "X")`)
	must(t, os.WriteFile(filepath.Join(f.dir, "down"), nil, 0o600))
	fetches := ""
	for range 12 {
		if _, err := f.Trusting(tree).Graph(context.Background(), tree); !errors.Is(err, conflict.ErrProvisional) {
			t.Fatalf("got %v", err)
		}
		fetches += fmt.Sprint(strings.Count(f.asked(t), "//"+askDir))
	}
	if fetches != "111010001000" {
		t.Errorf("it has fetched %s", fetches)
	}
	must(t, os.Remove(filepath.Join(f.dir, "down")))
	for range 5 {
		if _, err := f.Trusting(tree).Graph(context.Background(), tree); err == nil {
			return
		}
	}
	t.Error("it does not try any more")
}

// Trees that load what a repository does not have take it from nobody.
func TestBadLoadsHarmNobody(t *testing.T) {
	f := mustFake(t, 0, `for a; do case $a in --output_base=*/fetch*) mkdir -p "${a#*=}/external/r" ;; esac; done
if grep -q bad a/BUILD; then echo "ERROR: no such package '@r//bad': it is not there" >&2; exit 7; fi; cat $answer`, toyText)
	good, bad := toyTree.With("a/BUILD", `load("@r//:x.bzl", "X")`), toyTree.With("a/BUILD", "load(\"@r//:x.bzl\", \"X\")\nload(\"@r//bad:x.bzl\", \"Y\")")
	for range 5 {
		if _, err := f.Trusting(good).Graph(context.Background(), bad); !errors.Is(err, conflict.ErrProvisional) {
			t.Fatalf("got %v", err)
		}
	}
	_, err := f.Trusting(good).Graph(context.Background(), good)
	must(t, err)
}
