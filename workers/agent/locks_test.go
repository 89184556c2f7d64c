package agent_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// git is killed while it moves the ref of a job (the job is cancelled, or the agent is killed).
// The lock that it leaves does not hold up the next jobs of the slot.
func TestLocksThatAKilledGitLeaves(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.options()
	w.agent(o)
	w.joined()
	w.run("first", "true", time.Minute)
	if d := w.done("first"); d.Outcome != queue.JobPassed {
		t.Fatalf("%+v", d)
	}
	var repo string
	w.must(filepath.WalkDir(filepath.Join(o.Dir, "git"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "HEAD" && repo == "" {
			repo = filepath.Dir(path)
		}
		return err
	}))
	w.must(os.WriteFile(filepath.Join(repo, "refs", "submitqueue", "job.lock"), nil, 0o644))
	packed := filepath.Join(repo, "packed-refs.lock")
	w.must(os.WriteFile(packed, nil, 0o644))
	w.must(os.Chtimes(packed, time.Now(), time.Now().Add(-2*time.Hour)))
	w.commit = strings.TrimSpace(w.git(w.repo, "commit-tree", "-p", w.commit, "-m", "second", w.commit+"^{tree}"))
	w.run("second", "true", time.Minute)
	if d := w.done("second"); d.Outcome != queue.JobPassed {
		t.Errorf("%+v\n%s", d, w.log("second"))
	}
	if _, err := os.Lstat(packed); err == nil {
		t.Error("git gc fails in this repository for ever")
	}
}

// A power failure leaves a slot's repository damaged. It is made anew: not every job of the slot
// fails from then on, until a person removes it.
func TestADamagedRepositoryIsMadeAnew(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(w *world, repo string){
		"its HEAD is empty": func(w *world, repo string) { w.must(os.WriteFile(filepath.Join(repo, "HEAD"), nil, 0o644)) },
		"its list of refs is full of zeros": func(w *world, repo string) {
			w.must(os.WriteFile(filepath.Join(repo, "packed-refs"), make([]byte, 80), 0o644))
		},
		"its list of shallow commits is full of zeros": func(w *world, repo string) {
			w.must(os.WriteFile(filepath.Join(repo, "shallow"), make([]byte, 41), 0o644))
		},
		"its objects are": func(w *world, repo string) {
			w.must(filepath.WalkDir(filepath.Join(repo, "objects"), func(path string, d fs.DirEntry, err error) error {
				if err == nil && d.Type().IsRegular() {
					if err = os.Chmod(path, 0o644); err == nil {
						err = os.WriteFile(path, nil, 0o644)
					}
				}
				return err
			}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			o := w.options()
			w.agent(o)
			w.joined()
			w.run("first", "true", time.Minute)
			if d := w.done("first"); d.Outcome != queue.JobPassed {
				t.Fatalf("%+v", d)
			}
			repos, _ := filepath.Glob(filepath.Join(o.Dir, "git", "1", "*.git"))
			damage(w, repos[0])
			w.commit = strings.TrimSpace(w.git(w.repo, "commit-tree", "-p", w.commit, "-m", "second", w.commit+"^{tree}"))
			w.run("second", "cat hello", time.Minute)
			w.done("second") // it may be lost
			w.run("third", "cat hello", time.Minute)
			if d := w.done("third"); d.Outcome != queue.JobPassed {
				t.Errorf("%+v\n%s", d, w.log("third"))
			}
		})
	}
}
