package agent

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/submitqueue/submitqueue/workers"
	"github.com/submitqueue/submitqueue/workers/protocol"
)

// nameOf returns the name of a repository's folder, from its address without credentials.
func nameOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "none"
	}
	u.User = nil
	sum := sha256.Sum256([]byte(u.String()))
	return hex.EncodeToString(sum[:8])
}

// checkout makes the place's checkout hold exactly the files of the job's commit. The
// repository is in a folder that no step can reach; the checkout has only the name of the
// commit, which the job's script reads.
func (s *slot) checkout(ctx context.Context, j protocol.Job, t *trace) error {
	g := j.GitInfo
	if len(g.SHA) < 40 || strings.Trim(g.SHA, "0123456789abcdef") != "" {
		return errors.New("that is no name of a commit")
	}
	u, err := url.Parse(g.RepoURL)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" {
		return errors.New("the repository's address is no URL of http or https")
	}
	var auth string
	if u.User != nil {
		password, _ := u.User.Password()
		auth = basic(u.User.Username(), password)
		u.User = nil
	}
	if !g.Outside {
		for _, v := range j.Variables {
			if v.Key == "GIT_SUBMODULE_STRATEGY" && v.Value != "none" && v.Value != "" {
				return errors.New("this server does not give submodules to runners like this one: update it, or use gitlab-runner")
			}
		}
	}
	dir := s.gitDir(j)
	repo := repository{dir: dir, tree: s.place.Checkout(), out: t}
	if err := repo.open(ctx); err != nil {
		return err
	}
	fetch := []string{"fetch", "-q", "--no-tags", "--no-write-fetch-head", "--force", "--update-shallow"}
	if g.Depth > 0 {
		fetch = append(fetch, fmt.Sprintf("--depth=%d", g.Depth))
	}
	t.say("Fetching %s", g.SHA)
	if err := repo.fetch(ctx, auth, append(append(fetch, u.String()), g.Refspecs...)); err != nil {
		return err
	}
	err = s.files(ctx, repo, g.SHA)
	if repo.discarded(ctx, err) {
		return fmt.Errorf("the repository of the slot is damaged; the next job makes it anew: %w", err)
	}
	if err != nil && ctx.Err() == nil {
		// A step may have left the cause, such as folders that cannot be written (Go's module
		// cache): it must not keep the next jobs from the slot.
		t.say("submitqueue runner: %v; trying in a new folder", err)
		if err = errors.Join(workers.RemoveAll(s.place.Checkout()), s.place.Fresh()); err == nil {
			err = s.files(ctx, repo, g.SHA)
		}
	}
	if err != nil {
		return err
	}
	if g.Outside {
		o := outside{slot: s, base: strings.TrimSuffix(u.String(), "/"), auth: auth, out: t}
		if err := o.fill(ctx); err != nil {
			return err
		}
	}
	marker := filepath.Join(s.place.Checkout(), ".git")
	if err := os.Mkdir(marker, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(marker, "HEAD"), []byte(g.SHA+"\n"), 0o644); err != nil {
		return err
	}
	return s.place.Hand()
}

// files makes the place's checkout hold the files of a commit, and no others. No process of the
// place runs: its files cannot change while git works.
func (s *slot) files(ctx context.Context, repo repository, commit string) error {
	if err := s.unfill(); err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(s.place.Checkout(), ".git")); err != nil {
		return err
	}
	if err := repo.git(ctx, "", "checkout", "-q", "--force", "--detach", commit); err != nil {
		return err
	}
	return repo.git(ctx, "", "clean", "-ffdxq")
}

// repository runs git for a job.
type repository struct {
	dir, tree string
	out       *trace
}

// open makes the repository if there is none, and removes locks that a killed git has left in
// it, of this process or an earlier one: no other git uses it for a job.
func (r repository) open(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(r.dir, "HEAD")); err != nil {
		if err := os.RemoveAll(r.dir); err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(r.dir), 0o700); err != nil {
			return err
		}
		if err := r.git(ctx, "", "init", "-q", "--bare", r.dir); err != nil {
			return err
		}
	}
	for _, lock := range []string{"index.lock", "shallow.lock", "HEAD.lock"} {
		_ = os.Remove(filepath.Join(r.dir, lock))
	}
	// gc, which git may have left at work, holds this one for seconds. One that is old would keep gc
	// from ever packing the repository again.
	packed := filepath.Join(r.dir, "packed-refs.lock")
	if info, err := os.Lstat(packed); err == nil && time.Since(info.ModTime()) > time.Hour {
		_ = os.Remove(packed)
	}
	return filepath.WalkDir(filepath.Join(r.dir, "refs"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".lock") && d.Type().IsRegular() {
			err = os.Remove(path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil // gc, which git may have left at work, packs refs
		}
		return err
	})
}

// fetch runs git fetch, three times at most.
func (r repository) fetch(ctx context.Context, auth string, args []string) (err error) {
	var pause backOff
	for try := 1; ; try++ {
		if err = r.git(ctx, auth, args...); err == nil || try == 3 || ctx.Err() != nil {
			return err
		}
		if r.discarded(ctx, err) {
			if err := r.open(ctx); err != nil {
				return err
			}
		}
		if !pause.wait(ctx, nil) {
			return err
		}
	}
}

// damageWords are git's messages about a repository that it cannot read, as a power failure leaves
// it; in lower case. forge/mirror/damage.go has a longer list, which agents may not import.
var damageWords = []string{"not a git repository", "is corrupt", "inflate: ", "bad object", "bad tree object", "unable to read",
	"unable to unpack", "unable to parse", "packfile ", "index file ", "multi-pack-index", "commit-graph", "bad config", "invalid sha1 pointer", "reference broken",
	"did not send all necessary objects", "bad shallow line", "unterminated line in", "unexpected line in"}

// discarded removes the repository if git has failed because it cannot read it, and reports
// whether it did: all that the repository has comes from the server, and open makes it anew. Else no
// job of the slot would ever work again. It removes nothing where err is nil, or ctx has ended.
func (r repository) discarded(ctx context.Context, err error) bool {
	if err == nil || ctx.Err() != nil {
		return false
	}
	said := strings.ToLower(err.Error())
	return slices.ContainsFunc(damageWords, func(words string) bool { return strings.Contains(said, words) }) && os.RemoveAll(r.dir) == nil
}

// git runs git. It ignores the configuration of the user and of the machine, runs no hook, and
// puts no credentials on the command line.
func (r repository) git(ctx context.Context, auth string, args ...string) error {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = filepath.Dir(r.dir)
	config := [][2]string{{"core.hooksPath", os.DevNull}, {"core.fsmonitor", "false"}, {"core.logAllRefUpdates", "false"}, {"gc.auto", "200"}, {"safe.directory", "*"},
		{"core.symlinks", "true"}, {"advice.detachedHead", "false"}, {"submodule.recurse", "false"}, {"protocol.file.allow", "never"}, {"protocol.ext.allow", "never"}}
	if auth != "" {
		config = append(config, [2]string{"http.extraHeader", auth})
	}
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + r.dir, "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull,
		fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(config))}
	for _, name := range []string{"SSL_CERT_FILE", "SSL_CERT_DIR", "https_proxy", "HTTPS_PROXY", "no_proxy", "NO_PROXY"} {
		if v := os.Getenv(name); v != "" {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	for i, c := range config {
		cmd.Env = append(cmd.Env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, c[0]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, c[1]))
	}
	if args[0] != "init" {
		cmd.Env = append(cmd.Env, "GIT_DIR="+r.dir)
	}
	if args[0] == "checkout" || args[0] == "clean" || args[0] == "read-tree" {
		cmd.Env = append(cmd.Env, "GIT_WORK_TREE="+r.tree)
		cmd.Dir = r.tree
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = r.out, &said
	err := cmd.Run()
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	text := strings.TrimSpace(said.String())
	return fmt.Errorf("git %s: %s", args[0], text[max(0, len(text)-500):])
}
