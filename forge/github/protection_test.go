package github_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/forgetest"
)

// admin is the default permissions and the right to read protection.
func admin() map[string]string {
	return map[string]string{
		"contents": "write", "pull_requests": "write", "issues": "write", "checks": "write",
		"metadata": "read", "administration": "read",
	}
}

func TestProtection(t *testing.T) {
	for name, c := range map[string]struct {
		protection  *forgetest.Protection
		permissions map[string]string
		protected   bool
		mayPush     bool
		rule        string // contained
	}{
		"none":                 {nil, admin(), false, true, ""},
		"none, unread":         {nil, nil, false, true, ""},
		"only we":              {&forgetest.Protection{AllowPushers: []string{"submitqueue"}}, admin(), true, true, ""},
		"only others":          {&forgetest.Protection{AllowPushers: []string{"ann", "other"}}, admin(), true, false, "not authorized"},
		"checks":               {&forgetest.Protection{RequiredChecks: []string{"submitqueue"}}, admin(), true, true, ""},
		"pull requests":        {&forgetest.Protection{RequirePull: true}, admin(), true, false, "through a pull request"},
		"pull requests, by us": {&forgetest.Protection{RequirePull: true, Bypass: []string{"submitqueue"}}, admin(), true, true, ""},
		"unread":               {&forgetest.Protection{RequirePull: true}, nil, true, true, "could not be read"},
		"ruleset":              {&forgetest.Protection{RequirePull: true, Ruleset: true}, nil, true, false, "through a pull request"},
		"ruleset, by us": {&forgetest.Protection{RequirePull: true, Ruleset: true, Bypass: []string{"submitqueue"}},
			nil, true, true, ""},
		"rules of types to come": {&forgetest.Protection{Ruleset: true, ExtraRules: []string{"quantum_proof"}}, admin(), true, true, ""},
		"their queue":            {&forgetest.Protection{Ruleset: true, ExtraRules: []string{"merge_queue"}}, admin(), true, false, "merge queue"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, forgetest.Options{Permissions: c.permissions})
			branch := "release/1.0"
			w.commit(branch, "main")
			if c.protection != nil {
				w.repo.ProtectBranch(branch, *c.protection)
			}
			got, err := w.forge.Protection(w.ctx, branch)
			w.must(err)
			if got.Protected != c.protected || got.MayPush != c.mayPush ||
				!strings.Contains(got.Rule, c.rule) || c.rule == "" && got.Rule != "" {
				t.Errorf("%+v", got)
			}
			if _, err := w.forge.Protection(w.ctx, "no/such"); !isErr(err, forge.ErrNotFound) {
				t.Errorf("a branch that is not there: %v", err)
			}
		})
	}
}

func TestProtectionRefusesPushesInGitHubsWords(t *testing.T) {
	w := newWorld(t, forgetest.Options{})
	remote, err := w.forge.Remote(w.ctx)
	w.must(err)
	dir := filepath.Join(t.TempDir(), "clone")
	if out, err := w.git(".", remote, "clone", "-q", remote.URL, dir); err != nil {
		t.Fatal(out)
	}
	if out, err := w.git(dir, remote, "commit", "-q", "--allow-empty", "-m", "next"); err != nil {
		t.Fatal(out)
	}
	refused := func(want string, args ...string) {
		t.Helper()
		out, err := w.git(dir, remote, append([]string{"push", "origin"}, args...)...)
		if err == nil || !strings.Contains(out, want) {
			t.Errorf("%v: want %q in\n%s", args, want, out)
		}
	}
	const gh006 = "remote: error: GH006: Protected branch update failed for refs/heads/main."
	w.repo.ProtectBranch("main", forgetest.Protection{AllowPushers: []string{"ann"}})
	refused(gh006, "HEAD:main")
	refused("[remote rejected] HEAD -> main (protected branch hook declined)", "HEAD:main")
	refused("Cannot delete this branch", ":main")

	w.repo.ProtectBranch("main", forgetest.Protection{AllowPushers: []string{"submitqueue"}, RequiredChecks: []string{"submitqueue"}})
	refused(`Required status check "submitqueue" is expected.`, "HEAD:main")
	if out, err := w.git(dir, remote, "push", "-q", "origin", "HEAD:submitqueue-land/main"); err != nil {
		t.Fatal(out)
	}
	head, _ := w.git(dir, remote, "rev-parse", "HEAD")
	w.repo.CI.SetCheck("submitqueue", head, "submitqueue", "failure")
	refused(`Required status check "submitqueue" is failing.`, "HEAD:main")
	w.repo.CI.SetCheck("submitqueue", head, "submitqueue", "success")
	if out, err := w.git(dir, remote, "push", "-q", "origin", "HEAD:main"); err != nil {
		t.Fatal(out)
	}
	if out, err := w.git(dir, remote, "commit", "-q", "--amend", "--allow-empty", "-m", "other"); err != nil {
		t.Fatal(out)
	}
	refused("Cannot force-push to this branch", "-f", "HEAD:main")

	// One refused ref of an atomic push refuses all; of another push, only itself.
	refused("atomic push failure", "--atomic", "-f", "HEAD:main", "HEAD:side")
	if w.repo.Head("side") != "" {
		t.Error("half of an atomic push was taken")
	}
	refused("hook declined", "-f", "HEAD:main", "HEAD:side")
	if w.repo.Head("side") == "" {
		t.Error("a ref was refused for its neighbour")
	}
	w.repo.ProtectBranch("main", forgetest.Protection{Ruleset: true, RequirePull: true})
	if out, err := w.git(dir, remote, "reset", "-q", "--hard", head); err != nil {
		t.Fatal(out)
	}
	if out, err := w.git(dir, remote, "commit", "-q", "--allow-empty", "-m", "more"); err != nil {
		t.Fatal(out)
	}
	refused("GH013: Repository rule violations found for refs/heads/main.", "HEAD:main")
	refused("(push declined due to repository rule violations)", "HEAD:main")
}

func TestLostRaceIsAStaleLease(t *testing.T) {
	w := newWorld(t, forgetest.Options{})
	remote, err := w.forge.Remote(w.ctx)
	w.must(err)
	dir := filepath.Join(t.TempDir(), "clone")
	if out, err := w.git(".", remote, "clone", "-q", remote.URL, dir); err != nil {
		t.Fatal(out)
	}
	was, _ := w.git(dir, remote, "rev-parse", "HEAD")
	if out, err := w.git(dir, remote, "commit", "-q", "--allow-empty", "-m", "ours"); err != nil {
		t.Fatal(out)
	}
	theirs := w.commit("main", "")
	out, err := w.git(dir, remote, "push", "--force-with-lease=main:"+was, "origin", "HEAD:main")
	if err == nil || !strings.Contains(out, "stale info") || w.repo.Head("main") != theirs {
		t.Errorf("%s", out)
	}
}

// What a survey asks is held to GitHub's descriptions, as is all that goes through newWorld.
func TestSurveyOfMergeQueue(t *testing.T) {
	w := newWorld(t, forgetest.Options{})
	for kind, want := range map[string]bool{"merge_queue": true, "copilot_code_review": false} {
		w.repo.ProtectBranch("main", forgetest.Protection{ExtraRules: []string{kind}})
		if s := w.forge.Survey(w.ctx, "main"); s.MergeQueueErr != nil || s.MergeQueue != want {
			t.Errorf("%s: %v, %v", kind, s.MergeQueue, s.MergeQueueErr)
		}
	}
}
