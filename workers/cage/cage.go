// Package cage starts a command in separate namespaces for mounts, processes and shared memory
// (Linux), so that it sees only allowed files and processes. Package workers says why; this
// package says how.
//
// Start starts this very program again, under a name by which it becomes the first process of
// the new namespaces before anything else of the program is initialised. The first process
// reads the Spec from a pipe, mounts, gives up its rights, starts the command, and reaps the
// processes that the command leaves behind. It has the user of the command, and capabilities
// that the command does not have: so the command can neither read its memory nor trace it, and
// the kernel drops signals that it does not handle. When the command has ended, or the pipe is
// closed (the kernel closes it when this process ends in any way), it asks all others to end,
// waits, and ends. With the first process of a namespace the kernel kills all others in it,
// even those that try to hide.
//
// The command cannot undo the mounts. It has no capabilities and gets none by any program
// (no_new_privs). If it makes a user namespace, in which it has some, the kernel keeps the
// inherited mounts together (mount_namespaces(7)).
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
	Show   []Shown  // folders and files that are visible all the same
	Grace  time.Duration
	Linger time.Duration // for processes that still run when the command has ended, before they are asked to end

	Map *IDs `json:",omitempty"` // the user and group to be had in a user namespace; set by Start
}

// Shown is a folder or file that is shown at a path, with everything that is mounted in it.
// Everything that is not writable is read-only, and so is the whole machine.
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
	User  *IDs   // the user to run as, for a process that may switch; nil: as this process, in a user namespace
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

// mountStep is one mount.
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
