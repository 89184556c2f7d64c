package history

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/history"
)

func TestSince(t *testing.T) {
	now := time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"30d": now.AddDate(0, 0, -30), "12h": now.Add(-12 * time.Hour), "2026-03-01": time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC),
		"2026-03-01T01:02:03Z": time.Date(2026, 3, 1, 1, 2, 3, 0, time.UTC),
	} {
		if got, err := sinceOf(text, now); err != nil || got != queue.At(want) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	if got, err := sinceOf("", now); err != nil || got != 0 {
		t.Errorf("nothing: %v, %v", got, err)
	}
	for _, text := range []string{"-3d", "-3h", "3", "soon", "2026-13-01"} {
		if _, err := sinceOf(text, now); err == nil {
			t.Errorf("%s was taken", text)
		}
	}
}

const some = "0123456789012345678901234567890123456789"

func TestResults(t *testing.T) {
	line := func(outcome string) string {
		return `{"commit":"` + some + `","outcome":"` + outcome + `","seconds":1,"more":2}` + "\n"
	}
	for text, want := range map[string]string{
		line("failed") + line("passed") + line("failed"): "passed", // a flake
		line("failed") + "\n":                            "failed",
	} {
		got, err := readResults(strings.NewReader(text))
		if err != nil || got[some].Outcome != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"\n{":                                 "line 2: unexpected end",
		line("green"):                         `line 1: outcome is "green"`,
		`{"commit":"abc","outcome":"passed"}`: `line 1: commit is "abc"`,
		strings.Replace(line("passed"), ":1,", ":-1,", 1):        "line 1: seconds is -1",
		line("passed") + `{"x":"` + strings.Repeat("x", 1<<20+9): "line 2: bufio.Scanner: token too long",
	} {
		if _, err := readResults(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v; want %q", text, err, want)
		}
	}
}

// A log with odd names, a merge and a red stretch: the first red commit alone is broken. What the
// reader's own git shows of a log makes no difference.
func TestFromGit(t *testing.T) {
	dir := t.TempDir()
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir, "-c", "user.name=Ann \x02", "-c", "user.email=a@x", "-c", "commit.gpgsign=false"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q", "-b", "main")
	var results strings.Builder
	commit := func(file, outcome string) {
		t.Helper()
		path := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x\x00"), 0o600); err != nil {
			t.Fatal(err)
		}
		git("add", "-A")
		git("commit", "-q", "-m", "Add "+filepath.Base(file))
		if outcome != "" {
			results.WriteString(`{"commit":"` + git("rev-parse", "HEAD") + `","outcome":"` + outcome + `","seconds":5}` + "\n")
		}
	}
	commit("a/b/c/one", "passed")
	commit("a/b/odd\n\ttwo_test", "failed")
	commit("three", "failed")
	git("checkout", "-q", "-b", "side")
	commit("side/four", "passed") // of no commit of the line
	git("checkout", "-q", "main")
	git("merge", "-q", "--no-ff", "-m", "Merge side", "side")
	commit("fünf", "failed")
	file := filepath.Join(t.TempDir(), "ci.jsonl")
	if err := os.WriteFile(file, []byte(results.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, setting := range []string{"log.diffMerges separate", "log.diffMerges remerge", "log.diffMerges off", "log.showRoot false", "i18n.logOutputEncoding ISO-8859-1"} {
		git(append([]string{"config"}, strings.Fields(setting)...)...)
		var out bytes.Buffer
		if err := (&FromGit{Repo: dir, Branch: "main", Results: file, out: &out}).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		r, err := history.NewReader(&out)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for {
			row, err := r.Next()
			if err != nil {
				break
			}
			switch {
			case row.Arrival != nil:
				got = append(got, row.Arrival.Title+": "+strings.Join(row.Arrival.Targets, " "))
			case row.Verdict != nil:
				got = append(got, string(row.Verdict.Outcome))
			}
		}
		want := "Add one: a/b; landed; Add odd\n\ttwo_test: a/b; rejected; Add three: .; landed; Merge side: side; landed; Add fünf: .; landed"
		want = strings.Replace(want, "odd\n\t", "odd ", 1) // git makes one line of a title
		if text := strings.Join(got, "; "); strings.ReplaceAll(text, "\t", "") != strings.ReplaceAll(want, "\t", "") {
			t.Errorf("%s:\ngot  %q\nwant %q", setting, text, want)
		}
		git("config", "--unset", strings.Fields(setting)[0])
	}

	// The latest commit alone is no more broken than among all.
	var out bytes.Buffer
	if err := (&FromGit{Repo: dir, Branch: "main", Results: file, Last: 1, out: &out}).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); strings.Contains(text, `"outcome":"rejected"`) || !strings.Contains(text, `"outcome":"landed"`) {
		t.Errorf("the latest commit, of a red stretch that began before it: %s", text)
	}
}

// A salt without --anonymous is refused: its user believes that names are hashed, and they
// would be printed.
func TestSaltAlone(t *testing.T) {
	var out bytes.Buffer
	for name, err := range map[string]error{
		"export":   (&Export{Salt: "x"}).Run(t.Context()),
		"from-git": (&FromGit{Repo: t.TempDir(), Branch: "HEAD", Salt: "x", out: &out}).Run(t.Context()),
	} {
		if err == nil || !strings.Contains(err.Error(), "without --anonymous") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A repository or a branch without a commit is said to be one, and not in git's words alone.
func TestFromGitOfNothing(t *testing.T) {
	dir := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "git", "init", "-q", "-b", "main", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for branch, want := range map[string]string{"HEAD": "has no commit yet", "nope": "has no branch or commit nope"} {
		err := (&FromGit{Repo: dir, Branch: branch, out: &bytes.Buffer{}}).Run(t.Context())
		if err == nil || !strings.HasPrefix(err.Error(), dir+" "+want) {
			t.Errorf("%s: %v", branch, err)
		}
	}
}
