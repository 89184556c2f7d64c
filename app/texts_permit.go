package app

import (
	"strings"

	"github.com/submitqueue/submitqueue/queue"
)

// listed says that a command is for those on a list of roles, teams and users.
func (w voice) listed(r queue.Reason, who []string) string {
	what := "this"
	if len(r.Names) > 2 {
		what = "the lane " + w.code(r.Names[2])
	}
	var words []string
	for i, name := range who {
		switch {
		case i == mostNames:
			words = append(words, "others")
		case i > mostNames:
		case queue.RoleLevel(name) > 0:
			words = append(words, "the permission "+w.code(name))
		default:
			words = append(words, w.code(strings.TrimPrefix(name, "@")))
		}
	}
	last := len(words) - 1
	text := words[last]
	if last > 0 {
		text = strings.Join(words[:last], ", ") + " or " + text
	}
	return "Sorry" + w.name(r) + ", " + what + " is for " + text + ". Somebody of them can comment the same."
}
