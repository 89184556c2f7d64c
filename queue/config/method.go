package config

import (
	"slices"
	"strings"
)

// Method is how a change gets onto the branch.
type Method string

// The methods. A change without one lands by merge.
const (
	MethodMerge       Method = "merge"        // one commit, with the branch and the head as parents
	MethodSquash      Method = "squash"       // the same tree in one commit, with the branch as parent
	MethodRebase      Method = "rebase"       // the change's own commits, made anew on the branch
	MethodSemiLinear  Method = "semi-linear"  // the commits of rebase, and one that merges them, with the branch and the last of them as parents
	MethodFastForward Method = "fast-forward" // the change's own commits as they are, which must stand on the branch as it is
)

// Keeps reports whether a change's own commits are on the branch once it has
// landed: its head is an ancestor of the commit that it landed as.
func (m Method) Keeps() bool { return m == "" || m == MethodMerge || m == MethodFastForward }

// ByCommit reports whether each of a change's own commits is on the branch's line
// once it has landed.
func (m Method) ByCommit() bool { return m == MethodRebase || m == MethodFastForward }

// Replays reports whether a change's own commits are made anew on the branch.
func (m Method) Replays() bool { return m == MethodRebase || m == MethodSemiLinear }

// Allowed returns the methods that a change may ask for: the default one first.
func (q Rules) Allowed() []Method {
	out := []Method{q.Method}
	if q.Method == "" {
		out[0] = MethodMerge
	}
	for _, m := range q.Methods {
		if !slices.Contains(out, m) {
			out = append(out, m)
		}
	}
	return out
}

// MethodFor returns the method that a command asks for ("": none), and whether
// that is allowed. Merge is returned as "", as it is stored.
func (q Rules) MethodFor(asked string) (Method, bool) {
	allowed := q.Allowed()
	m := allowed[0]
	if asked != "" {
		m = Method(asked)
	}
	ok := slices.Contains(allowed, m)
	if m == MethodMerge {
		m = ""
	}
	return m, ok
}

// Following returns the configuration for a repository with settings of its own that
// say by which methods changes land, the first by default. None: the settings say
// nothing.
func (c *Config) Following(methods []Method) *Config {
	if len(methods) == 0 {
		return c
	}
	out := *c
	out.Queue.Method, out.Queue.Methods = methods[0], nil
	if len(methods) > 1 {
		out.Queue.Methods = slices.Clone(methods[1:])
	}
	return &out
}

// Head says what becomes of the branch of a pull request that lands as another commit
// than its head.
type Head string

// The choices for it.
const (
	HeadMove  Head = "move"
	HeadLeave Head = "leave"
)

// MergeAPI says whether the forge or the queue makes the commit of a change that lands alone
// and by squash.
type MergeAPI string

// The choices for it.
const (
	MergeAPIOn  MergeAPI = "on"  // the forge, where it can
	MergeAPIOff MergeAPI = "off" // the queue
)

// Intermediate says whether the commits before the last of a change that lands
// as several are verified.
type Intermediate string

// The policies for them.
const (
	IntermediateVerify Intermediate = "verify" // each adds only keys that have passed
	IntermediateSkip   Intermediate = "skip"   // they are not verified
)

// checkMethods reports mistakes that a single field of landing cannot show.
func checkMethods(d *document, q *Rules) {
	if q.MergeAPI == MergeAPIOn && !slices.Contains(q.Allowed(), MethodSquash) {
		d.report("queue.merge_api", "queue.merge_api is for changes that land by squash, and neither queue.method nor queue.methods allows that: "+
			"a merge or fast-forward is shown as merged without it, and of a rebase that the forge makes nobody could tell that it is the one that was proven")
	}
	for _, x := range []struct {
		path string
		text string
	}{
		{"queue.messages.merge.title", q.Messages.Merge.Title}, {"queue.messages.merge.body", q.Messages.Merge.Body},
		{"queue.messages.squash.title", q.Messages.Squash.Title}, {"queue.messages.squash.body", q.Messages.Squash.Body},
	} {
		if d.refused[x.path] || x.text == "" {
			continue
		}
		if err := eachPart(x.text, func(string, string) {}); err != nil {
			d.report(x.path, "%s %s", x.path, err)
		} else if strings.HasSuffix(x.path, ".title") && strings.ContainsAny(strings.TrimSpace(x.text), "\r\n") {
			d.report(x.path, "%s must be one line", x.path)
		}
	}
}
