package queue

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue/config"
)

// Teams returns the teams that matter to whether a user with a role may give
// the command: those of the lists that the role alone does not satisfy.
func (cmd Command) Teams(c *config.Config, role string) []string {
	var lists []config.Who
	for _, v := range append([]Verb{cmd.Verb}, commands.Row(cmd.Verb).Also...) {
		lists = append(lists, commands.Who(v, c.Permissions))
	}
	if lane, ok := c.Queue.Lane(cmd.Lane); ok {
		lists = append(lists, lane.Least)
	}
	var out []string
	for _, w := range lists {
		if !w.Allows(role, "", nil) {
			out = append(out, w.Teams()...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
