package mirror

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/queue"
)

func TestStoredIsZlib(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 65534, 65535, 65536, 200_000} {
		data := bytes.Repeat([]byte{'x'}, n)
		r, err := zlib.NewReader(bytes.NewReader(stored(data)))
		if err != nil {
			t.Fatal(n, err)
		}
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%d: %d bytes, %v", n, len(got), err)
		}
	}
}

// If the pad does not push answers out, each batch has its own process: the
// answers must be the same.
func TestOneProcessForEachBatchAnswersTheSame(t *testing.T) {
	t.Parallel()
	m, err := Open(t.Context(), filepath.Join(t.TempDir(), "m.git"))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	script := ""
	for i, c := range []string{"base", "ours", "theirs", "apart"} {
		script += fmt.Sprintf("commit refs/heads/%s\nmark :%d\ncommitter A <a@x> 1 +0000\ndata 1\nm\n", c, i+1)
		if c == "ours" || c == "theirs" {
			script += "from :1\n"
		}
		script += fmt.Sprintf("M 644 inline f\ndata %d\n%s\nM 644 inline %s\ndata 1\nx\n", len(c), c, c)
	}
	cmd := exec.Command("git", "--git-dir="+m.Dir(), "fast-import", "--quiet")
	cmd.Stdin = strings.NewReader(script)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %v", out, err)
	}
	ids := map[string]queue.CommitID{}
	for _, name := range []string{"base", "ours", "theirs", "apart"} {
		out, err := m.repo.git(t.Context(), "rev-parse", "refs/heads/"+name)
		if err != nil {
			t.Fatal(err)
		}
		ids[name] = queue.CommitID(strings.TrimSpace(string(out)))
	}
	pairs := []pair{
		{ids["ours"], ids["theirs"]}, {ids["ours"], ids["apart"]}, {ids["base"], ids["theirs"]}, {ids["apart"], ids["base"]},
	}
	var answers [2]string
	for i, single := range []bool{false, true} {
		m.Merges.merger.single.Store(single)
		got, err := m.Merges.merger.merge(t.Context(), pairs)
		if err != nil {
			t.Fatal(err)
		}
		answers[i] = fmt.Sprintf("%+v", got)
	}
	if answers[0] != answers[1] || !strings.Contains(answers[0], "[f]") {
		t.Errorf("%s\n%s", answers[0], answers[1])
	}
}

func TestPatternsBelowADirectory(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ dir, pattern, want string }{
		{"d", "*.x", "d/**/*.x"}, {"d/e", "/x", "d/e/x"}, {"d", "a/*", "d/a/*"}, {"[a]*", "x", `\[a\]\*/**/x`},
	} {
		if got := below(c.dir, c.pattern); got != c.want {
			t.Errorf("%s %s: %s", c.dir, c.pattern, got)
		}
	}
}

func TestLRUForgetsByWeight(t *testing.T) {
	t.Parallel()
	c := newLRU[string, int](10)
	c.put("a", 1, 4)
	c.put("b", 2, 4)
	c.get("a")
	c.put("c", 3, 4)
	_, a := c.get("a")
	_, b := c.get("b")
	if !a || b {
		t.Error("the wrong one is gone")
	}
	c.put("huge", 4, 100)
	if _, ok := c.get("huge"); !ok || len(c.byKey) != 1 {
		t.Error("the most recent entry must stay, alone")
	}
}
