package app

import (
	"fmt"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
)

// proof says by what a landed change was proven.
func (w voice) proof(v *queue.Verdict) string {
	if v == nil {
		return "It was found on the target branch."
	}
	var lines []string
	switch {
	case v.Tested && v.Reused > 0:
		lines = append(lines, fmt.Sprintf("**Proof:** this very commit was tested; of its %s, %d had passed before, at exactly the same content, and did not run again.", counted(v.Keys, "key", "keys"), v.Reused))
	case v.Tested && v.Keys > 0:
		lines = append(lines, fmt.Sprintf("**Proof:** this very commit was tested; %s passed.", allOf(v.Keys)))
	case v.Tested:
		lines = append(lines, "**Proof:** this very commit was tested.")
	case v.Keys > 0:
		lines = append(lines, fmt.Sprintf("**Proof:** its tree's %s (a step on a target at exactly this content) %s verified in other builds; %d reused.",
			counted(v.Keys, "key", "keys"), wasWere(v.Keys), v.Reused))
	default:
		lines = append(lines, "**Proof:** it adds nothing that a step would have to verify anew.")
	}
	if v.Attempts > 1 {
		lines = append(lines, fmt.Sprintf("- A step passed only on attempt %d: it may be flaky.", v.Attempts))
	}
	if v.Overtook > 0 {
		lines = append(lines, fmt.Sprintf("- It overtook %s in conflict with it that had arrived earlier.", counted(v.Overtook, "change", "changes")))
	}
	if len(v.Bypassed) > 0 {
		ids := make([]string, len(v.Bypassed))
		for i, id := range v.Bypassed {
			ids[i] = string(id)
		}
		lines = append(lines, "- Still undecided ahead of it: "+w.refs(ids)+". It passes whether they land or not, so it did not wait for them.")
	}
	if v.MainRed > 0 {
		lines = append(lines, fmt.Sprintf("- ⚠️ The target branch itself had %s unproven or red at that moment; this change adds none.", counted(v.MainRed, "key", "keys")))
	}
	if len(lines) > 1 {
		lines[0] += "\n"
	}
	return strings.Join(lines, "\n")
}

func allOf(n int) string {
	if n == 1 {
		return "its one key"
	}
	return fmt.Sprintf("all %d keys", n)
}

func wasWere(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

// failures shows what failed, a block for each.
func (w voice) failures(v queue.Verdict) []string {
	var out []string
	if v.Commit != "" && len(v.Failures) > 0 {
		out = append(out, "Built as "+w.commit(v.Commit)+", the merge of this commit with the target branch.")
	}
	if len(v.Failures) == 0 {
		return out
	}
	lines := max(mostTail/len(v.Failures), leastTail)
	for i, f := range v.Failures {
		if i == mostAhead {
			out = append(out, fmt.Sprintf("And %d more.", len(v.Failures)-i))
			break
		}
		out = append(out, w.failure(f, lines))
	}
	return out
}

func (w voice) failure(f queue.Evidence, lines int) string {
	text := "**" + w.code(f.Step) + "** failed"
	if f.Timeout {
		text = "**" + w.code(f.Step) + "** ran out of time"
	}
	if len(f.Targets) > 0 && !(len(f.Targets) == 1 && f.Targets[0] == queue.TargetTree) {
		text += " on " + w.codes(f.Targets)
	}
	if f.Build != "" {
		text += " in build " + w.code(string(f.Build[:min(len(f.Build), 8)]))
	}
	if strings.TrimSpace(f.Tail) == "" {
		return text + "; it left no output."
	}
	return text + ":\n\n" + fenced(f.Tail, lines, tailColumns)
}
