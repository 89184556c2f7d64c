package gitlab

import (
	"fmt"
	"strings"
)

// Begin makes the default branch begin anew, with one commit of these files, which
// it returns. It sends no webhook.
func (p *Project) Begin(message string, files map[string]string) string {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	id := must2(p.commit("", files, message, p.s.now()))
	must2(p.git(nil, "update-ref", "refs/heads/"+p.main, id))
	return id
}

// LookAgain makes the REST interface see all branches that are in the repository, for
// branches that did not come by a push.
func (p *Project) LookAgain() {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	for name := range strings.FieldsSeq(must2(p.git(nil, "for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads/"))) {
		p.cached[name] = true
	}
}

// Commit is a commit to put on a branch.
type Commit struct {
	Branch  string
	From    string // where a new branch begins; empty: at the default branch
	Message string
	Files   map[string]string
}

// Commit pushes a commit, as user, and returns it.
func (p *Project) Commit(user string, c Commit) (string, error) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	old := p.tip(c.Branch)
	parent := old
	if parent == "" {
		parent = c.From
	}
	if parent == "" {
		parent = p.tip(p.main)
	}
	id, err := p.commit(parent, c.Files, c.Message, p.s.now())
	if err != nil {
		return "", err
	}
	moves := []refMove{{"refs/heads/" + c.Branch, old, id}}
	if err := p.push(p.s.user(user), moves, nil, true).err(moves); err != nil {
		return "", fmt.Errorf("push as %s: %w", user, err)
	}
	return id, nil
}
