package app

import (
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/forge"
)

// aliases are the names that repositories have by now, where that is another
// than the configured one. It is guarded by Intake.mu.
type aliases map[string]string // in lower case; name by now → configured name

// Moved takes in which repository a configured name stands for, and what its name
// is by now: webhooks that bear that name are for the queues of the configured
// one, and those of another repository are not, whatever its name. An id of 0 is
// not known.
func (in *Intake) Moved(configured, now string, id int64) {
	in.mu.Lock()
	defer in.mu.Unlock()
	configured, now = strings.ToLower(configured), strings.ToLower(now)
	for name, of := range in.aliases {
		if of == configured {
			delete(in.aliases, name)
		}
	}
	if configured != now {
		in.aliases[now] = configured
	}
	if id != 0 {
		in.ids[configured] = id
	}
}

// configured returns the name under which a repository has its queues; "": it is
// another one, which has the name of one of ours. An id of 0 is not known.
func (in *Intake) configured(name string, id int64) string {
	in.mu.Lock()
	defer in.mu.Unlock()
	name = strings.ToLower(name)
	if of, ok := in.aliases[name]; ok {
		name = of
	}
	if id == 0 || in.ids[name] == id {
		return name
	}
	for of, known := range in.ids {
		if known == id {
			return of
		}
	}
	if in.ids[name] != 0 {
		return ""
	}
	return name
}

// queuesOf returns the queues that a delivery is for.
func (in *Intake) queuesOf(hook Hook, d forge.Delivery) []string {
	if d.Formerly != "" {
		if configured := in.configured(d.Formerly, d.RepositoryID); configured != "" {
			in.Moved(configured, d.Repository, 0)
		}
	}
	var out []string
	if d.Repository != "" {
		out = append(out, hook.queues(in.configured(d.Repository, d.RepositoryID))...)
	}
	for _, r := range d.Repositories {
		out = append(out, hook.queues(in.configured(r, 0))...)
	}
	if d.Account != "" {
		in.mu.Lock()
		now := map[string]string{}
		for name, of := range in.aliases {
			now[of] = name
		}
		in.mu.Unlock()
		for repository, names := range hook.all() {
			at := repository
			if to := now[repository]; to != "" {
				at = to
			}
			if owner, _, _ := strings.Cut(at, "/"); strings.EqualFold(owner, d.Account) {
				out = append(out, names...)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
