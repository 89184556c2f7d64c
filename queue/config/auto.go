package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Auto is a rule by which an open pull request enters the queue without a command: all
// conditions of the rule must hold for the head that enters. The pull request must not
// be a draft, and must ask for the queue's branch. Besides, each rule needs somebody
// with write access: the author, a reviewer with an approval of the head, or an author
// that the rule names.
type Auto struct {
	// Name is shown to everybody whose pull request the rule enters; each rule has its own.
	Name string `json:"name" yaml:"name" jsonschema:"required,maxLength=64,pattern=^[a-zA-Z0-9._-]+$"`
	// Labels must all be set, in any case of letters. Taking one of them off takes out a pull request that has entered by the rule. Default none.
	Labels []string `json:"labels,omitempty" yaml:"labels,omitempty" jsonschema:"maxItems=20,pattern=^\\S([^\\r\\n\\x00]*\\S)?$"`
	// Authors are users, Apps such as "dependabot[bot]" and teams ("@org/team"), by the forge's own names; one of them must have opened it. Default anybody.
	Authors []string `json:"authors,omitempty" yaml:"authors,omitempty" jsonschema:"maxItems=100,pattern=^(@?[a-zA-Z0-9][a-zA-Z0-9_-]*(\\[bot\\])?|@[a-zA-Z0-9][a-zA-Z0-9_-]*/[a-zA-Z0-9._-]+)$"`
	// Approvals are how many people with write access, other than the author, have approved of exactly its head. Default 0.
	Approvals int `json:"approvals,omitempty" yaml:"approvals,omitempty" jsonschema:"minimum=0,maximum=20,default=0"`
	// Checks are names of checks and statuses, or globs of names. For each entry at least one check that it names has passed on the head, and none has failed or is still running. A glob does not know a check that has not appeared yet. Default none.
	Checks []string `json:"checks,omitempty" yaml:"checks,omitempty" jsonschema:"maxItems=50"`
	// Paths are globs: each path that it changes matches one of them. Default any.
	Paths []string `json:"paths,omitempty" yaml:"paths,omitempty" jsonschema:"maxItems=100"`
	// Touches are globs: at least one path that it changes matches one of them. Default any.
	Touches []string `json:"touches,omitempty" yaml:"touches,omitempty" jsonschema:"maxItems=100"`
	// Priority is the lane that it enters in, as in /land priority=LANE. Default default_lane.
	Priority string `json:"priority,omitempty" yaml:"priority,omitempty" jsonschema:"maxLength=32"`
	// Method is how it lands, as in /land method=METHOD. Default the queue's method.
	Method Method `json:"method,omitempty" yaml:"method,omitempty" jsonschema:"enum=merge,enum=squash,enum=rebase,enum=semi-linear,enum=fast-forward"`
}

// Labelled reports whether a label is one of the rule's.
func (a Auto) Labelled(label string) bool {
	return slices.ContainsFunc(a.Labels, func(l string) bool { return strings.EqualFold(l, label) })
}

// LacksLabels returns those of the rule's labels that are not among some labels.
func (a Auto) LacksLabels(labels []string) (out []string) {
	for _, l := range a.Labels {
		if !slices.ContainsFunc(labels, func(has string) bool { return strings.EqualFold(l, has) }) {
			out = append(out, l)
		}
	}
	return out
}

// Teams returns the teams among the authors of the rule, as "org/team".
func (a Auto) Teams() []string { return Who(strings.Join(a.Authors, " ")).Teams() }

// Names reports whether the rule names an author by login. Case does not count; an App and
// a user of the same name are different.
func (a Auto) Names(author string) bool {
	return author != "" && slices.ContainsFunc(a.Authors, func(name string) bool {
		return !strings.Contains(name, "/") && strings.EqualFold(strings.TrimPrefix(name, "@"), author)
	})
}

// Within reports whether some paths, all that a pull request changes, meet the rule.
func (a Auto) Within(paths []string) bool {
	in := func(globs []string) func(string) bool {
		return func(p string) bool {
			return slices.ContainsFunc(globs, func(g string) bool { return doublestar.MatchUnvalidated(g, p) })
		}
	}
	if len(a.Paths) > 0 && (len(paths) == 0 || !all(paths, in(a.Paths))) {
		return false
	}
	return len(a.Touches) == 0 || slices.ContainsFunc(paths, in(a.Touches))
}

func all(list []string, is func(string) bool) bool {
	return !slices.ContainsFunc(list, func(s string) bool { return !is(s) })
}

// CheckNamed reports whether a name, or glob, of the rule's checks matches a check. In
// names of checks a slash is a letter like any other.
func CheckNamed(pattern, check string) bool {
	if strings.EqualFold(pattern, check) {
		return true
	}
	flat := func(s string) string { return strings.ReplaceAll(s, "/", "\x01") }
	return doublestar.MatchUnvalidated(flat(pattern), flat(check))
}

// AutoText is the rules as text: the same for the same rules.
func (r Rules) AutoText() string {
	text, _ := json.Marshal(r.Auto) // strings and numbers: there is no error
	return string(text)
}

// AutoRule returns the rule of a name, and whether there is one.
func (r Rules) AutoRule(name string) (Auto, bool) {
	i := slices.IndexFunc(r.Auto, func(a Auto) bool { return a.Name == name })
	if i < 0 {
		return Auto{}, false
	}
	return r.Auto[i], true
}

// checkAuto reports mistakes that a single field of the rules cannot show.
func checkAuto(d *document, q *Rules) {
	lanes := q.LaneNames()
	if len(q.Lanes) == 0 {
		lanes = Rules{Lanes: DefaultLanes()}.LaneNames()
	}
	names := map[string]int{}
	for i, a := range q.Auto {
		path := fmt.Sprintf("queue.auto[%d]", i)
		d.once(path+".name", a.Name, names)
		if len(a.Labels)+len(a.Authors)+a.Approvals+len(a.Checks)+len(a.Paths)+len(a.Touches) == 0 {
			d.report(path, "%s names no condition, so it would enter every pull request: name labels, authors, approvals, checks, paths or touches", path)
		}
		for j, l := range a.Labels {
			sub := fmt.Sprintf("%s.labels[%d]", path, j)
			rest, asks := strings.CutPrefix(strings.ToLower(l), strings.ToLower(cmp.Or(q.Label, "land")))
			switch {
			case asks && (rest == "" || rest[0] == ':'):
				d.report(sub, "%s is %s, a label that asks to land by itself, with the permission of who sets it: name another one", sub, quoted(l))
			case len(q.Blocking([]string{l})) > 0:
				d.report(sub, "%s is %s, which is one of queue.blocking_labels: nothing lands with it", sub, quoted(l))
			}
		}
		for j, name := range a.Authors {
			if sub := fmt.Sprintf("%s.authors[%d]", path, j); RoleLevel(name) > 0 {
				d.report(sub, "%s is %s, a role, and an author is a user, an App or a team: name these", sub, quoted(name))
			}
		}
		for j, g := range a.Checks {
			if sub := fmt.Sprintf("%s.checks[%d]", path, j); d.glob(sub, g) && !doublestar.ValidatePattern(g) {
				d.report(sub, "%s is not a valid glob: %s (is a bracket or brace not closed?)", sub, quoted(g))
			}
		}
		d.globs(path+".paths", a.Paths)
		d.globs(path+".touches", a.Touches)
		if a.Priority != "" && !slices.Contains(lanes, a.Priority) && !d.refused["queue.lanes"] {
			d.report(path+".priority", "%s.priority is %s, and no lane has that name%s: there are %s", path, quoted(a.Priority), didYouMean(a.Priority, lanes), strings.Join(lanes, ", "))
		}
		if a.Method != "" && !d.refused[path+".method"] && !d.refused["queue.methods"] {
			if _, may := q.MethodFor(string(a.Method)); !may {
				d.report(path+".method", "%s.method is %s, which queue.methods does not name: add it there", path, quoted(string(a.Method)))
			}
		}
	}
}
