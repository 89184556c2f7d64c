package notify

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue"
)

// kind is one thing that people can ask to be told of.
type kind struct {
	name  string
	of    []string              // queue.Note.What
	when  func(queue.Note) bool // which notes of these; nil: all
	usual bool                  // told to a target that names no kinds
}

// kindMore is the kind of a message that stands for many others.
const kindMore = "more"

// kinds is the table of the kinds of notifications. A note is of the first kind that it
// fits. Nothing writes to the table.
var kinds = []kind{
	{name: "landed", of: []string{string(queue.Landed)}},
	{name: "rejected", of: []string{string(queue.Rejected)}, usual: true},
	{name: "cancelled", of: []string{string(queue.Cancelled)}},
	{name: "nothing-to-land", of: []string{string(queue.NothingToLand)}},
	{name: "waiting", of: []string{"parked"}, when: asked},
	{name: "parked", of: []string{"parked"}, usual: true},
	{name: "red", of: []string{"main-red"}, usual: true},
	{name: "green", of: []string{"hunt-over"}, when: passes, usual: true},
	{name: "paused", of: []string{"paused", "forced", "differs"}, usual: true},
	{name: "frozen", of: []string{"frozen"}},
	{name: "resumed", of: []string{"resumed"}},
	{name: "refused", of: []string{"refused"}},
	{name: "benched", of: []string{"host-benched"}},
}

// asked reports whether a parked change waits for its author, its reviewers or its parent.
func asked(n queue.Note) bool {
	return n.Reason.Code == queue.ReasonRequirements || n.Reason.Code == queue.ReasonParent
}

// passes reports whether a hunt ended because the checks that were red pass by now.
func passes(n queue.Note) bool {
	return !slices.Contains(n.Reason.Names, string(queue.HuntForced))
}

// kindOf returns the kind of a note; ok is false where no target is told of it.
func kindOf(table []kind, n queue.Note) (name string, ok bool) {
	for _, k := range table {
		if slices.Contains(k.of, n.What) && (k.when == nil || k.when(n)) {
			return k.name, true
		}
	}
	return "", false
}
