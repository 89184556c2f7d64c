package forgetest

import (
	"slices"
	"time"
)

// CheckRun is a check run on a commit as a test sees it.
type CheckRun struct {
	ID         int64
	Name       string
	Head       string
	ExternalID string
	Status     string // "queued", "in_progress" or "completed"
	Conclusion string // empty until completed
	Title      string
	Summary    string
	Text       string
	DetailsURL string
	App        string // slug of the App that made it
	Updates    int    // how often it was updated
}

type run struct {
	CheckRun
	app       int64
	started   time.Time
	completed time.Time
	actions   []any
	suite     int64  // 0: one for each App
	branch    string // the branch that the suite was made for

	annotations []Annotation
	log         string // of a job that has ended
}

func (r *CI) checksOf(head string) []CheckRun {
	var list []CheckRun
	for _, c := range r.runs {
		if c.Head == head {
			list = append(list, c.CheckRun)
		}
	}
	return list
}

// lastRun returns the newest check run of a name on a commit; nil if there is none.
func (r *CI) lastRun(head, name string) *run {
	for _, c := range slices.Backward(r.runs) {
		if c.Head == head && c.Name == name {
			return c
		}
	}
	return nil
}

// Checks returns the check runs on a commit, oldest first.
func (r *CI) Checks(head string) (list []CheckRun) {
	r.repo.Look(func(v View) { list = v.Checks(head) })
	return list
}

// CheckRun returns the newest check run of a name on a commit.
func (r *CI) CheckRun(head, name string) (CheckRun, bool) {
	r.repo.s.mu.Lock()
	defer r.repo.s.mu.Unlock()
	if c := r.lastRun(head, name); c != nil {
		return c.CheckRun, true
	}
	return CheckRun{}, false
}

// SetCheck reports a check run by another App (a CI), named slug, on a commit:
// conclusion "" means in progress. It is the newest of its name from then on.
func (r *CI) SetCheck(slug, head, name, conclusion string) int64 {
	r.repo.s.mu.Lock()
	defer r.repo.s.mu.Unlock()
	status := "completed"
	if conclusion == "" {
		status = "in_progress"
	}
	now := r.repo.s.now()
	c := &run{CheckRun: CheckRun{
		ID: r.repo.s.nextID(), Name: name, Head: head, Status: status, Conclusion: conclusion, App: slug,
	}, app: 1, started: now, completed: now}
	r.runs = append(r.runs, c)
	r.tellRun(r.repo.s.appUser(slug), c)
	r.repo.s.touch()
	return c.ID
}

// tellRun sends the webhook of a check run that is new, or has ended.
func (r *CI) tellRun(u *user, c *run) {
	action := "created"
	if c.Status == "completed" {
		action = "completed"
	}
	r.emitRun(u, c, action, nil)
}
