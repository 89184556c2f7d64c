package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/submitqueue/submitqueue/queue/storetest"
)

// TestMain lets the scripts, and the crash test, run this very binary as
// `submitqueue`.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) != "submitqueue" {
		storetest.FilesInMemory()
		storetest.AtOnce(8)
	}
	testscript.Main(m, map[string]func(){"submitqueue": main})
}

// TestScripts runs testdata/*.txtar: sessions at a terminal, with a server on a
// plain repository in the background. A plain go test draws one of three.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, scripts("testdata"))
}

// scripts are the scripts of a folder, with the commands that they may use.
func scripts(dir string) testscript.Params {
	p := testscript.Params{
		Dir: dir,
		// [long] holds where SUBMITQUEUE_REQUIRE names that.
		Condition: func(name string) (bool, error) {
			if name == "long" {
				return storetest.Required(name), nil
			}
			return false, fmt.Errorf("unknown condition %q", name)
		},
		Setup: func(e *testscript.Env) error {
			if !storetest.Drawn(filepath.Base(e.WorkDir), 3) {
				e.T().Skip("a plain go test runs one of three of these; SUBMITQUEUE_REQUIRE=long, or -run, runs each")
			}
			for name, value := range map[string]string{
				"SUBMITQUEUE_DATA": filepath.Join(e.WorkDir, "data"), "HOME": e.WorkDir, "NO_COLOR": "1", "SUBMITQUEUE_ISOLATE": "none",
				"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_AUTHOR_NAME": "Ann", "GIT_AUTHOR_EMAIL": "ann@example.com",
				"GIT_COMMITTER_NAME": "Ann", "GIT_COMMITTER_EMAIL": "ann@example.com",
			} {
				e.Setenv(name, value)
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			// shows PATTERN PROGRAM ARGS... runs a program until it prints that.
			"shows": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) < 2 {
					ts.Fatalf("usage: shows PATTERN PROGRAM ARGS...")
				}
				pattern := regexp.MustCompile("(?m)" + args[0])
				for end := time.Now().Add(3 * time.Minute); ; {
					err := ts.Exec(args[1], args[2:]...)
					if out := ts.ReadFile("stdout"); err == nil && pattern.MatchString(out) {
						return
					} else if time.Now().After(end) {
						ts.Fatalf("%v does not show %q:\n%s", args[1:], args[0], out)
					}
					<-time.After(100 * time.Millisecond)
				}
			},
			// exits STATUS PROGRAM ARGS... runs a program that must end with a status.
			"exits": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) < 2 {
					ts.Fatalf("usage: exits STATUS PROGRAM ARGS...")
				}
				status := 0
				if err := ts.Exec(args[1], args[2:]...); err != nil {
					ended := (*exec.ExitError)(nil)
					if !errors.As(err, &ended) {
						ts.Fatalf("%v", err)
					}
					status = ended.ExitCode()
				}
				if fmt.Sprint(status) != args[0] {
					ts.Fatalf("%v ends with %d, want %s", args[1:], status, args[0])
				}
			},
			// gitonly FOLDER puts git, and this program as $SUBMITQUEUE, where nothing else is.
			"gitonly": func(ts *testscript.TestScript, neg bool, args []string) {
				git, err := exec.LookPath("git")
				if err == nil {
					err = os.Symlink(git, filepath.Join(ts.MkAbs(args[0]), "git"))
				}
				ts.Check(err)
				self, err := exec.LookPath("submitqueue")
				ts.Check(err)
				ts.Setenv("SUBMITQUEUE", self)
			},
			// awaited FILE waits until a file is there.
			"awaited": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) != 1 {
					ts.Fatalf("usage: awaited FILE")
				}
				if !appears(ts.MkAbs(args[0]), 30*time.Second) {
					ts.Fatalf("%s does not appear", args[0])
				}
			},
		},
	}
	maps.Copy(p.Cmds, tokenCommands())
	return p
}

// appears waits for a file.
func appears(path string, limit time.Duration) bool {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(limit); ; {
		if _, err := os.Stat(path); err == nil {
			return true
		}
		select {
		case <-tick.C:
		case <-end:
			return false
		}
	}
}
