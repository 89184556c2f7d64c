package analyzers

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Found is one build system in a repository.
type Found struct {
	Analyzer string
	Under    string   // folder; "": the whole repository
	Run      string   // shell command of its step; lines end in a newline where there are several
	Report   string   // "": by exit code
	Files    []string // files that hold the report
	Note     string   // what a person should know of it
}

// Tree is a repository's files.
type Tree struct {
	Files []string                 // sorted
	Read  func(name string) string // the content of a file; "": there is none, or it cannot be read
}

// Has reports whether there is a file of that name.
func (t Tree) Has(name string) bool {
	_, ok := slices.BinarySearch(t.Files, name)
	return ok
}

// foreign are folders with manifests that are not the repository's own.
var foreign = regexp.MustCompile(`(^|/)(node_modules|testdata|vendor|third_party|fixtures|__fixtures__|\.[^/]*)/`)

// roots returns the outermost folders with a manifest, and whether there are further
// ones within them.
func (t Tree) roots(manifests ...string) (list []string, nested bool) {
	var all []string
	for _, f := range t.Files {
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

// maxRoots bounds how many folders of one build system are found separately.
const maxRoots = 10

// Detect finds the build systems of a repository. A build system that builds everything
// in its workspace hides the build systems within it.
func (t Table) Detect(in Tree) (list []Found) {
	var outer, inner []Found
	for _, row := range t {
		if row.Find == nil {
			continue
		}
		found := row.Find(in)
		for i := range found {
			found[i].Analyzer = row.Name
		}
		if row.Whole {
			outer = append(outer, found...)
		} else {
			inner = append(inner, found...)
		}
	}
	slices.SortStableFunc(outer, func(a, b Found) int { return len(a.Under) - len(b.Under) })
	var whole []string // folders that are built as a whole
	for i, f := range slices.Concat(outer, inner) {
		if slices.ContainsFunc(whole, func(up string) bool { return within(f.Under, up) }) {
			continue
		}
		list = append(list, f)
		if i < len(outer) {
			whole = append(whole, f.Under)
		}
	}
	return list
}

func (t Tree) bazel() []Found {
	return t.workspaces(Found{
		Run:    "bazel test --keep_going --test_output=errors --build_event_json_file=bep.json {targets} || [ $? = 4 ]",
		Report: "bazel-bep", Files: []string{"bep.json"}, Note: "status 4 of Bazel: there was no test among the targets",
	}, "MODULE.bazel", "WORKSPACE.bazel", "WORKSPACE")
}

func (t Tree) gn() []Found {
	return t.workspaces(Found{Run: `gn gen out && ninja -C out $(printf '%s\n' {targets} | sed 's,^//,,')`}, ".gn")
}

// workspaces returns f for each of the outermost folders with one of the files.
func (t Tree) workspaces(f Found, files ...string) (list []Found) {
	dirs, _ := t.roots(files...)
	for _, f.Under = range dirs[:min(len(dirs), maxRoots)] {
		list = append(list, f)
	}
	return list
}

func (t Tree) golang() (list []Found) {
	dirs, nested := t.roots("go.mod", "go.work")
	for _, dir := range dirs[:min(len(dirs), maxRoots)] {
		f := Found{Under: dir, Run: "go vet {targets} && go test -json {targets}", Report: "go-test-json"}
		if nested && !t.Has(path.Join(dir, "go.work")) {
			// Without a workspace, a go command sees only the module that it is in.
			f.Run = "failed=0\n" +
				"for t in {targets}; do\n" +
				"  case $t in\n" +
				"    ./...) for m in $(git ls-files 'go.mod' '*/go.mod'); do (cd \"$(dirname \"$m\")\" && go vet ./... && go test ./...) || failed=1; done ;;\n" +
				"    *) (cd \"$t\" && go vet . && go test .) || failed=1 ;;\n" +
				"  esac\n" +
				"done\n" +
				"exit $failed\n"
			f.Report, f.Note = "", "several Go modules without a go.work: each directory is tested by itself"
		}
		list = append(list, f)
	}
	return list
}

func (t Tree) cargo() (list []Found) {
	dirs, _ := t.roots("Cargo.toml")
	for _, dir := range dirs[:min(len(dirs), maxRoots)] {
		locked := ""
		if t.Has(path.Join(dir, "Cargo.lock")) {
			locked = " --locked"
		}
		test := "cargo test" + locked + " --message-format json"
		list = append(list, Found{Under: dir, Report: "cargo-json", Run: "failed=0\n" +
			"for t in {targets}; do\n" +
			"  case $t in\n" +
			"    ./...) " + test + " --workspace ;;\n" +
			"    ./*) " + test + " --manifest-path \"$t/Cargo.toml\" ;;\n" +
			"    *) " + test + " -p \"$t\" ;;\n" +
			"  esac || failed=1\n" +
			"done\n" +
			"exit $failed\n"})
	}
	return list
}
