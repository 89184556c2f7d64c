package mirror_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/queue"
)

// The commit that a pull request stands on may have landed long ago.
func TestLandedHeadsOfLongAgo(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.commit("main", "base", files{"f": "f\n"})
	low := r.commit("topic", "low", files{"g": "low\n"}, base)
	high := r.commit("topic", "high", files{"h": "high\n"}, low)
	landed := r.commit("main", "low\n\nChange: 1.aa\nHead: "+string(low), files{"g": "low\n"}, base)
	var b strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&b, "commit refs/heads/main\ncommitter A <a@x> %d +0000\ndata 32\n%-31d\n", 1700000001+i, i)
		if i == 0 {
			fmt.Fprintf(&b, "from %s\n", landed)
		}
		fmt.Fprintf(&b, "M 100644 inline n\ndata 5\n%04d\n\n", i)
	}
	r.run(b.String(), "fast-import", "--quiet", "--force")
	m := r.fetched("topic")
	own := must(m.History.Own(t.Context(), r.tip("main"), high))(t)
	if len(own) != 2 {
		t.Fatalf("%+v", own)
	}
	line := must(m.History.LandedHeads(t.Context(), r.tip("main"), own[:1]))(t)
	if len(line) != 1 || line[0].Commit != landed || line[0].Head != low || line[0].Change != "1.aa" {
		t.Errorf("landed long ago, and found as %+v", line)
	}
	if line := must(m.History.LandedHeads(t.Context(), r.tip("main"), own[1:]))(t); len(line) != 0 {
		t.Errorf("%+v", line)
	}
	if line := must(m.History.LandedHeads(t.Context(), queue.CommitID("--all"), own))(t); len(line) != 0 {
		t.Errorf("%+v", line)
	}
}
