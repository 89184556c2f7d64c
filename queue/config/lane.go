package config

import (
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"
)

// Lane is a class of urgency. A change of a lane goes before those of the lanes
// below it, except those that have waited for too long (Rules.HeadStart).
type Lane struct {
	// Name is the NAME in /land priority=NAME: small letters, digits, ".", "_" and "-".
	Name string `json:"name" yaml:"name" jsonschema:"required,maxLength=32,pattern=^[a-z0-9][a-z0-9._-]*$"`
	// Benefit is how many times more a build is worth for a change of this lane: it decides which change gets a slot first, and how unlikely a future may be that is still built. From 0.1 to 10; default 1.
	Benefit float64 `json:"benefit,omitempty" yaml:"benefit,omitempty" jsonschema:"minimum=0.1,maximum=10"`
	// MaxWait is how long the lane above this one may hold it up: a change here is not overtaken by one of that lane that came later than this after it. It has no meaning in the first lane. From 1m to 168h; default lane_max_wait.
	MaxWait time.Duration `json:"max_wait,omitempty" yaml:"max_wait,omitempty" jsonschema_extras:"x-minimum=1m,x-maximum=168h"`
	// Least is who may ask for this lane: the least role, or a list as in permissions. Default: permissions.queue above the default lane, permissions.land elsewhere.
	Least Who `json:"least,omitempty" yaml:"least,omitempty"`
}

// Project is a part of the repository whose changes are worth more or less.
type Project struct {
	// Name is the name that quotas use: letters, digits, ".", "_" and "-".
	Name string `json:"name" yaml:"name" jsonschema:"required,maxLength=64,pattern=^[a-zA-Z0-9._-]+$"`
	// Targets are globs of names of targets, as the analyzer makes them: areas, or folders of packages. A change that affects one of them belongs to the project.
	Targets []string `json:"targets" yaml:"targets" jsonschema:"required,minItems=1"`
	// Benefit is how many times more a build is worth for a change of this project; of several projects the greatest counts. From 0.1 to 10; default 1.
	Benefit float64 `json:"benefit,omitempty" yaml:"benefit,omitempty" jsonschema:"minimum=0.1,maximum=10"`
}

// Per says which changes' builds a quota counts together.
type Per string

// A quota is counted for these.
const (
	PerAll    Per = "all"    // all changes that it is about
	PerAuthor Per = "author" // each author separately
)

// When says when a quota binds.
type When string

// When a quota binds.
const (
	WhenContended When = "contended" // while others wait for slots
	WhenAlways    When = "always"    // even if slots stay free
)

// Quota caps the builds that run at one time for the changes of some people or
// of a project. A change above it waits, and is never parked or rejected for it.
type Quota struct {
	// Name is shown to people whose changes wait for the quota: letters, digits, ".", "_" and "-".
	Name string `json:"name" yaml:"name" jsonschema:"required,maxLength=64,pattern=^[a-zA-Z0-9._-]+$"`
	// Authors are the people whose changes it is about; a name that ends in * means all names that begin like it. Default: everybody's.
	Authors []string `json:"authors,omitempty" yaml:"authors,omitempty" jsonschema:"maxItems=1000"`
	// Project is the project whose changes it is about. Default: any. Where authors are named, too, both must hold.
	Project string `json:"project,omitempty" yaml:"project,omitempty" jsonschema:"maxLength=64"`
	// Per says which changes are counted together: all of these, or those of each author. Default all.
	Per Per `json:"per,omitempty" yaml:"per,omitempty" jsonschema:"enum=all,enum=author,default=all"`
	// Builds are how many may run at one time. This or share is needed; of both the smaller counts.
	Builds int `json:"builds,omitempty" yaml:"builds,omitempty" jsonschema:"anyof_required=builds,minimum=1,maximum=100000"`
	// Share is the same as a share of all slots, rounded down, but at least one build. From 0.01 to 1.
	Share float64 `json:"share,omitempty" yaml:"share,omitempty" jsonschema:"anyof_required=share,minimum=0.01,maximum=1"`
	// When says when it binds: contended (while others wait for slots) or always. Default contended.
	When When `json:"when,omitempty" yaml:"when,omitempty" jsonschema:"enum=contended,enum=always,default=contended"`
}

// Lane returns the lane of a name, and false where there is none.
func (r Rules) Lane(name string) (Lane, bool) {
	if i := r.laneAt(name); i >= 0 {
		return r.Lanes[i], true
	}
	return Lane{}, false
}

// LaneNames returns the names of the lanes, the most urgent first.
func (r Rules) LaneNames() []string {
	names := make([]string, len(r.Lanes))
	for i, l := range r.Lanes {
		names[i] = l.Name
	}
	return names
}

func (r Rules) laneAt(name string) int {
	return slices.IndexFunc(r.Lanes, func(l Lane) bool { return l.Name == name })
}

// HeadStart returns how much earlier a change of a lane counts as arrived than
// one of the default lane: the sum of the waits that the lanes between them
// allow. It is negative below the default lane, and 0 for an unknown lane.
func (r Rules) HeadStart(lane string) time.Duration {
	at, usual := r.laneAt(lane), max(r.laneAt(r.DefaultLane), 0)
	if at < 0 {
		return 0
	}
	var sum time.Duration
	for _, l := range r.Lanes[min(at, usual)+1 : max(at, usual)+1] {
		sum += l.MaxWait
	}
	if at > usual {
		return -sum
	}
	return sum
}

// Has reports whether a target is one of the project.
func (p Project) Has(target string) bool {
	return slices.ContainsFunc(p.Targets, func(glob string) bool {
		return doublestar.MatchUnvalidated(targetGlob(glob), targetGlob(target))
	})
}

// targetGlob lets ./api be written as api, and the other way round.
func targetGlob(name string) string { return strings.TrimPrefix(name, "./") }

// HoldsAuthor reports whether the quota is about the changes of an author.
func (q Quota) HoldsAuthor(author string) bool {
	return len(q.Authors) == 0 || slices.ContainsFunc(q.Authors, func(name string) bool {
		if begin, all := strings.CutSuffix(name, "*"); all {
			return len(author) >= len(begin) && strings.EqualFold(author[:len(begin)], begin)
		}
		return strings.EqualFold(name, author)
	})
}

// Limit returns how many builds may run at one time in a queue of so many
// slots: at least one.
func (q Quota) Limit(slots int) int {
	limit := q.Builds
	if q.Share > 0 {
		if share := int(q.Share*float64(slots) + 1e-9); limit == 0 || share < limit {
			limit = share
		}
	}
	return max(limit, 1)
}
