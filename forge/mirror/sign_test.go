package mirror_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/storetest"
)

// sshKey makes a key for signing by the program that people use.
func sshKey(t *testing.T, kind string, more ...string) (private string) {
	t.Helper()
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		t.Skip("ssh-keygen is not installed")
	}
	private = filepath.Join(t.TempDir(), "key")
	if out, err := exec.Command("ssh-keygen", append([]string{"-q", "-t", kind, "-N", "", "-C", "", "-f", private}, more...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return private
}

// Commits signed by us are what git itself takes for signed, and the same each time.
func TestCommitsAreSignedBySSH(t *testing.T) {
	t.Parallel()
	for kind, more := range map[string][]string{"ed25519": nil, "rsa": {"-b", "2048"}} { // quickly made
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r, m, base, a, b, _ := world(t)
			private := sshKey(t, kind, more...)
			signer := must(mirror.SSHSigner(must(os.ReadFile(private))(t)))(t)
			m.Merges.Signer = signer
			squash := pick("", b)
			squash.Squash, squash.Author = true, "Ann <ann@x>"
			picks := []mirror.Pick{pick("", a), squash}
			made := must(m.Merges.MergeChain(t.Context(), base, picks))(t)
			replayed := must(m.Merges.MergeWave(t.Context(), []mirror.Pick{{Parent: made[0].Commit, Head: b, Rebase: true, Message: "Change: 1.aa\n"}}))(t)
			flush(t, m)
			public := strings.TrimSpace(string(must(os.ReadFile(private + ".pub"))(t)))
			allowed := filepath.Join(t.TempDir(), "allowed")
			if err := os.WriteFile(allowed, []byte("submitqueue@localhost "+public+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, id := range []queue.CommitID{made[0].Commit, made[1].Commit, replayed[0].Commit} {
				cmd := exec.Command("git", "--git-dir="+m.Dir(), "-c", "gpg.format=ssh", "-c", "gpg.ssh.allowedSignersFile="+allowed, "verify-commit", string(id))
				if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "Good \"git\" signature for submitqueue@localhost") {
					t.Errorf("%s: %v\n%s", id, err, out)
				}
				(&repo{t, m.Dir()}).run("", "fsck", "--strict", string(id))
			}
			other := r.fetched("a", "b")
			other.Merges.Signer = signer
			if again := must(other.Merges.MergeChain(t.Context(), base, picks))(t); again[1].Commit != made[1].Commit {
				t.Errorf("once %s, once %s", made[1].Commit, again[1].Commit)
			}
		})
	}
}

func TestKeysThatCannotSign(t *testing.T) {
	t.Parallel()
	if _, err := mirror.SSHSigner([]byte("no key")); err == nil || !strings.Contains(err.Error(), "ssh-keygen -t ed25519") {
		t.Error(err)
	}
	private := sshKey(t, "ecdsa")
	if _, err := mirror.SSHSigner(must(os.ReadFile(private))(t)); err == nil || !strings.Contains(err.Error(), "differently each time") {
		t.Error(err)
	}
	locked := sshKey(t, "ed25519", "-a", "1")
	if out, err := exec.Command("ssh-keygen", "-q", "-p", "-P", "", "-N", "secret", "-f", locked).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if _, err := mirror.SSHSigner(must(os.ReadFile(locked))(t)); err == nil || !strings.Contains(err.Error(), "passphrase") {
		t.Error(err)
	}
}

func TestCommitsAreSignedByGPG(t *testing.T) {
	storetest.OneOf(t, 2)
	if _, err := exec.LookPath("gpg"); err != nil {
		t.Skip("gpg is not installed")
	}
	home, err := os.MkdirTemp("", "gpg") // its sockets need a short path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = exec.Command("gpgconf", "--homedir", home, "--kill", "all").Run()
		os.RemoveAll(home)
	})
	t.Setenv("GNUPGHOME", home)
	if out, err := exec.Command("gpg", "--batch", "--quiet", "--faked-system-time=1500000000", "--passphrase", "", "--quick-generate-key", "Queue <submitqueue@localhost>", "ed25519", "sign", "never").CombinedOutput(); err != nil {
		t.Skipf("gpg makes no key here: %v: %s", err, out)
	}
	r, m, base, a, _, _ := world(t)
	signer := must(mirror.GPGSigner(t.Context(), "submitqueue@localhost"))(t)
	m.Merges.Signer = signer
	made := must(m.Merges.MergeChain(t.Context(), base, []mirror.Pick{pick("", a)}))(t)
	flush(t, m)
	if out, err := exec.Command("git", "--git-dir="+m.Dir(), "verify-commit", string(made[0].Commit)).CombinedOutput(); err != nil || !strings.Contains(string(out), "Good signature") {
		t.Errorf("%v\n%s", err, out)
	}
	other := r.fetched("a")
	other.Merges.Signer = signer
	if again := must(other.Merges.MergeChain(t.Context(), base, []mirror.Pick{pick("", a)}))(t); again[0].Commit != made[0].Commit {
		t.Errorf("once %s, once %s", made[0].Commit, again[0].Commit)
	}
	if out, err := exec.Command("gpg", "--batch", "--quiet", "--pinentry-mode=loopback", "--passphrase", "secret", "--quick-generate-key", "Locked <locked@localhost>", "ed25519", "sign", "never").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	_ = exec.Command("gpgconf", "--kill", "gpg-agent").Run() // it remembers the passphrase
	if _, err := mirror.GPGSigner(t.Context(), "locked@localhost"); err == nil || !strings.Contains(err.Error(), "passphrase") || !strings.Contains(err.Error(), "No pinentry") {
		t.Error(err)
	}
	if _, err := mirror.GPGSigner(t.Context(), "nobody@example.org"); err == nil || !strings.Contains(err.Error(), "list-secret-keys") {
		t.Error(err)
	}
}
