// Package cage starts a command where it sees only what it may: in namespaces of its own
// for mounts, processes and what processes share in memory (Linux). Package workers says
// what that is for; this package says how.
//
// Start starts this very program again, under a name by which it becomes the first process
// of the new namespaces before anything else of the program is initialised. That one reads
// the Spec from a pipe, mounts, gives up what it may, starts the command, and reaps what
// the command leaves behind. It has the same user as the command but capabilities that the
// command has not, so the command can neither look into it nor trace it, and the kernel
// keeps signals off that it does not handle. When the command has ended, or the pipe is
// closed, which the kernel does when this process is gone in whatever way, it asks all
// others to end, waits, and ends itself: with the first process of a namespace the kernel
// kills all others of it, whatever they have done to hide.
//
// The command cannot undo the mounts. It has no capabilities and gets none by any
// program (no_new_privs); and in a user namespace of its own, in which it has some, the
// kernel holds the mounts that it has come with together (mount_namespaces(7)).
package cage

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Spec is a command and its cage.
type Spec struct {
	Argv   []string
	Dir    string
	Env    []string
	Hide   []string // folders and files that are to be empty
	Show   []Shown  // folders and files that are there all the same
	Grace  time.Duration
	Linger time.Duration // for what still runs when the command has ended, before it is asked to end

	Map *IDs `json:",omitempty"` // the user and group to be had in a user namespace; set by Start
}

// Shown is a folder or file that is shown at a path, with what is mounted in it. All that
// is not writable is read-only, the whole machine too.
type Shown struct {
	From     string
	At       string // absolute; "": From
	Writable bool
	Optional bool // it may be missing
}

// IDs are a user and a group.
type IDs struct{ UID, GID int }

// Where is the user that a command runs as, and the way to its namespaces.
type Where struct {
	User  *IDs   // whom to run as, for a process that may switch; nil: as this process, in a user namespace
	Mark  string // a variable of the environment of the first process
	Fence *Fence // nil: all addresses are open
}

// Status is how a command ended.
type Status struct {
	Exited bool // Code says how; else it was killed, by Signal where that is known
	Code   int
	Signal int
}

// ErrNone is why there are no cages on other systems.
var ErrNone = errors.New("namespaces need Linux")

// step is one mount.
type mountStep struct {
	at   string
	show int // index into Show; -1: it is hidden
}

// steps orders the mounts: deeper ones come later, and a path is shown after it is
// hidden.
func (s Spec) steps() []mountStep {
	var steps []mountStep
	for _, at := range s.Hide {
		steps = append(steps, mountStep{filepath.Clean(at), -1})
	}
	for i, shown := range s.Show {
		steps = append(steps, mountStep{filepath.Clean(shown.at()), i})
	}
	slices.SortStableFunc(steps, func(a, b mountStep) int { return depth(a.at) - depth(b.at) })
	return steps
}

func (s Shown) at() string {
	if s.At != "" {
		return s.At
	}
	return s.From
}

func depth(path string) int {
	if path == "/" {
		return 0
	}
	return strings.Count(path, "/")
}
