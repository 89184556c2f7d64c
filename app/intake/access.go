package intake

import (
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/forge"
)

// whereabouts are where repositories are by now, by the name under which they have
// their queues; all names are in lower case. It is guarded by Intake.mu.
type whereabouts map[string]forge.Place

// Moved takes in where the repository of a configured name is by now, at the forge of a
// hook. Webhooks with its id, or with its present name, are for its queues. Webhooks of
// another repository that has taken its name are not.
func (in *Intake) Moved(hook, configured string, now forge.Place) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.moved[hook] == nil {
		in.moved[hook] = whereabouts{}
	}
	now.Name = strings.ToLower(now.Name)
	in.moved[hook][strings.ToLower(configured)] = now
}

// configured returns the name under which a repository has its queues, if it has any.
// It is "" where the repository only has taken the name of another one. id may be 0:
// not known.
func (in *Intake) configured(hook, name string, id int64) string {
	in.mu.Lock()
	defer in.mu.Unlock()
	name = strings.ToLower(name)
	found, another := name, false
	for of, at := range in.moved[hook] {
		switch {
		case id != 0 && at.ID == id:
			return of
		case at.Name != name && of != name:
		case id != 0 && at.ID != 0:
			another = true
		case at.Name == name:
			found = of
		}
	}
	if another {
		return ""
	}
	return found
}

// queuesOf returns the queues that a delivery is for.
func (in *Intake) queuesOf(hook Hook, d forge.Delivery) []string {
	if d.Formerly != "" {
		if of := in.configured(hook.name, d.Formerly, d.RepositoryID); len(hook.queues(of)) > 0 {
			in.Moved(hook.name, of, forge.Place{ID: d.RepositoryID, Name: d.Repository})
		}
	}
	var out []string
	if d.Repository != "" {
		out = append(out, hook.queues(in.configured(hook.name, d.Repository, d.RepositoryID))...)
	}
	for _, r := range d.Repositories {
		out = append(out, hook.queues(in.configured(hook.name, r.Name, r.ID))...)
	}
	if d.Account != "" {
		for repository, names := range hook.all() {
			if owner, _, _ := strings.Cut(in.present(hook.name, repository), "/"); strings.EqualFold(owner, d.Account) {
				out = append(out, names...)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// present returns the name that the repository of a configured name has by now.
func (in *Intake) present(hook, configured string) string {
	in.mu.Lock()
	defer in.mu.Unlock()
	if at, ok := in.moved[hook][configured]; ok {
		return at.Name
	}
	return configured
}
