package config

import (
	"slices"
	"strconv"
)

// Checkout says which files the checkouts of steps with run hold beside those that git
// has in the commit. Steps with checks are checked out by their workflow.
type Checkout struct {
	// Submodules says whether submodules are filled: true (those of the commit), recursive (theirs, too) or false. Default false: each is an empty folder.
	Submodules Submodules `json:"submodules,omitempty" yaml:"submodules,omitempty"`

	// LFS says whether files that Git LFS keeps (filter=lfs in .gitattributes) are fetched: true or false. Default false: each is its pointer.
	LFS Switch `json:"lfs,omitempty" yaml:"lfs,omitempty"`

	// Depth says how many commits of history GitLab Runner fetches, the built one included. On other runners a checkout is no git repository. Default 1.
	Depth int `json:"depth,omitempty" yaml:"depth,omitempty" jsonschema:"minimum=1,maximum=100000"`
}

// Plain reports whether the checkout holds the files that git has in the commit, and no
// others.
func (c Checkout) Plain() bool { return !c.Submodules.On() && !c.LFS.On() }

// Equal reports whether checkouts of one commit hold the same files.
func (c Checkout) Equal(d Checkout) bool {
	c.Depth, d.Depth = 0, 0
	return slices.Equal(c.fields(), d.fields())
}

// Commits is how many commits of history are fetched.
func (c Checkout) Commits() int { return max(1, c.Depth) }

// Switch is true or false, or says nothing, so that a default can be told from a false
// that somebody has written.
type Switch string

// The values of Switch; "" is SwitchOff, unless the file has a default.
const (
	SwitchOff Switch = "false"
	SwitchOn  Switch = "true"
)

// On reports whether it is true.
func (s Switch) On() bool { return s == SwitchOn }

// MarshalYAML writes what the file has.
func (s Switch) MarshalYAML() (any, error) { return s == SwitchOn, nil }

// Submodules says which submodules a checkout fills. In the file it is true, false or
// recursive.
type Submodules string

// The values of Submodules; "" is SubmodulesOff, unless the file has a default.
const (
	SubmodulesOff Submodules = "false"
	SubmodulesTop Submodules = "true"      // those that the commit names
	SubmodulesAll Submodules = "recursive" // and those that these name
)

// On reports whether any submodule is filled.
func (s Submodules) On() bool { return s != "" && s != SubmodulesOff }

// MarshalYAML writes what the file has.
func (s Submodules) MarshalYAML() (any, error) {
	switch s {
	case SubmodulesOff, SubmodulesTop:
		return s == SubmodulesTop, nil
	}
	return string(s), nil
}

// fields returns the fields that the checkout adds to the digest of its step: two for
// each part. The first is no valid name of a variable, so that no variables of a step
// make the same fields.
func (c Checkout) fields() []string {
	var fields []string
	if c.Submodules.On() {
		fields = append(fields, "checkout1:submodules", string(c.Submodules))
	}
	if c.LFS.On() {
		fields = append(fields, "checkout1:lfs", string(c.LFS))
	}
	if c.Commits() > 1 { // git says more of the commit then
		fields = append(fields, "checkout1:depth", strconv.Itoa(c.Depth))
	}
	return fields
}
