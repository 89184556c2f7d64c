package app_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/forge/mirror"
)

// The branch wants signatures and a linear history: what lands by squash or rebase
// has both, what lands by merge is parked with the rule's words.
func TestSignedAndLinear(t *testing.T) {
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		t.Skip("ssh-keygen is not installed")
	}
	key := filepath.Join(t.TempDir(), "key")
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	signer := must(mirror.SSHSigner(must(os.ReadFile(key))))
	h := newHub(t, hubOptions{files: methods("method: squash, methods: [merge, rebase]"), signer: signer})
	h.proven()
	h.ProtectBranch("main", forgetest.Protection{AllowPushers: []string{"submitqueue"}, LinearHistory: true, RequireSigned: true})
	n := h.land("a", map[string]string{"a": "a\n"})
	h.landed(n, "by squash")
	parts, _ := h.three("b", "")
	h.Comment("ann", parts, "/land method=rebase")
	h.landed(parts, "by rebase, as 3 commits")
	merged := h.pull("c", map[string]string{"c": "c\n"})
	h.Comment("ann", merged, "/land method=merge")
	h.says(merged, "🅿️ Parked: the forge refused the push", "must not contain merge commits")
	h.Comment("ann", merged, "/land method=squash")
	h.landed(merged, "by squash")
	if got := git(t, h.Dir(), "rev-list", "--count", "--merges", "main"); got != "0" {
		t.Errorf("%s merges on main", got)
	}
	h.green()
}

// Without a key nothing that the queue makes may land there, and that is said.
func TestUnsigned(t *testing.T) {
	h := newHub(t, hubOptions{files: methods("method: squash")})
	h.proven()
	h.ProtectBranch("main", forgetest.Protection{AllowPushers: []string{"submitqueue"}, RequireSigned: true, Ruleset: true})
	n := h.land("a", map[string]string{"a": "a\n"})
	h.says(n, "🅿️ Parked: the forge refused the push", "must have verified signatures")
	if p := h.Pull(n); p.State != "open" || p.Head != h.Head("a") {
		t.Errorf("%+v", p)
	}
}
