package app_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/queue"
)

// A commit with a path that git checks out nowhere is the fault of whoever made it, and
// says so; it keeps nobody else waiting.
func TestPathsThatGitDoesNotCheckOut(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{".submitqueue.yml": oneStep, "test.sh": "true\n"})
	in := func(stdin string, args ...string) string {
		cmd := exec.Command("git", append([]string{"-C", r.bare, "-c", "user.name=a", "-c", "user.email=a@x"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null")
		cmd.Stdin = strings.NewReader(stdin)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", args, out)
		}
		return strings.TrimSpace(string(out))
	}
	folder := in("100644 blob "+in("x\n", "hash-object", "-w", "--stdin")+"\tconfig\n", "mktree")
	for i, name := range []string{".git", "..", ".GIT", "."} {
		tree := in(in("", "ls-tree", "main")+"\n040000 tree "+folder+"\t"+name+"\n", "mktree")
		in("", "update-ref", "refs/heads/odd", in("", "commit-tree", "-p", "main", "-m", name, tree))
		ch := r.verdict(r.land("odd"))
		if ch.Phase != queue.Rejected || ch.Reason.Code != queue.ReasonFailed || len(ch.Verdict.Failures) != 1 ||
			!strings.Contains(ch.Verdict.Failures[0].Tail, `the commit holds the path "`+name+`/config", which git checks out nowhere`) {
			t.Errorf("%s: %s %+v %+v", name, ch.Phase, ch.Reason, ch.Verdict)
		}
		if i == 0 {
			r.branch("good", "main", map[string]string{"a": "a\n"})
			if ch := r.verdict(r.land("good")); ch.Phase != queue.Landed {
				t.Errorf("one behind it: %s %+v", ch.Phase, ch.Reason)
			}
		}
	}
}
