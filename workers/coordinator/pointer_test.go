package coordinator_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/workers/coordinator"
	"github.com/submitqueue/submitqueue/workers/protocol"
)

// A runner that leaves a file of Git LFS as its pointer, as GitLab Runner does where git-lfs
// is not installed, gives no verdict: the step does not run. What looks like a pointer and is
// none of LFS, and what is larger than a pointer, is a file like others.
func TestPointerFileIsInfrastructureError(t *testing.T) {
	pointer := "version https://git-lfs.github.com/spec/v1\noid sha256:" + strings.Repeat("a", 64) + "\nsize 12\n"
	var many []string
	for i := range 3000 {
		many = append(many, fmt.Sprintf("assets/%d of many.png", i))
	}
	for name, test := range map[string]struct {
		files []string
		want  queue.JobOutcome
		says  string
	}{
		"a pointer":         {[]string{"-dir's/a \"b\" $HOME.bin", pointer}, queue.JobInfra, `-dir's/a \"b\" $HOME.bin", which Git LFS keeps, as its pointer: install git-lfs there`},
		"an old pointer":    {[]string{"big.bin", strings.Replace(pointer, "git-lfs", "hawser", 1)}, queue.JobInfra, `"big.bin"`},
		"contents":          {[]string{"big.bin", "PNG\x00\x01", "-dir's/a \"b\" $HOME.bin", ""}, queue.JobFailed, "exit status 7"},
		"a document":        {[]string{"big.bin", "x", "doc.md", pointer}, queue.JobFailed, "exit status 7"},
		"a large one of it": {[]string{"big.bin", pointer + strings.Repeat("x", 2000)}, queue.JobFailed, "exit status 7"},
		"one of many":       {[]string{many[2999], pointer}, queue.JobInfra, many[2999]},
	} {
		for _, shell := range []string{"sh", "bash"} {
			t.Run(name+" "+shell, func(t *testing.T) {
				t.Parallel()
				b := newBench(t, func(o *coordinator.Options) {
					o.Large = func(context.Context, queue.Build) ([]string, error) {
						return append([]string{"big.bin", "-dir's/a \"b\" $HOME.bin"}, many...), nil
					}
				})
				r := b.runner()
				b.join(r)
				b.run("b1", config.Step{Name: "unit", Run: "echo ran {targets}; exit 7", Timeout: time.Minute, Checkout: config.Checkout{LFS: config.SwitchOn, Depth: 20}}, "a")
				j := r.ask()
				if j.GitInfo.Depth != 20 || !j.GitInfo.Outside || slices.ContainsFunc(j.Variables, func(v protocol.Variable) bool { return v.Key == "GIT_LFS_SKIP_SMUDGE" }) {
					t.Errorf("%+v", j.GitInfo)
				}
				out, code := r.execute(shell, test.files...)
				r.print("Fetching...\n" + out)
				r.end(code)
				if d := b.done("b1"); d.Outcome != test.want || !strings.Contains(d.Detail, test.says) {
					t.Errorf("%+v\n%s", d, out)
				}
				if ran := strings.Contains(b.log("b1"), "ran a\n"); ran != (test.want == queue.JobFailed) {
					t.Errorf("the step ran: %v\n%s", ran, b.log("b1"))
				}
			})
		}
	}
}
