package workers

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/submitqueue/submitqueue/queue"
)

func TestToolchainsOf(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	for _, dir := range []string{".rustup", ".volta", ".cargo", ".m2"} {
		if err := os.Mkdir(filepath.Join(home, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(home, ".nvm"), nil, 0o600); err != nil { // no folder
		t.Fatal(err)
	}
	open := "/usr"
	base := []string{"HOME=" + home, "VOLTA_HOME=/opt/volta", "JAVA_HOME=" + open, "CARGO_HOME=" + home + "/.cargo", "GRADLE_USER_HOME=/g", "AWS_SECRET_ACCESS_KEY=x", "RUSTUP_TOOLCHAIN=stable"}
	want := map[string]string{"RUSTUP_HOME": filepath.Join(home, ".rustup"), "VOLTA_HOME": "/opt/volta", "JAVA_HOME": open, "RUSTUP_TOOLCHAIN": "stable"}
	if got := toolchainsOf(base, false); !maps.Equal(got, want) {
		t.Errorf("steps see %v", got)
	}
	// A guest is not told of folders that it cannot read.
	want = map[string]string{"JAVA_HOME": open, "RUSTUP_TOOLCHAIN": "stable"}
	if got := toolchainsOf(base, true); !maps.Equal(got, want) {
		t.Errorf("guests see %v", got)
	}
	if got := toolchainsOf(nil, false); len(got) != 0 {
		t.Errorf("without a home: %v", got)
	}
}

// A step finds the toolchain that rustup has in the home of the agent's user, though its
// own home is empty. The script in rustup's place fails as rustup does without a
// toolchain.
func TestStepsFindToolchains(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	bin := filepath.Join(home, ".cargo", "bin")
	for dir, mode := range map[string]os.FileMode{bin: 0o755, filepath.Join(home, ".rustup", "toolchains", "stable"): 0o755} {
		if err := os.MkdirAll(dir, mode); err != nil {
			t.Fatal(err)
		}
	}
	shim := "#!/bin/sh\nls \"${RUSTUP_HOME:-$HOME/.rustup}/toolchains/\" | grep -q . || { echo 'error: rustup could not choose a version of cargo to run, because one was not specified explicitly, and no default is configured.' >&2; exit 1; }\n"
	if err := os.WriteFile(filepath.Join(bin, "cargo"), []byte(shim), 0o755); err != nil {
		t.Fatal(err)
	}
	r := slot(t, tree{"f": "x"}, func(o *RunnerOptions) { o.Env = []string{"HOME=" + home, "PATH=" + bin + ":/usr/bin:/bin"} })
	done, res := one(t, r, job(step("cargo build && test ! -e $HOME/.cargo"), "./a"))
	if done.Outcome != queue.JobPassed {
		t.Errorf("%s: %s", done.Outcome, res.log)
	}
}
