package texts

import (
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/queue"
)

// A command that is a row of package queue is in the help, and in the list that a wrong
// one is answered with: nothing here has to be told of it.
func TestAddACommand(t *testing.T) {
	w := voiceOf(Options{})
	w.commands = append(w.commands, queue.CommandRow{Verb: "greet", Words: "/land greet",
		Forms: []queue.CommandForm{{Usage: "/land greet NAME", Help: "`/land greet NAME` says hello."}}})
	if help := w.help(); !strings.Contains(help, "\n- `/land greet NAME` says hello.\n") {
		t.Errorf("the help:\n%s", help)
	}
	if list := w.commandList(); !strings.HasSuffix(list, ", /land greet NAME") {
		t.Errorf("the list: %s", list)
	}
	if help := voiceOf(Options{}).help(); strings.Contains(help, "greet") {
		t.Errorf("the toy is in the product's help:\n%s", help)
	}
}

// One row has the words of a requirement for the headline, the comment and one plain
// line; without it, people are told that something is asked of them, and not what.
func TestAddARequirement(t *testing.T) {
	v := queue.View{Change: queue.Change{ID: "7.a", Number: 7, Phase: queue.Parked,
		Reason: queue.Reason{Code: queue.ReasonRequirements, Unmet: []queue.Requirement{{Kind: "full-moon", Names: []string{"fri`day"}}}}}}
	row := requirementRow{"the moon is not full", func(w voice, q queue.Requirement) string {
		return "It lands at full moon, which is on " + w.codes(q.Names) + "."
	}}
	for _, test := range []struct {
		table          map[queue.RequirementKind]requirementRow
		short, comment string
	}{
		{map[queue.RequirementKind]requirementRow{"full-moon": row}, "the moon is not full", "It lands at full moon, which is on ``fri`day``."},
		{requirements, "it does not meet what is asked of it", "It does not meet what is asked of it"},
	} {
		w := newVoice(v, Options{})
		w.lacking = test.table
		if _, headline := w.headline(v); headline != "Waiting: "+test.short {
			t.Errorf("the headline: %s", headline)
		}
		if text := strings.Join(w.body(v), "\n"); !strings.Contains(text, "- "+test.comment) {
			t.Errorf("the comment:\n%s", text)
		}
		w = Words{}.plain(v.Change)
		w.lacking = test.table
		if line := w.requirements(v.Change.Reason); !strings.HasPrefix(line, test.comment[:20]) || strings.Contains(line, "\n") {
			t.Errorf("on one line: %s", line)
		}
	}
}
