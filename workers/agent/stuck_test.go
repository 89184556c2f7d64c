package agent_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// A step has put a link, or a file, in the place of a folder above a submodule. The next jobs of
// the slot have their checkouts all the same, and what the link leads to is left alone.
func TestAStepThatReplacesAFolderAboveASubmodule(t *testing.T) {
	t.Parallel()
	for name, does := range map[string]string{"a link out": "ln -s %s 'third party'", "a link that leads nowhere": "ln -s nowhere 'third party'", "a file": "touch 'third party'"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, commit, _ := outsideWorld(t)
			w.agent(w.options())
			top := config.Checkout{Submodules: config.SubmodulesTop}
			elsewhere := t.TempDir()
			w.must(os.MkdirAll(filepath.Join(elsewhere, "lib"), 0o755))
			if strings.Contains(does, "%") {
				does = fmt.Sprintf(does, elsewhere)
			}
			w.runWith("first", commit, top, "rm -r 'third party'; "+does)
			for _, id := range []queue.BuildID{"second", "third"} {
				if d, log := w.runWith(id, commit, top, "grep 'of lib' 'third party/lib/l'"); d.Outcome != queue.JobPassed {
					t.Errorf("%s: %+v\n%s", id, d, log)
				}
			}
			if _, err := os.Stat(filepath.Join(elsewhere, "lib")); err != nil {
				t.Error(err)
			}
		})
	}
}

// A power failure leaves the slot's repository of a submodule without a file's content. It is
// made anew: not every job of the slot fails from then on.
func TestADamagedRepositoryOfASubmodule(t *testing.T) {
	t.Parallel()
	w, commit, _ := outsideWorld(t)
	o := w.options()
	w.agent(o)
	top := config.Checkout{Submodules: config.SubmodulesTop}
	if d, log := w.runWith("first", commit, top, "true"); d.Outcome != queue.JobPassed {
		t.Fatalf("%+v\n%s", d, log)
	}
	repos, _ := filepath.Glob(filepath.Join(o.Dir, "git", "1", "m-*.git"))
	damaged := 0
	for _, repo := range repos {
		objects, _ := filepath.Glob(filepath.Join(repo, "objects", "??", "*"))
		for _, path := range objects {
			id := filepath.Base(filepath.Dir(path)) + filepath.Base(path)
			if kind, err := exec.Command("git", "--git-dir="+repo, "cat-file", "-t", id).Output(); err == nil && string(kind) == "blob\n" {
				w.must(os.Chmod(path, 0o644))
				w.must(os.WriteFile(path, nil, 0o644))
				damaged++
			}
		}
	}
	if damaged == 0 {
		t.Fatal("nothing is damaged")
	}
	w.runWith("second", commit, top, "true") // it may be lost
	if d, log := w.runWith("third", commit, top, "grep 'of lib' 'third party/lib/l'"); d.Outcome != queue.JobPassed {
		t.Errorf("%+v\n%s", d, log)
	}
}

// A step has left folders that cannot be written, as Go's module cache is. The next jobs of the slot
// have their checkouts all the same.
func TestFoldersThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 { // root may write everywhere
		if runtime.GOOS != "linux" {
			t.Skip("needs to be run by another user than root")
		}
		dir, err := os.MkdirTemp("", "submitqueue-nobody")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestFoldersThatCannotBeWritten$")
		cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	w := newWorld(t)
	w.agent(w.options())
	w.joined()
	w.run("first", "mkdir -p mod/x@v1 && touch mod/x@v1/go.mod && chmod 555 mod/x@v1 mod", time.Minute)
	if d := w.done("first"); d.Outcome != queue.JobPassed {
		t.Fatalf("%+v\n%s", d, w.log("first"))
	}
	for _, id := range []queue.BuildID{"second", "third"} {
		w.run(id, "test ! -e mod && cat hello", time.Minute)
		if d := w.done(id); d.Outcome != queue.JobPassed {
			t.Errorf("%+v\n%s", d, w.log(id))
		}
	}
}
