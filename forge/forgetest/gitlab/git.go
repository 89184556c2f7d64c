package gitlab

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const zeroID = "0000000000000000000000000000000000000000"

const bareConfig = `[core]
	repositoryformatversion = 0
	filemode = true
	bare = true
[gc]
	auto = 0
[transfer]
	hideRefs = refs/scratch
	hideRefs = refs/keep-around
[uploadpack]
	allowAnySHA1InWant = true
	allowFilter = true
`

func initBare(dir, branch string) error {
	for _, sub := range []string{"objects/info", "objects/pack", "refs/heads", "refs/tags", "info"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "config"), []byte(bareConfig), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "HEAD"), []byte("ref: refs/heads/"+branch+"\n"), 0o644)
}

// gitEnv returns an environment without the machine's git settings.
func gitEnv(extra ...string) []string {
	var env []string
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "GIT_") {
			env = append(env, kv)
		}
	}
	return append(append(env, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C",
		"GIT_AUTHOR_NAME=fake", "GIT_AUTHOR_EMAIL=fake@example.org", "GIT_COMMITTER_NAME=fake", "GIT_COMMITTER_EMAIL=fake@example.org"), extra...)
}

// git runs one git command in the repository and returns what it printed, trimmed.
func (p *Project) git(in io.Reader, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env, cmd.Stdin = p.dir, gitEnv(), in
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return strings.TrimSpace(out.String()), fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(errs.String()))
	}
	return strings.TrimSpace(out.String()), nil
}

// ref reads a ref; "" if it does not exist.
func (p *Project) ref(name string) string {
	if data, err := os.ReadFile(filepath.Join(p.dir, filepath.FromSlash(name))); err == nil {
		return strings.TrimSpace(string(data))
	}
	packed, err := os.ReadFile(filepath.Join(p.dir, "packed-refs"))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(packed)) {
		if id, n, ok := strings.Cut(strings.TrimSpace(line), " "); ok && n == name {
			return id
		}
	}
	return ""
}

// tip returns the commit of a branch; "": there is none.
func (p *Project) tip(branch string) string { return p.ref("refs/heads/" + branch) }

// commit makes a commit with files on top of a parent; no ref moves.
func (p *Project) commit(parent string, files map[string]string, message string, at time.Time) (string, error) {
	var in bytes.Buffer
	fmt.Fprintf(&in, "commit refs/scratch/commit\ncommitter fake <fake@example.org> %d +0000\ndata %d\n%s\n", at.Unix(), len(message), message)
	if parent != "" {
		fmt.Fprintf(&in, "from %s\n", parent)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&in, "M 100644 inline %s\ndata %d\n%s\n", name, len(files[name]), files[name])
	}
	in.WriteString("\n")
	if _, err := p.git(&in, "fast-import", "--quiet", "--force"); err != nil {
		return "", err
	}
	return p.ref("refs/scratch/commit"), nil
}

// base returns the merge base of two commits; "": there is none.
func (p *Project) base(a, b string) string {
	out, err := p.git(nil, "merge-base", a, b)
	if err != nil {
		return ""
	}
	return out
}

// between lists the commits of b that a does not contain.
func (p *Project) between(a, b string) []string {
	out, err := p.git(nil, "rev-list", b, "^"+a)
	if err != nil {
		return nil
	}
	return strings.Fields(out)
}

// isAncestor reports whether b contains a.
func (p *Project) isAncestor(a, b string) bool {
	_, err := p.git(nil, "merge-base", "--is-ancestor", a, b)
	return err == nil
}

func (p *Project) has(id string) bool {
	if len(id) != 40 || strings.Trim(id, "0123456789abcdef") != "" {
		return false
	}
	_, err := p.git(nil, "cat-file", "-e", id+"^{commit}")
	return err == nil
}

func (p *Project) subject(id string) string {
	out, _ := p.git(nil, "log", "-1", "--format=%s", id)
	return out
}

// mergeTree merges b into a without a work tree; ok is false for conflicts.
func (p *Project) mergeTree(a, b string) (tree string, ok bool) {
	out, err := p.git(nil, "merge-tree", "--write-tree", a, b)
	tree, _, _ = strings.Cut(out, "\n")
	return tree, err == nil
}

// commitTree makes a commit of a tree.
func (p *Project) commitTree(tree, message string, parents ...string) string {
	args := []string{"commit-tree", tree, "-m", message}
	for _, x := range parents {
		args = append(args, "-p", x)
	}
	return must2(p.git(nil, args...))
}

// Has reports whether a commit has a file.
func (p *Project) Has(commit, file string) bool {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	_, err := p.git(nil, "cat-file", "-e", commit+":"+file)
	return err == nil
}

// Import takes over the branches of another repository, as an import into an empty project
// does: it makes no jobs and sends no webhooks.
func (p *Project) Import(dir string) error {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	if _, err := p.git(nil, "fetch", "-q", "--no-tags", dir, "+refs/heads/*:refs/heads/*"); err != nil {
		return err
	}
	names, err := p.git(nil, "for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads")
	for name := range strings.FieldsSeq(names) {
		p.cached[name] = true
	}
	return err
}
