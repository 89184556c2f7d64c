package forgetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Commit is one commit to make on a branch and push.
type Commit struct {
	Branch string
	// From is a branch or commit to start from. Empty: the branch itself, or the
	// default branch if the branch is new. A From that the branch does not contain
	// makes the push a forced one.
	From    string
	Merge   string // a second parent: a branch or commit
	Message string // empty: "Change <branch>"
	Files   map[string]string
	Delete  []string
}

// Commit makes a commit and pushes its branch, as user. It returns the new head.
func (r *Repository) Commit(user string, c Commit) (string, error) {
	ids, err := r.Commits(user, []Commit{c})
	if err != nil {
		return "", err
	}
	return ids[0], nil
}

// Commits makes one commit on each of several branches and pushes them all at
// once, as user; its cost in processes does not depend on their number. It
// returns the new heads in order. Protection applies as to any push of user.
func (r *Repository) Commits(user string, list []Commit) ([]string, error) {
	r.refs.Lock()
	defer r.refs.Unlock()
	r.s.mu.Lock()
	who := identity{user: r.s.mustUser(user)}
	now := r.s.now()
	r.s.mu.Unlock()

	var in bytes.Buffer
	var moves []refMove
	for i, c := range list {
		old := r.store.readRef("refs/heads/" + c.Branch)
		from := r.store.resolve(c.From)
		if c.From == "" {
			if from = old; from == "" {
				from = r.store.readRef("refs/heads/" + r.main)
			}
		}
		message := c.Message
		if message == "" {
			message = "Change " + c.Branch
		}
		fmt.Fprintf(&in, "commit refs/forgetest/%d\nmark :%d\n", i, i+1)
		sign := fmt.Sprintf("%s <%s@users.example> %d +0000", user, user, now.Unix())
		fmt.Fprintf(&in, "author %s\ncommitter %s\ndata %d\n%s\n", sign, sign, len(message), message)
		if from != "" {
			fmt.Fprintf(&in, "from %s\n", from)
		}
		if c.Merge != "" {
			fmt.Fprintf(&in, "merge %s\n", r.store.resolve(c.Merge))
		}
		for _, path := range c.Delete {
			fmt.Fprintf(&in, "D %s\n", quotePath(path))
		}
		for _, path := range slices.Sorted(maps.Keys(c.Files)) {
			fmt.Fprintf(&in, "M 100644 inline %s\ndata %d\n%s\n", quotePath(path), len(c.Files[path]), c.Files[path])
		}
		fmt.Fprintf(&in, "\nget-mark :%d\n", i+1)
		moves = append(moves, refMove{ref: "refs/heads/" + c.Branch, old: old})
	}
	ctx := context.Background()
	out, err := r.store.git(ctx, &in, "fast-import", "--quiet", "--force", "--date-format=raw")
	if err != nil {
		return nil, err
	}
	ids := strings.Fields(string(out))
	if len(ids) != len(list) {
		return nil, fmt.Errorf("fast-import made %d commits of %d", len(ids), len(list))
	}
	var scratch bytes.Buffer
	for i := range moves {
		moves[i].new = ids[i]
		fmt.Fprintf(&scratch, "delete refs/forgetest/%d\n", i)
	}
	res := r.store.push(ctx, who, moves, pushOptions{cleanup: scratch.String()})
	return ids, res.err()
}

// Merge pushes a merge commit of a branch or commit onto a branch, made from the
// tree of the first parent with files on top: what a person does outside the queue.
func (r *Repository) Merge(user, branch, other string, files map[string]string) (string, error) {
	return r.Commit(user, Commit{Branch: branch, Merge: other, Message: "Merge " + other, Files: files})
}

// DeleteBranch deletes a branch, as user. Open pull requests from it are closed.
func (r *Repository) DeleteBranch(user, branch string) error {
	r.refs.Lock()
	defer r.refs.Unlock()
	r.s.mu.Lock()
	who := identity{user: r.s.mustUser(user)}
	r.s.mu.Unlock()
	ref := "refs/heads/" + branch
	move := refMove{ref: ref, old: r.store.readRef(ref), new: zeroID}
	if move.old == "" {
		return errors.New("no branch " + branch)
	}
	return r.store.push(context.Background(), who, []refMove{move}, pushOptions{}).err()
}

// Head reads where a branch is; "" if it does not exist.
func (r *Repository) Head(branch string) string { return r.store.readRef("refs/heads/" + branch) }

// resolve turns a branch into its head and leaves anything else as it is.
func (r *store) resolve(name string) string {
	if id := r.readRef("refs/heads/" + name); name != "" && id != "" {
		return id
	}
	return name
}

func quotePath(path string) string {
	q := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(path)
	return `"` + q + `"`
}
