package texts

import (
	"fmt"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
)

// mostExplained bounds the changes that an explanation lists.
const mostExplained = 20

// explains reports whether a comment holds an explanation of a change in the queue.
func explains(v queue.View) bool {
	return v.Notice.Code == queue.ReasonExplain && v.Change.ID != "" && !v.Change.Phase.Final()
}

// explained says all that is known of a change in the queue, each thing once. Beside it,
// a comment leaves out its usual parts about waiting and conflicts.
func (w voice) explained(v queue.View) string {
	if v.Change.Phase.Final() || v.Change.ID == "" {
		return ""
	}
	var lines []string
	for _, r := range v.Waits {
		listed := r.Code == queue.ReasonWaitsAhead && len(v.Ahead) > 0 || r.Code == queue.ReasonWaitsBuild && len(v.Builds) > 0
		if text := w.reason(r); text != "" && !listed {
			lines = append(lines, "- "+text)
		}
	}
	if o := v.Outlook; v.Change.Phase == queue.Pending && o.Good != 0 {
		lines = append(lines, fmt.Sprintf("- The queue takes it to be green on its own with a chance of %.0f %%, and to land with %.0f %%.", 100*o.Good, 100*o.Chance))
	}
	for _, b := range v.Builds {
		if why := w.o.Words.Why(b.Build.Worth, b.Build.Why); why != "" {
			lines = append(lines, "- Build "+w.code(short(b.Build.ID))+" was started: "+w.long(why)+".")
		}
	}
	lines = append(lines, w.met(v)...)
	text := "**Why it is where it is**"
	if len(lines) > 0 {
		text += "\n\n" + strings.Join(lines, "\n")
	}
	for _, block := range w.clashes(v) {
		text += "\n\n" + block
	}
	return text
}

// met lists the changes that it waits for or is in conflict with, a line for each, except
// those that clashes names.
func (w voice) met(v queue.View) (lines []string) {
	conflicts := map[queue.ChangeID]queue.Conflict{}
	order := slices.Clone(v.Ahead)
	for _, k := range v.Conflicts {
		conflicts[k.With] = k
		if !slices.Contains(v.Ahead, k.With) {
			order = append(order, k.With)
		}
	}
	order = slices.DeleteFunc(order, func(id queue.ChangeID) bool { return conflicts[id].Kind == queue.ConflictClash })
	for i, id := range order {
		if i == mostExplained {
			return append(lines, fmt.Sprintf("- and %d more", len(order)-i))
		}
		line := "- " + w.ref(string(id)) + ", behind it"
		if slices.Contains(v.Ahead, id) {
			line = "- Waits for " + w.ref(string(id)) + ", ahead of it"
		}
		lines = append(lines, line+w.witness(v, conflicts[id]))
	}
	return lines
}
