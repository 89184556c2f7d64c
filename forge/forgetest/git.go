package forgetest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const zeroID = "0000000000000000000000000000000000000000"

// bareConfig lets clients fetch any object by its id, as GitHub does. Our own
// scratch refs are hidden.
const bareConfig = `[core]
	repositoryformatversion = 0
	filemode = true
	bare = true
[gc]
	auto = 0
[transfer]
	hideRefs = refs/forgetest
[uploadpack]
	allowAnySHA1InWant = true
	allowFilter = true
`

// initBare lays out a bare repository by hand: git init copies hook samples and
// costs a process.
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

// gitEnv returns an environment without the machine's git configuration and without
// the variables of a surrounding git process.
func gitEnv(extra ...string) []string {
	var env []string
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "GIT_") {
			env = append(env, kv)
		}
	}
	env = append(env, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
	return append(env, extra...)
}

// git runs one git command in the repository and returns what it printed.
func (r *store) git(ctx context.Context, in io.Reader, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Env, cmd.Stdin = r.repo.dir, gitEnv(), in
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(errs.String()))
	}
	return out.Bytes(), nil
}

// readRef reads a ref from the files git keeps it in, without a process.
// A ref that does not exist is "".
func (r *store) readRef(ref string) string {
	if data, err := os.ReadFile(filepath.Join(r.repo.dir, filepath.FromSlash(ref))); err == nil {
		return strings.TrimSpace(string(data))
	}
	packed, err := os.ReadFile(filepath.Join(r.repo.dir, "packed-refs"))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(packed)) {
		if id, name, ok := strings.Cut(strings.TrimSpace(line), " "); ok && name == ref {
			return id
		}
	}
	return ""
}

// writeRef writes a ref that only we write: refs/pull/<n>/head.
func (r *store) writeRef(ref, id string) error {
	path := filepath.Join(r.repo.dir, filepath.FromSlash(ref))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path+".lock", []byte(id+"\n"), 0o644); err != nil {
		return err
	}
	return os.Rename(path+".lock", path)
}

// commitInfo holds the facts that webhooks tell about a commit.
type commitInfo struct {
	side, id, tree, name, email, when, subject string

	files map[string][]string // by git's letter for the change; not for merges
}

const infoFormat = "--format=%m%x1f%H%x1f%T%x1f%an%x1f%ae%x1f%cI%x1f%s"

func parseInfo(out []byte) []commitInfo {
	var list []commitInfo
	for line := range strings.Lines(string(out)) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), "\x1f", 7)
		if len(f) == 7 {
			list = append(list, commitInfo{side: f[0], id: f[1], tree: f[2], name: f[3], email: f[4], when: f[5], subject: f[6], files: map[string][]string{}})
		} else if kind, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t"); ok && len(list) > 0 {
			files := list[len(list)-1].files
			files[kind] = append(files[kind], name)
		}
	}
	return list
}

func (c commitInfo) json() obj {
	who := obj{"name": c.name, "email": c.email}
	return obj{
		"id": c.id, "tree_id": c.tree, "message": c.subject, "timestamp": c.when, "distinct": true,
		"author": who, "committer": who, "added": orEmpty(c.files["A"]), "removed": orEmpty(c.files["D"]),
		"modified": orEmpty(slices.Concat(c.files["M"], c.files["T"])),
	}
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// hasObject says whether a commit exists. It asks git only once for each commit,
// and not at all for a loose one. The caller holds s.mu.
func (r *store) hasObject(id string) bool {
	if len(id) != 40 || strings.Trim(id, "0123456789abcdef") != "" {
		return false
	}
	if r.repo.known[id] {
		return true
	}
	if _, err := os.Stat(filepath.Join(r.repo.dir, "objects", id[:2], id[2:])); err != nil {
		if _, err := r.git(context.Background(), nil, "cat-file", "-e", id); err != nil {
			return false
		}
	}
	r.repo.known[id] = true
	return true
}
