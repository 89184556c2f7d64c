package golang_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/queue"
)

// goRepo writes the stream of a Go repository for fast-import. Of 1,300
// packages it has 6,338 Go files of some 9 KB, each with imports of its own,
// and 4,300 other files: the sizes of a large repository that was studied.
type goRepo struct {
	in       bytes.Buffer
	packages int
}

func (r *goRepo) commit(message string) {
	const who = "Bench <bench@localhost> 1700000000 +0000"
	fmt.Fprintf(&r.in, "commit refs/heads/main\nauthor %s\ncommitter %s\ndata %d\n%s\n", who, who, len(message), message)
}

func (r *goRepo) file(path, content string) {
	fmt.Fprintf(&r.in, "M 100644 inline %s\ndata %d\n%s\n", path, len(content), content)
}

func goDir(i int) string { return fmt.Sprintf("area%02d/group%d/p%04d", i%26, i/26%5, i) }

// source is a Go file of package i that builds. It imports packages before it.
func (r *goRepo) source(i, file, edit int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "// Package p%04d is the bench's.\npackage p%04d\n\nimport (\n\t_ \"context\"\n\t_ \"fmt\"\n\t_ \"strings\"\n\n", i, i)
	for k := 1 + file%2; k <= 9 && k*k+file <= i; k += 2 {
		fmt.Fprintf(&b, "\t_ \"bench.org/go/%s\"\n", goDir(i-k*k-file))
	}
	b.WriteString(")\n\n")
	for line := range 110 {
		fmt.Fprintf(&b, "// v%d_%d_%d is number %d of the values that this file declares for others.\nvar v%d_%d_%d = %d\n", i, file, line, line, i, file, line, edit)
	}
	return b.String()
}

func (r *goRepo) add(i int) {
	dir := goDir(i)
	for file := range 3 {
		r.file(fmt.Sprintf("%s/f%d.go", dir, file), r.source(i, file, 0))
	}
	r.file(dir+"/f3_test.go", r.source(i, 3, 0))
	if i%8 != 0 {
		r.file(dir+"/f4_test.go", r.source(i, 4, 0))
	}
	r.file(dir+"/testdata/in.json", fmt.Sprintf("{\"in\": %d}\n", i))
	r.file(dir+"/testdata/out.json", fmt.Sprintf("{\"out\": %d}\n", i))
	r.file(dir+"/README.md", fmt.Sprintf("# Package %d\n", i))
	if i%3 == 0 {
		r.file(fmt.Sprintf("web/page%d/index.html", i), fmt.Sprintf("<h1>%d</h1>\n", i))
	}
}

// edit is what one commit changes: mostly Go files of one or two packages, now
// and then test data, a new package or one file less.
func (r *goRepo) edit(n int) {
	i := n * 7919 % r.packages
	switch n % 10 {
	case 3:
		r.add(r.packages + n)
	case 5:
		r.file(goDir(i)+"/testdata/in.json", fmt.Sprintf("{\"edit\": %d}\n", n))
	case 7:
		fmt.Fprintf(&r.in, "D %s/f2.go\n", goDir(i))
	case 8:
		r.file(fmt.Sprintf("web/page%d/new.html", n), "<h1>new</h1>\n")
		r.file(goDir(i)+"/f3_test.go", r.source(i, 3, n))
	default:
		r.file(goDir(i)+"/f0.go", r.source(i, 0, n))
		r.file(goDir(i)+"/f1.go", r.source(i, 1, n))
		other := (i + 11) % r.packages
		r.file(goDir(other)+"/f1.go", r.source(other, 2, n))
	}
}

// makeGoRepo makes a bare repository and returns the commits of main, the one
// with all packages first.
func makeGoRepo(t testing.TB, dir string, packages, edits int) (commits []queue.CommitID) {
	t.Helper()
	mustGit(t, "", nil, "init", "--quiet", "--bare", "--template=", "--initial-branch=main", dir)
	r := &goRepo{packages: packages}
	r.commit("Where it starts")
	r.file("go.mod", "module bench.org/go\n\ngo 1.22\n")
	for i := range packages {
		r.add(i)
	}
	for n := range edits {
		r.commit(fmt.Sprintf("Commit %d", n))
		r.edit(n)
	}
	mustGit(t, dir, &r.in, "fast-import", "--quiet")
	for _, id := range strings.Fields(mustGit(t, dir, nil, "rev-list", "--reverse", "main")) {
		commits = append(commits, queue.CommitID(id))
	}
	return commits
}

// mustGit runs git without the user's configuration and returns what it prints.
func mustGit(t testing.TB, dir string, in *bytes.Buffer, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull)
	if in != nil {
		cmd.Stdin = in
	}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %v: %v", args, err)
	}
	return string(out)
}
