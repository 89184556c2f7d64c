package app

import (
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/forge"
)

// aliases are the names that repositories have by now, where that is another
// than the configured one. It is guarded by Intake.mu.
type aliases map[string]string // in lower case; name by now → configured name

// Moved takes in that a repository has another name by now: webhooks that bear
// it are for the queues of the configured one.
func (in *Intake) Moved(configured, now string) {
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
}

// configured returns the name under which a repository has its queues.
func (in *Intake) configured(name string) string {
	in.mu.Lock()
	defer in.mu.Unlock()
	name = strings.ToLower(name)
	if of, ok := in.aliases[name]; ok {
		return of
	}
	return name
}

// queuesOf returns the queues that a delivery is for.
func (in *Intake) queuesOf(hook Hook, d forge.Delivery) []string {
	if d.Formerly != "" {
		in.Moved(in.configured(d.Formerly), d.Repository)
	}
	var out []string
	if d.Repository != "" {
		out = append(out, hook.queues(in.configured(d.Repository))...)
	}
	for _, r := range d.Repositories {
		out = append(out, hook.queues(in.configured(r))...)
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
