package forgetest

import (
	"bytes"
	"cmp"
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

	made := make([]newCommit, len(list))
	moves := make([]refMove, len(list))
	for i, c := range list {
		moves[i] = refMove{ref: "refs/heads/" + c.Branch, old: r.store.readRef("refs/heads/" + c.Branch)}
		if c.From != "" {
			made[i].from = r.store.resolve(c.From)
		} else if made[i].from = moves[i].old; made[i].from == "" {
			made[i].from = r.store.readRef("refs/heads/" + r.main)
		}
		if c.Merge != "" {
			made[i].merge = r.store.resolve(c.Merge)
		}
		made[i].message = cmp.Or(c.Message, "Change "+c.Branch)
		made[i].sign = fmt.Sprintf("%s <%s@users.example> %d +0000", user, user, now.Unix())
		made[i].files, made[i].gone = c.Files, c.Delete
	}
	ctx := context.Background()
	ids, cleanup, err := r.store.make(ctx, made)
	if err != nil {
		return nil, err
	}
	for i := range moves {
		moves[i].new = ids[i]
	}
	res := r.store.push(ctx, who, moves, pushOptions{cleanup: cleanup})
	return ids, res.err()
}

// newCommit is a commit to make, with its parents by id.
type newCommit struct {
	from, merge   string // "": none
	sign, message string // the author, also the committer
	files         map[string]string
	gone          []string // files that are deleted from from's tree
}

// make makes commits and returns their ids, and the further commands for update-ref
// that remove scratch refs.
func (r *store) make(ctx context.Context, list []newCommit) (ids []string, cleanup string, err error) {
	for _, c := range list {
		id, err := r.makeLoose(c)
		if err != nil {
			return r.fastImport(ctx, list)
		}
		ids = append(ids, id)
	}
	return ids, "", nil
}

// fastImport is make by git, for any form of the repository's objects.
func (r *store) fastImport(ctx context.Context, list []newCommit) (ids []string, cleanup string, err error) {
	var in, scratch bytes.Buffer
	for i, c := range list {
		fmt.Fprintf(&in, "commit refs/forgetest/%d\nmark :%d\n", i, i+1)
		fmt.Fprintf(&in, "author %s\ncommitter %s\ndata %d\n%s\n", c.sign, c.sign, len(c.message), c.message)
		if c.from != "" {
			fmt.Fprintf(&in, "from %s\n", c.from)
		}
		if c.merge != "" {
			fmt.Fprintf(&in, "merge %s\n", c.merge)
		}
		for _, path := range c.gone {
			fmt.Fprintf(&in, "D %s\n", quotePath(path))
		}
		for _, path := range slices.Sorted(maps.Keys(c.files)) {
			fmt.Fprintf(&in, "M 100644 inline %s\ndata %d\n%s\n", quotePath(path), len(c.files[path]), c.files[path])
		}
		fmt.Fprintf(&in, "\nget-mark :%d\n", i+1)
		fmt.Fprintf(&scratch, "delete refs/forgetest/%d\n", i)
	}
	out, err := r.git(ctx, &in, "fast-import", "--quiet", "--force", "--date-format=raw")
	if err != nil {
		return nil, "", err
	}
	if ids = strings.Fields(string(out)); len(ids) != len(list) {
		return nil, "", fmt.Errorf("fast-import made %d commits of %d", len(ids), len(list))
	}
	return ids, scratch.String(), nil
}

// Merge pushes a merge commit of a branch or commit onto a branch, made from the
// tree of the first parent with files on top: as a person does outside the queue.
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

// Head returns the commit of a branch; "" if it does not exist.
func (r *Repository) Head(branch string) string { return r.store.readRef("refs/heads/" + branch) }

// resolve turns a branch into its head and leaves any other name as it is.
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
