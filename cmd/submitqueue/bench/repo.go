package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// benchRepo is the bare repository of a bench: files spread over areas, and branches,
// each of which changes separate files in one of the areas.
type benchRepo struct {
	dir   string
	start string            // where main began
	heads map[string]string // branch → its tip
	names []string          // the branches, in the order of making
	shape benchShape

	mu sync.Mutex // of heads
}

// benchShape describes the repository of a bench.
type benchShape struct {
	Files   int // on main
	Areas   int
	Changes int    // branches
	Commits int    // of each branch, one file each
	Moved   bool   // main has moved on since the branches began: no merge is trivial
	CI      bool   // the forge's CI builds, as its check benchCheck
	Method  string // how changes land, as in the configuration; empty: its default
	Later   bool   // the branches are not made yet; see branch
}

func benchBranch(i int) string { return fmt.Sprintf("change-%03d", i) }
func benchArea(i int) string   { return fmt.Sprintf("area-%02d", i) }

// makeBenchRepo makes the repository in one git process.
func makeBenchRepo(ctx context.Context, dir string, s benchShape) (*benchRepo, error) {
	r := &benchRepo{dir: dir, heads: map[string]string{}, shape: s}
	if _, err := runGit(ctx, "", nil, "init", "--quiet", "--bare", "--template=", "--initial-branch=main", dir); err != nil {
		return nil, err
	}
	var in bytes.Buffer
	commit := func(branch, message, from string) { benchPoint{benchDate, branch, message, from}.write(&in) }
	file := func(path, content string) { benchFile(&in, path, content) }
	commit("main", "Where the bench starts", "")
	file(".submitqueue.yml", benchConfig(s))
	for i := range s.Files {
		file(fmt.Sprintf("%s/s%d/f%05d.txt", benchArea(i%s.Areas), i/1000, i), strings.Repeat(fmt.Sprintf("line of file %d\n", i), 20))
	}
	if s.Later {
		for i := range s.folders() { // the files that branches will write, so that main has the same size at the end
			for k := range s.Commits {
				file(s.path(i, k), "part of no change yet\n")
			}
		}
	}
	for i := range s.Changes {
		name := benchBranch(i)
		r.names = append(r.names, name)
		if !s.Later {
			s.branch(&in, i, benchDate, "refs/heads/main")
		}
	}
	if s.Moved {
		commit("main", "Main moves on", "")
		file("moved.txt", "main has moved on\n")
	}
	if _, err := runGit(ctx, dir, &in, "fast-import", "--quiet"); err != nil {
		return nil, err
	}
	out, err := runGit(ctx, dir, nil, "for-each-ref", "--format=%(refname:short) %(objectname)", "refs/heads")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(out) {
		name, tip, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name == "main" {
			r.start = tip
		} else {
			r.heads[name] = tip
		}
	}
	return r, nil
}

// benchDate is the date of the first commit, in Unix seconds.
const benchDate = 1700000000

// benchPoint is a commit of a bench's repository.
type benchPoint struct {
	date                  int64
	branch, message, from string // from "": on the branch
}

// write begins the commit for fast-import; the caller writes its files after it.
func (p benchPoint) write(in *bytes.Buffer) {
	who := fmt.Sprintf("Bench <bench@localhost> %d +0000", p.date)
	fmt.Fprintf(in, "commit refs/heads/%s\nauthor %s\ncommitter %s\ndata %d\n%s\n", p.branch, who, who, len(p.message), p.message)
	if p.from != "" {
		fmt.Fprintf(in, "from %s\n", p.from)
	}
}

func benchFile(in *bytes.Buffer, path, content string) {
	fmt.Fprintf(in, "M 100644 inline %s\ndata %d\n%s\n", path, len(content), content)
}

// benchFolders is how many folders the branches of a bench share that begin on a recent
// main, so that main does not grow with the landings.
const benchFolders = 200

// folders returns how many folders branches share; a multiple of the areas.
func (s benchShape) folders() int { return benchFolders/s.Areas*s.Areas + s.Areas }

// path returns the file that a commit of a branch writes.
func (s benchShape) path(i, k int) string {
	folder := benchBranch(i)
	if s.Later {
		folder = benchBranch(i % s.folders())
	}
	return fmt.Sprintf("%s/%s/part-%d.txt", benchArea(i%s.Areas), folder, k)
}

// branch writes the commits of a branch for fast-import.
func (s benchShape) branch(in *bytes.Buffer, i int, date int64, from string) {
	name := benchBranch(i)
	for k := range s.Commits {
		benchPoint{date, name, fmt.Sprintf("Change %d, part %d", i, k+1), from}.write(in)
		benchFile(in, s.path(i, k), fmt.Sprintf("part %d of change %d\n", k, i))
		from = ""
	}
}

// branch makes a branch on main as it is now.
func (r *benchRepo) branch(ctx context.Context, i int) error {
	var in bytes.Buffer
	r.shape.branch(&in, i, time.Now().Unix(), "refs/heads/main^0")
	if _, err := runGit(ctx, r.dir, &in, "fast-import", "--quiet"); err != nil {
		return err
	}
	tip, err := runGit(ctx, r.dir, nil, "rev-parse", "refs/heads/"+benchBranch(i))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.heads[benchBranch(i)] = strings.TrimSpace(tip)
	return err
}

// benchConfig makes each folder of an area one target with one step.
func benchConfig(s benchShape) string {
	how := "run: \": {targets}\""
	if s.CI {
		how = "scope: targets\n    checks: [" + benchCheck + "]"
	}
	var b strings.Builder
	b.WriteString("version: 1\nsteps:\n  - name: unit\n    " + how + "\n    timeout: 1m\nanalysis:\n  analyzer: paths\n  areas:\n")
	for i := range s.Areas {
		fmt.Fprintf(&b, "    - name: %s\n      files: [\"%s/**\"]\n", benchArea(i), benchArea(i))
	}
	if s.Method != "" {
		fmt.Fprintf(&b, "queue:\n  method: %s\n", s.Method)
	}
	return b.String()
}

// verify checks with git alone that main holds each branch exactly once. Each branch
// must have come by a merge of the tip before and the branch, with exactly the tree that
// git makes of the two.
func (r *benchRepo) verify(ctx context.Context, dir string) error {
	out, err := runGit(ctx, dir, nil, "rev-list", "--first-parent", "--parents", "--reverse", r.start+"..refs/heads/main")
	if err != nil {
		return err
	}
	landed := map[string]int{}
	before := r.start
	for line := range strings.Lines(out) {
		ids := strings.Fields(line)
		if len(ids) != 3 || ids[1] != before {
			return fmt.Errorf("commit %s on main is no merge of the commit before it with one branch", ids[0])
		}
		landed[ids[2]]++
		before = ids[0]
		tree, err := runGit(ctx, dir, nil, "merge-tree", "--write-tree", ids[1], ids[2])
		if err != nil {
			return err
		}
		has, err := runGit(ctx, dir, nil, "rev-parse", ids[0]+"^{tree}")
		if err != nil {
			return err
		}
		if strings.TrimSpace(tree) != strings.TrimSpace(has) {
			return fmt.Errorf("commit %s on main has another tree than the merge of its parents", ids[0])
		}
	}
	var wrong []error
	for _, name := range r.names {
		if n := landed[r.heads[name]]; n != 1 {
			wrong = append(wrong, fmt.Errorf("%s is on main %d times", name, n))
		}
		delete(landed, r.heads[name])
	}
	for id := range landed {
		wrong = append(wrong, fmt.Errorf("main has merged %s, which no branch asked for", id))
	}
	return errors.Join(wrong...)
}

// runGit runs git without the user's configuration and returns what it prints.
func runGit(ctx context.Context, dir string, in *bytes.Buffer, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull)
	if in != nil {
		cmd.Stdin = in
	}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("git %s in %s: %w: %s", args[0], filepath.Base(dir), err, bytes.TrimSpace(errs.Bytes()))
	}
	return out.String(), nil
}
