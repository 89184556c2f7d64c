package texts

import "github.com/submitqueue/submitqueue/queue"

// unanalyzed says that a change could not be analyzed, and why. Where r names another
// change than the one that the text is about, it is that one.
func unanalyzed(w voice, r queue.Reason) string {
	who := "It"
	if len(r.Names) > 0 {
		who = w.ref(r.Names[0])
	}
	text := who + " could not be analyzed, so it counts as touching everything, conflicts with every other change and is built as a whole" + w.because(r.Detail)
	if r.Until != 0 {
		text += " It is analyzed again by itself."
	}
	return text
}

// unread says that a change touches a part of the tree that could not be analyzed, and
// why.
func unread(w voice, r queue.Reason) string {
	text := "It touches a part of the repository that could not be analyzed, so that part counts as one target: every change there conflicts with it, and its steps run on all of it" + w.because(r.Detail)
	if r.Until != 0 {
		text += " It is analyzed again by itself."
	}
	return text
}

// analyzing says that an analysis is under way, and how the attempt before it ended.
func analyzing(w voice, r queue.Reason) string {
	text := "Working out which targets it touches."
	if r.Detail != "" {
		text += " It is tried again; the last attempt ended with" + w.because(r.Detail)
	}
	return text
}

// unknownOf returns which of two changes could not be analyzed, where one could not:
// the change of v, or the other.
func unknownOf(v queue.View, with queue.ChangeID) (u queue.Unknown, ok bool) {
	for _, u := range v.Unknown {
		if u.Change == v.Change.ID || u.Change == with {
			return u, true
		}
	}
	return u, false
}

// unknown says why two changes count as in conflict where one of them could not be
// analyzed. The text follows the other's name.
func (w voice) unknown(v queue.View, with queue.ChangeID) string {
	u, ok := unknownOf(v, with)
	switch {
	case !ok:
		return ": one could not be analyzed, so it counts as touching everything"
	case u.Change == with:
		return ": it could not be analyzed, so it counts as touching everything (" + w.long(u.Why) + ")"
	}
	return ": this change could not be analyzed, so it is not known what it touches"
}

// against names the landed changes that a rejected one does not merge with.
func (w quote) against(ids []queue.ChangeID) string {
	switch len(ids) {
	case 0:
		return ""
	case 1:
		return " " + w.ref(string(ids[0])) + " has landed there and touches the same files."
	}
	return " " + w.refs(Strings(ids)) + " have landed there and touch the same files."
}

// Against returns which landed changes a rejected one does not merge with, in
// plain text; "" where that is not known.
func (w Words) Against(c queue.Change) string {
	if c.Verdict == nil || len(c.Verdict.Against) == 0 {
		return ""
	}
	return w.plain(c).against(c.Verdict.Against)[1:]
}

// Conflict returns why two changes may influence each other, in plain text that stands
// before the witnesses.
func (w Words) Conflict(v queue.View, k queue.Conflict) string {
	switch k.Kind {
	case queue.ConflictClash:
		return "they do not merge with each other: both change"
	case queue.ConflictTarget:
		return "both change"
	case queue.ConflictReadWrite:
		return "one newly depends on what the other changes"
	case queue.ConflictDefinition:
		return "both change what shapes the same part of the graph"
	case queue.ConflictTextual:
		return "both touch a path, and were not seen to merge"
	case queue.ConflictGlobal:
		return "one changes what everything depends on"
	case queue.ConflictUnknown:
		u, ok := unknownOf(v, k.With)
		switch {
		case !ok:
			return "one could not be analyzed, so it may touch anything"
		case u.Change == k.With:
			return "it could not be analyzed, so it may touch anything: " + OneLine(u.Why, 300)
		}
		return "this change could not be analyzed, so it may touch anything"
	}
	return OneLine(string(k.Kind), 40)
}
