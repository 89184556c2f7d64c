package queue

import (
	"regexp"
	"slices"
	"strings"
)

// Forgotten says which passes a maintainer has taken back: those up to At, of the
// keys that it covers. It is kept for as long as the archive may hold such a
// pass, and read when a pass comes from the archive, from a build that was asked
// for before, or from a late answer: none of these brings a pass back.
type Forgotten struct {
	Key    string  `json:"key,omitempty"`    // how the id of the key begins; or
	Target string  `json:"target,omitempty"` // all keys of a target; with Step, those of one step
	Step   string  `json:"step,omitempty"`   // all keys of a step of that name
	At     Instant `json:"at"`
	By     string  `json:"by"`
}

// Bounds of the list of forgotten passes.
const (
	// ForgottenMost is how many of them a queue remembers.
	ForgottenMost = 100
	// forgottenKey is how many digits of a key's id must be given at least.
	forgottenKey  = 12
	forgottenName = 1000
)

// ParseForgotten reads what is to be forgotten: a target, step=NAME, both, or
// key=ID, where ID is the id of a key or how it begins, in 12 digits or more.
func ParseForgotten(text string) (f Forgotten, ok bool) {
	if len(text) > forgottenName {
		return f, false
	}
	for _, w := range strings.Fields(text) {
		into := &f.Target
		if name, is := strings.CutPrefix(w, "step="); is {
			into, w = &f.Step, name
		} else if id, is := strings.CutPrefix(w, "key="); is {
			into, w = &f.Key, strings.ToLower(id)
		}
		if *into != "" || w == "" {
			return f, false
		}
		*into = w
	}
	switch {
	case f.Key != "":
		return f, f.Target == "" && f.Step == "" && len(f.Key) >= forgottenKey && regexp.MustCompile(`^[0-9a-f]{1,64}$`).MatchString(f.Key)
	case f.Step != "" && !regexp.MustCompile(`^[a-zA-Z0-9._-]{1,64}$`).MatchString(f.Step):
		return f, false
	}
	return f, f.Target != "" || f.Step != ""
}

// String returns what ParseForgotten reads.
func (f Forgotten) String() string {
	if f.Key != "" {
		return "key=" + f.Key
	}
	if f.Step == "" {
		return f.Target
	}
	return strings.TrimSpace(f.Target + " step=" + f.Step)
}

// Covers reports whether a key of a step with that name is meant.
func (f Forgotten) Covers(k Key, step string) bool {
	if f.Key != "" {
		return strings.HasPrefix(string(k.ID()), f.Key)
	}
	return (f.Target == "" || k.Target == f.Target) && (f.Step == "" || step == f.Step)
}

// Covered reports whether a result that was known, or asked for, at a moment has
// been forgotten since. It is a result of a key of a step with that name.
func Covered(by []Forgotten, k Key, step string, at Instant) bool {
	return slices.ContainsFunc(by, func(f Forgotten) bool { return at <= f.At && f.Covers(k, step) })
}

// Void reports whether a pass has been forgotten. step is the name of the key's step.
func Void(by []Forgotten, pass *Entry, step string) bool {
	return len(by) > 0 && len(pass.Keys) == 1 && Covered(by, pass.Keys[0], step, pass.Passed)
}

// Remember returns the list with f added. It drops entries that are older than any
// pass of the archive can be, and an older entry of the same passes. ok is false
// where that would be more than ForgottenMost.
func Remember(list []Forgotten, f Forgotten) (out []Forgotten, ok bool) {
	for _, old := range list {
		if f.At.Sub(old.At) < ArchiveTTL && old.String() != f.String() {
			out = append(out, old)
		}
	}
	out = append(out, f)
	return out, len(out) <= ForgottenMost
}
