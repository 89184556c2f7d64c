package queue_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

func equipped(name string, slots int, command, output string) *queue.Host {
	h := &queue.Host{Name: name, Slots: slots}
	if output == "error" {
		h.Tools = []queue.Tools{{Command: command, Error: "exit status 1"}}
	} else if output != "" {
		h.Tools = []queue.Tools{{Command: command, Fingerprint: queue.FingerprintOf(output)}}
	}
	return h
}

// TestToolsNamed: the queue goes by what hosts with the most slots have, and keeps what
// is in force as long as a host has it.
func TestToolsNamed(t *testing.T) {
	steps := []config.Step{{Name: "unit", Run: "make", Environment: "cc"}, {Name: "lint", Run: "lint"}}
	set := func(output string) string {
		if output == "" {
			return ""
		}
		return queue.Toolset{"cc": queue.FingerprintOf(output)}.String()
	}
	for _, c := range []struct {
		name    string
		hosts   []*queue.Host
		inForce string
		want    []string
	}{
		{"nobody has said anything", []*queue.Host{equipped("a", 1, "cc", "")}, "", []string{""}},
		{"it was said before, and no more", []*queue.Host{equipped("a", 1, "cc", "")}, "1", []string{"1"}},
		{"one says", []*queue.Host{equipped("a", 1, "cc", "1")}, "", []string{"1", ""}},
		{"most have said nothing yet", []*queue.Host{equipped("a", 1, "cc", "1"), equipped("b", 2, "cc", "")}, "", []string{""}},
		{"all say what is in force", []*queue.Host{equipped("a", 1, "cc", "1"), equipped("b", 1, "cc", "1\n")}, "1", []string{"1"}},
		{"one of three is upgraded", []*queue.Host{equipped("a", 1, "cc", "1"), equipped("b", 1, "cc", "2"), equipped("c", 1, "cc", "1")}, "1", []string{"1"}},
		{"one of two is upgraded", []*queue.Host{equipped("a", 1, "cc", "1"), equipped("b", 1, "cc", "2")}, "1", []string{"1"}},
		{"one of two was not upgraded", []*queue.Host{equipped("a", 1, "cc", "1"), equipped("b", 1, "cc", "2")}, "2", []string{"2"}},
		{"the one with more slots is upgraded", []*queue.Host{equipped("a", 1, "cc", "1"), equipped("b", 2, "cc", "2")}, "1", []string{"2", "1"}},
		{"all are upgraded", []*queue.Host{equipped("a", 1, "cc", "2"), equipped("b", 2, "cc", "2")}, "1", []string{"2"}},
		{"those that are not are away", []*queue.Host{equipped("a", 0, "cc", "1"), equipped("b", 2, "cc", "2")}, "1", []string{"2"}},
		{"all are away", []*queue.Host{equipped("a", 0, "cc", "1"), equipped("b", 0, "cc", "2")}, "1", []string{"1"}},
		{"all are away, and one comes that says nothing yet", []*queue.Host{equipped("a", 0, "cc", "1"), equipped("b", 1, "cc", "")}, "1", []string{"1"}},
		{"it fails everywhere", []*queue.Host{equipped("a", 1, "cc", "error")}, "1", []string{"1"}},
		{"it fails somewhere", []*queue.Host{equipped("a", 5, "cc", "error"), equipped("b", 1, "cc", "2")}, "2", []string{"2"}},
	} {
		hosts := map[string]*queue.Host{}
		for _, h := range c.hosts {
			hosts[h.Name] = h
		}
		var want []string
		for _, w := range c.want {
			want = append(want, set(w))
		}
		if d := cmp.Diff(want, queue.ToolsNamed(hosts, steps, set(c.inForce))); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
	if got := queue.ToolsNamed(nil, steps[1:], set("1")); !slices.Equal(got, []string{""}) {
		t.Errorf("no step asks for it any more: %q", got)
	}
}

// TestWithTools: a toolset is in the digests of the steps with its commands, and of no
// others; and a host verifies only what it has the tools for.
func TestWithTools(t *testing.T) {
	steps := []config.Step{{Name: "unit", Run: "make", Environment: "cc"}, {Name: "lint", Run: "lint"}, {Name: "other", Run: "x", Environment: "ld"}}
	one := queue.WithTools(steps, queue.Toolset{"cc": queue.FingerprintOf("1")}.String())
	two := queue.WithTools(steps, queue.Toolset{"cc": queue.FingerprintOf("2")}.String())
	if steps[0].Digest() == one[0].Digest() || one[0].Digest() == two[0].Digest() {
		t.Error("the tools are not in the digest")
	}
	for i := 1; i < 3; i++ {
		if one[i].Digest() != two[i].Digest() || one[i].Digest() != steps[i].Digest() {
			t.Errorf("%s is another step", steps[i].Name)
		}
	}
	if analyzer, tools := queue.SplitVersion("go/1 several/2" + queue.Toolset{"cc": "1"}.String()); analyzer != "go/1 several/2" || tools == "" {
		t.Errorf("%q %q", analyzer, tools)
	}
	for output, want := range map[string][3]bool{"1": {true, true, true}, "2": {true, false, true}, "": {true, false, true}, "error": {false, false, true}} {
		h := equipped("a", 1, "cc", output)
		if got := [3]bool{h.Has(steps[0]), h.Has(one[0]), h.Has(one[1])}; got != want {
			t.Errorf("a host with %q: %v, want %v", output, got, want)
		}
	}
}
