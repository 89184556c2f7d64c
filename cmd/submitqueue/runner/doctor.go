package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
	"github.com/submitqueue/submitqueue/workers"
	"github.com/submitqueue/submitqueue/workers/agent"
)

// Doctor says what a machine lacks to run builds.
type Doctor struct {
	flags
	Isolate string `enum:"auto,uid,namespace,sandbox,none" default:"auto" env:"SUBMITQUEUE_ISOLATE" help:"The means that keeps steps apart."`
	UIDs    string `name:"isolate-uids" default:"58000-58999" env:"SUBMITQUEUE_ISOLATE_UIDS" help:"User ids for --isolate uid." placeholder:"FIRST-LAST"`
}

// finding is one thing that was looked at.
type finding struct {
	subject, text string
	bad           bool // builds cannot be run
	doubt         bool // builds can be run, but the text says what to look at
}

// Run implements the command. Its exit status is 1 where builds cannot be run.
func (c *Doctor) Run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	all := []finding{c.git(ctx), c.disk(), c.isolation()}
	all = append(all, c.server(ctx)...)
	all = append(all, c.tools()...)
	bad := 0
	for _, f := range all {
		mark := "ok   "
		switch {
		case f.bad:
			mark = "FAIL "
			bad++
		case f.doubt:
			mark = "warn "
		}
		fmt.Printf("%s %-10s %s\n", mark, f.subject, print.OneLine(f.text))
	}
	if bad > 0 {
		return print.ExitCode(1)
	}
	return nil
}

var gitVersion = regexp.MustCompile(`git version (\d+)\.(\d+)`)

func (c *Doctor) git(ctx context.Context) finding {
	out, err := exec.CommandContext(ctx, "git", "--version").Output()
	if err != nil {
		return finding{subject: "git", bad: true, text: "git is not there: install it"}
	}
	m := gitVersion.FindStringSubmatch(string(out))
	if m == nil {
		return finding{subject: "git", doubt: true, text: "its version is not known: " + strings.TrimSpace(string(out))}
	}
	major, _ := strconv.Atoi(m[1])
	minor, _ := strconv.Atoi(m[2])
	if major < 2 || major == 2 && minor < 31 { // GIT_CONFIG_COUNT
		return finding{subject: "git", bad: true, text: "git " + m[1] + "." + m[2] + " is too old: 2.31 or newer is needed"}
	}
	return finding{subject: "git", text: strings.TrimSpace(string(out))}
}

func (c *Doctor) disk() finding {
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return finding{subject: "folder", bad: true, text: fmt.Sprintf("%v: choose another with --dir", err)}
	}
	probe := filepath.Join(c.Dir, ".probe")
	if err := errors.Join(os.WriteFile(probe, nil, 0o600), os.Remove(probe)); err != nil {
		return finding{subject: "folder", bad: true, text: fmt.Sprintf("%v: choose another with --dir", err)}
	}
	var s unix.Statfs_t
	if err := unix.Statfs(c.Dir, &s); err != nil {
		return finding{subject: "disk", doubt: true, text: err.Error()}
	}
	free := uint64(s.Bavail) * uint64(s.Bsize) >> 30
	return finding{subject: "disk", doubt: free < 10, text: fmt.Sprintf("%d GiB free in %s", free, c.Dir)}
}

func (c *Doctor) isolation() finding {
	uids, err := workers.ParseUIDs(c.UIDs)
	if err != nil {
		return finding{subject: "isolation", bad: true, text: "--isolate-uids: " + err.Error()}
	}
	choice, err := workers.ChooseIsolation(c.Isolate, uids)
	switch {
	case err != nil:
		return finding{subject: "isolation", bad: true, text: err.Error()}
	case choice.Mode == workers.IsolateNone:
		return finding{subject: "isolation", doubt: true, text: "steps can do whatever this user can: " + choice.Why}
	case len(choice.Gaps) > 0:
		return finding{subject: "isolation", doubt: true, text: string(choice.Mode) + ", but: " + strings.Join(choice.Gaps, "; ")}
	}
	return finding{subject: "isolation", text: string(choice.Mode)}
}

// server looks at the server, the token and the clocks.
func (c *Doctor) server(ctx context.Context) []finding {
	known, err := c.known()
	if err != nil {
		return []finding{{subject: "server", bad: true, text: err.Error()}}
	}
	var out []finding
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(known.Server, "/")+"/healthz", nil)
	if err != nil {
		return []finding{{subject: "server", bad: true, text: fmt.Sprintf("%s is no address: write https://HOST", known.Server)}}
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return []finding{{subject: "server", bad: true, text: fmt.Sprintf("%s does not answer: %v", known.Server, err)}}
	}
	_ = res.Body.Close()
	out = append(out, finding{subject: "server", bad: res.StatusCode != 200, text: fmt.Sprintf("%s answers %s", known.Server, res.Status)})
	if open(known.Server) {
		out = append(out, finding{subject: "server", doubt: true, text: openText})
	}
	if at, err := http.ParseTime(res.Header.Get("Date")); err == nil {
		skew := time.Since(at).Round(time.Second)
		out = append(out, finding{subject: "clock", doubt: skew.Abs() > time.Minute, text: fmt.Sprintf("%s from the server's; times in logs are off by that, results are not", skew)})
	}
	a, err := agent.New(agent.Options{Server: known.Server, Token: known.Token, Dir: c.Dir, Version: Version(), Log: slog.New(slog.DiscardHandler)})
	if err == nil {
		_, err = a.Verify(ctx)
	}
	if err != nil {
		return append(out, finding{subject: "token", bad: true, text: err.Error()})
	}
	return append(out, finding{subject: "token", text: "the server takes it"})
}

// tools looks for the programs that steps use most.
func (c *Doctor) tools() []finding {
	var there, away []string
	for _, name := range []string{"sh", "bash", "make", "go", "node", "npm", "cargo", "java", "python3", "bazel", "docker", "xcodebuild", "git-lfs"} {
		if name == "xcodebuild" && runtime.GOOS != "darwin" {
			continue
		}
		if path, err := exec.LookPath(name); err == nil {
			there = append(there, name+" ("+path+")")
		} else {
			away = append(away, name)
		}
	}
	out := []finding{{subject: "tools", text: strings.Join(there, ", ")}}
	if len(away) > 0 {
		out = append(out, finding{subject: "tools", text: "not in PATH, which matters only to steps that use them: " + strings.Join(away, ", ")})
	}
	return out
}
