package texts

import (
	"strings"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// rulings says which rules of `auto` hold for a pull request, and which conditions of the
// others it does not meet.
func (w voice) rulings(list []queue.Ruling) []string {
	if len(list) == 0 {
		return nil
	}
	lines := []string{"By the rules of " + w.code(config.Path) + " that enter it without a command:"}
	for _, r := range list {
		if len(r.Lacks) == 0 {
			lines = append(lines, "- "+w.code(r.Rule)+" holds")
			continue
		}
		var lacks []string
		for _, l := range r.Lacks {
			lacks = append(lacks, w.ruleLack(l))
		}
		lines = append(lines, "- "+w.code(r.Rule)+" does not hold: "+strings.Join(lacks, "; "))
	}
	return []string{strings.Join(lines, "\n")}
}

// ruleLack says which condition of a rule does not hold.
func (w voice) ruleLack(l queue.Lack) string {
	names := w.codes(l.Names)
	switch l.Kind {
	case queue.LackBase:
		return "it asks for the branch " + names
	case queue.LackReady:
		return "it is a draft"
	case queue.LackLabels:
		return "not labelled " + names
	case queue.LackAuthor:
		return "not for its author " + names
	case queue.LackApprovals:
		if len(l.Names) == 2 {
			return "approved by " + w.count(l.Names[0]) + " of " + w.count(l.Names[1]) + " with write access, at this head"
		}
		return "not approved at this head"
	case queue.LackChecks:
		return "not green at this head: " + names
	case queue.LackPaths:
		return "not for the paths that it changes, or it does not merge"
	case queue.LackWriter:
		return "its author " + names + " has no write access, and nobody with it has approved this head"
	case queue.LackUnjudged:
		return "it cannot be judged: " + names
	case queue.LackTurn:
		return "this head was taken out or has had its verdict: push to it, or command it"
	}
	return "it does not hold"
}
