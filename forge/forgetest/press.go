package forgetest

import (
	"fmt"
	"slices"
)

// Annotation is an annotation of a check run, as a test sees it.
type Annotation struct {
	Path    string
	Line    int
	Level   string
	Title   string
	Message string
	Details string
}

// action is a button in a request.
type action = struct {
	Label       string `json:"label"`
	Description string `json:"description"`
	Identifier  string `json:"identifier"`
}

// Buttons returns the labels of the buttons of the newest check run of a name on
// a commit.
func (r *CI) Buttons(head, name string) (out []string) {
	r.repo.Look(func(v View) { out = v.Buttons(head, name) })
	return out
}

// Buttons is CI.Buttons.
func (v View) Buttons(head, name string) []string {
	var out []string
	if c := v.r.CI.lastRun(head, name); c != nil {
		for _, a := range c.actions {
			out = append(out, a.(action).Label)
		}
	}
	return out
}

// Annotations returns the annotations of the newest check run of a name on a
// commit. As at GitHub, each update adds its annotations to those that exist.
func (r *CI) Annotations(head, name string) []Annotation {
	r.repo.s.mu.Lock()
	defer r.repo.s.mu.Unlock()
	if c := r.lastRun(head, name); c != nil {
		return slices.Clone(c.annotations)
	}
	return nil
}

// Press presses the button with this label of a check run.
func (r *CI) Press(login, head, name, label string) {
	r.repo.s.mu.Lock()
	defer r.repo.s.mu.Unlock()
	c := r.lastRun(head, name)
	if c == nil {
		panic(fmt.Sprintf("forgetest: no check run %s on %s", name, head))
	}
	i := slices.IndexFunc(c.actions, func(a any) bool { return a.(action).Label == label })
	if i < 0 {
		panic(fmt.Sprintf("forgetest: the check run %s has no button %s: %v", name, label, c.actions))
	}
	r.emitRun(r.repo.s.mustUser(login), c, "requested_action", obj{"requested_action": obj{"identifier": c.actions[i].(action).Identifier}})
	r.repo.s.touch()
}

// Rerequest asks for a check run to run again.
func (r *CI) Rerequest(login, head, name string) {
	r.repo.s.mu.Lock()
	defer r.repo.s.mu.Unlock()
	c := r.lastRun(head, name)
	if c == nil {
		panic(fmt.Sprintf("forgetest: no check run %s on %s", name, head))
	}
	r.emitRun(r.repo.s.mustUser(login), c, "rerequested", nil)
	r.repo.s.touch()
}

// RerequestSuite asks for all check runs of the App on the head of a pull request
// to run again.
func (r *CI) RerequestSuite(login string, number int) {
	r.repo.issues.act(login, number, func(u *user, p *pull) {
		branch := p.Branch
		if p.Fork != "" {
			branch = ""
		}
		ours := &run{CheckRun: CheckRun{Head: p.Head, App: r.repo.s.opts.Slug}, app: appID, branch: branch}
		r.emitSuite(u, r.suiteOf(ours), "rerequested")
	})
}
