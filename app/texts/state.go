package texts

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// headline says in one line where a pull request stands.
func (w voice) headline(v queue.View) (icon, text string) {
	c := v.Change
	why := w.title(c.Reason.Code)
	switch c.Phase {
	case queue.Analyzing:
		return "🔎", "In the queue: " + orSome(why, "working out what it touches")
	case queue.Pending:
		place := "In the queue"
		if v.Position > 0 {
			place = fmt.Sprintf("%s of %d in the queue", ordinal(v.Position), v.Total)
		}
		if len(v.Waits) == 0 {
			return "⏳", place
		}
		icon = "⏳"
		if slices.Contains([]queue.ReasonCode{queue.ReasonPaused, queue.ReasonShut}, v.Waits[0].Code) {
			icon = "⏸️"
		}
		if why = w.title(v.Waits[0].Code); why == "" {
			return icon, place
		}
		return icon, place + ": " + why
	case queue.Landing:
		return "🚀", "Proven, and being pushed"
	case queue.Parked:
		if c.Reason.Code == queue.ReasonRequirements {
			return "🚧", "Waiting: " + w.lacks(c.Reason)
		}
		return "🅿️", "Parked: " + orSome(why, "waiting for its cause to end")
	case queue.Landed:
		return "✅", "Landed" + w.asCommit(c.Verdict)
	case queue.Rejected:
		if c.Reason.Code == queue.ReasonFailed && len(c.Reason.Names) > 0 {
			return "❌", "Rejected: " + w.failedIn(c.Reason)
		}
		return "❌", "Rejected: " + orSome(why, "it cannot land")
	case queue.Cancelled:
		if c.Reason.Code == queue.ReasonClosed {
			why = w.brief(c.Reason)
		}
		return "⏹️", "Out of the queue: " + orSome(why, "cancelled")
	case queue.Trying, queue.Tried:
		return "🧪", w.tryHeadline(c)
	case queue.NothingToLand:
		return "☑️", "Nothing to land: " + orSome(w.brief(c.Reason), "the merge changes nothing")
	}
	switch v.Notice.Code {
	case queue.ReasonDelegated, queue.ReasonUndelegated:
		return "🤝", "Delegation: " + w.title(v.Notice.Code)
	case queue.ReasonHelp:
		return "ℹ️", "How to use the queue"
	case queue.ReasonUnknown:
		return "❔", "Command not understood"
	}
	return "🚫", "Not in the queue: " + orSome(w.title(v.Notice.Code), "nobody asked for it")
}

// failedIn says what failed, as it follows "Rejected: ".
func (w voice) failedIn(r queue.Reason) string {
	if ofConfig(r) {
		return "its " + w.code(config.Path) + " cannot be used"
	}
	return "failed in " + w.codes(r.Names)
}

func (w voice) asCommit(v *queue.Verdict) string {
	if v == nil || v.Commit == "" {
		return ""
	}
	return " as " + w.commit(v.Commit)
}

// body returns what follows the headline, as Markdown blocks.
func (w voice) body(v queue.View) []string {
	var out []string
	add := func(block string) {
		if block != "" {
			out = append(out, block)
		}
	}
	c := v.Change
	add(w.notice(v))
	add(w.emergency(c))
	said := explains(v) // waiting and conflicts are explained already
	switch {
	case c.Phase == queue.Pending || c.Phase == queue.Analyzing || c.Phase == queue.Landing:
		if !said {
			add(w.waits(v))
		}
		add(w.onTop(c))
		if p := v.Partners(); len(p.Rollup) > 0 {
			add(w.rollup(p.Rollup)) // changes that share a build are named with the build
		}
		if !said {
			add(w.around(v))
		}
		add(w.builds(v))
		add(w.expected(v))
	case c.Phase == queue.Trying:
		add(w.reason(c.Reason))
		add(w.builds(v))
	case c.Phase == queue.Tried:
		for _, block := range w.tried(c) {
			add(block)
		}
	case c.Phase == queue.Parked:
		add(w.reason(c.Reason))
		if c.Reason.Code != queue.ReasonRequirements {
			add(w.parked(c))
		}
	case c.Phase == queue.Landed:
		add(w.proof(c.Verdict))
		add(w.howLanded(c))
	case c.Phase == queue.Rejected:
		if line := failingLine(c); line != "" {
			add(codeSpan(line, mostFailing))
		}
		add(w.reason(c.Reason))
		if c.Verdict != nil {
			if c.Reason.Code == queue.ReasonMergeConflict && c.Verdict.Commit != "" {
				add("It was tried on " + w.main() + " at " + w.commit(c.Verdict.Commit) + "." + w.against(c.Verdict.Against))
			}
			for _, block := range w.failures(c) {
				add(block)
			}
		}
	case c.Phase.Final():
		add(w.reason(c.Reason))
	}
	add(w.asked(v))
	add(w.before(v))
	if w.o.Broken != "" && v.Notice.Code != queue.ReasonNoConfig {
		add(w.configBroken(w.o.Broken))
	}
	return out
}

// notice answers the latest command that was not followed.
func (w voice) notice(v queue.View) string {
	if v.Notice.Code == "" {
		return ""
	}
	text := w.reason(v.Notice)
	if v.Notice.Code == queue.ReasonHelp {
		return w.help()
	}
	if v.Notice.Code == queue.ReasonExplain {
		return w.explained(v)
	}
	if v.NoticeTo != "" && v.Notice.Code != queue.ReasonNoPermission {
		text = "To " + w.code(v.NoticeTo) + ": " + text
	}
	if v.Notice.Code == queue.ReasonNoConfig && OneLine(v.Notice.Detail, 1) != "" {
		text += "\n\n" + fenced(v.Notice.Detail, 12, 400)
	}
	return text
}

// waits lists what a change waits for, except reasons that the headline or a list below
// has already.
func (w voice) waits(v queue.View) string {
	if v.Change.Phase != queue.Pending {
		return ""
	}
	lines := make([]string, 0, len(v.Waits))
	for i, r := range v.Waits {
		if i == mostAhead {
			break
		}
		if r.Code == queue.ReasonWaitsAhead && len(v.Ahead) > 0 || r.Code == queue.ReasonWaitsBuild && len(v.Builds) > 0 {
			continue
		}
		if text := w.reason(r); text != "" {
			lines = append(lines, "- "+text)
		}
	}
	return strings.Join(lines, "\n")
}

// around says which changes may influence it, and through what.
func (w voice) around(v queue.View) string {
	witnesses := map[queue.ChangeID]queue.Conflict{}
	var behind []string
	for _, k := range v.Conflicts {
		witnesses[k.With] = k
		if k.Kind != queue.ConflictClash && !slices.Contains(v.Ahead, k.With) {
			behind = append(behind, string(k.With))
		}
	}
	blocks := w.clashes(v)
	if len(v.Ahead) > 0 {
		lines := []string{"**Ahead of it**, and it may depend on how they end"}
		for i, id := range v.Ahead {
			if i == mostAhead {
				lines = append(lines, fmt.Sprintf("- and %d more", len(v.Ahead)-i))
				break
			}
			lines = append(lines, "- "+w.ref(string(id))+w.witness(v, witnesses[id]))
		}
		blocks = append(blocks, strings.Join(lines, "\n"))
	}
	if len(behind) > 0 {
		blocks = append(blocks, "Not ahead of it, but in conflict with it: "+w.refs(behind)+".")
	}
	return strings.Join(blocks, "\n\n")
}

// clashes says with which changes it does not merge. Changes ahead come first: one of
// them will probably have this one rejected.
func (w voice) clashes(v queue.View) []string {
	var ahead, behind []string
	var paths []string
	for _, k := range v.Conflicts {
		switch {
		case k.Kind != queue.ConflictClash:
		case slices.Contains(v.Ahead, k.With):
			ahead, paths = append(ahead, string(k.With)), append(paths, k.Witnesses...)
		default:
			behind = append(behind, string(k.With))
		}
	}
	var blocks []string
	if len(ahead) > 0 {
		slices.Sort(paths)
		paths = slices.Compact(paths)
		text := "**It does not merge with " + w.refs(ahead) + "**, ahead of it"
		if n := len(paths); n > 0 {
			text += ": both change " + w.codes(paths[:min(n, 3)])
		}
		blocks = append(blocks, text+". When that has landed, this commit cannot land any more. "+w.reconcile()+" then, and "+w.again())
	}
	if len(behind) > 0 {
		blocks = append(blocks, "Behind it, and they do not merge with it: "+w.refs(behind)+".")
	}
	return blocks
}

// witness says why two changes may influence each other.
func (w voice) witness(v queue.View, k queue.Conflict) string {
	names := k.Witnesses[:min(len(k.Witnesses), 3)]
	switch k.Kind {
	case queue.ConflictClash:
		return ": they do not merge with each other"
	case queue.ConflictTarget:
		if len(names) == 0 {
			return ": both change the same target"
		}
		return ": both change " + w.codes(names)
	case queue.ConflictReadWrite:
		return ": one starts to depend on what the other changes" + w.in(names)
	case queue.ConflictGlobal:
		return ": one changes what everything depends on" + w.in(names)
	case queue.ConflictDefinition:
		return ": both change what shapes the same part of the graph" + w.in(names)
	case queue.ConflictTextual:
		return ": both touch " + w.codes(names) + ", and were not seen to merge"
	case queue.ConflictUnknown:
		return w.unknown(v, k.With)
	}
	return ""
}

// builds lists the builds under way.
func (w voice) builds(v queue.View) string {
	if len(v.Builds) == 0 {
		return ""
	}
	lines := []string{"**Builds under way**"}
	for i, b := range v.Builds {
		if i == mostBuilds {
			lines = append(lines, fmt.Sprintf("- and %d more", len(v.Builds)-i))
			break
		}
		lines = append(lines, "- "+w.build(b))
	}
	return strings.Join(lines, "\n")
}

func (w voice) build(b queue.BuildView) string {
	base := "on " + w.main()
	if below := b.Build.Assumes(); len(below) > 0 {
		base += " with " + w.refs(Strings(below))
	}
	if len(b.Build.Also) > 0 {
		base += ", for " + w.refs(Strings(b.Build.For())) + " together"
	}
	label := w.code(string(b.Build.ID[:min(len(b.Build.ID), 8)]))
	text := w.link(label, w.changePage(string(b.Build.Change))) + " " + base
	if n := b.Steps(); n > 0 {
		text += fmt.Sprintf(": %d of %s done", b.Done, counted(n, "step", "steps"))
	}
	switch {
	case b.Build.Cancel:
		return text + ", being cancelled"
	case b.Build.Started == 0: // its start alone does not update the comment: "not started yet" would stay in it
		return text
	}
	text += ", running since " + w.clockText(b.Build.Started)
	if b.Usual > 0 {
		text += " (usually " + durationText(b.Usual) + ")"
	}
	return text
}

// expected says when the verdict is expected: by the clock, because a comment
// is read long after it was written.
func (w voice) expected(v queue.View) string {
	f := v.Forecast
	if f.Late == 0 || v.Change.Phase != queue.Pending {
		return ""
	}
	if f.Late < w.o.Now {
		if f.Usual == 0 {
			return "It takes longer than was foreseen."
		}
		return "Its build takes " + overdueText(f) + "."
	}
	step := 5 * time.Minute
	switch width := f.Late.Sub(f.Early); {
	case width > 2*time.Hour:
		step = time.Hour
	case width < 20*time.Minute:
		step = time.Minute
	}
	early := f.Early.Time().Truncate(step)
	late := f.Late.Time().Add(step - 1).Truncate(step)
	if early.Before(w.o.Now.Time()) {
		return "**Verdict expected** by " + w.clockText(queue.At(late)) + "."
	}
	return "**Verdict expected** between " + strings.TrimSuffix(w.clockText(queue.At(early)), " UTC") + " and " + w.clockText(queue.At(late)) + "."
}

func (w voice) parked(c queue.Change) string {
	text := "This is no verdict on the change and not its author's fault. It blocks nobody and keeps its place."
	if c.Reason.Code == queue.ReasonParent {
		text = "This is no verdict on the change. It keeps its place."
	}
	if c.Until != 0 {
		text += " Looked at again at " + w.clockText(c.Until) + "."
	}
	return text
}

// asked names the commit that the text is about, the rule or the user that asked for it, and
// the lane.
func (w voice) asked(v queue.View) string {
	c := v.Change
	if c.Head == "" {
		return ""
	}
	text := "About commit " + w.commit(c.Head)
	if c.Branch != "" {
		text += " of branch " + w.code(c.Branch)
	}
	if c.Title != "" && w.o.Words.Local {
		text += ", " + w.code(c.Title)
	}
	if c.Rule != "" {
		text += ", entered by rule " + w.code(c.Rule) + " of " + w.code(config.Path)
	} else if c.Requester != "" {
		text += ", asked for by " + w.code(c.Requester)
	}
	if v.Lane != "" {
		text += ", in the lane " + w.code(v.Lane)
	}
	return text + "."
}

// before says how the pull request's change before this one ended.
func (w voice) before(v queue.View) string {
	p := v.Previous
	if p == nil || v.Change.Phase.Final() {
		return ""
	}
	text := "Before that, commit " + w.commit(p.Head)
	why := orSome(w.title(p.Reason.Code), "no reason was kept")
	switch p.Phase {
	case queue.Landed:
		return text + " landed" + w.asCommit(p.Verdict) + "."
	case queue.Rejected:
		return text + " was rejected: " + why + "."
	}
	return text + " left the queue: " + why + "."
}
