package queue

import (
	"reflect"

	"github.com/goccy/go-yaml/ast"
)

// Checkout is what the checkouts of steps with run hold beside the files that git has in
// the commit. Steps with checks are checked out by their workflow.
type Checkout struct {
	// Submodules says whether submodules are filled: true (those of the commit), recursive (theirs, too) or false. Default false: each is an empty folder.
	Submodules Submodules `json:"submodules,omitempty" yaml:"submodules,omitempty"`
}

// Submodules says which submodules a checkout fills. In the file it is true, false or
// recursive.
type Submodules string

// The values of Submodules; "" is SubmodulesOff, but where the file has a default.
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

// submodules reads true, false or recursive.
func (r *configReader) submodules(path string, n ast.Node, v reflect.Value) {
	if b, ok := n.(*ast.BoolNode); ok {
		v.SetString(string(map[bool]Submodules{true: SubmodulesTop, false: SubmodulesOff}[b.Value]))
		return
	}
	if s, ok := textOf(n); ok && Submodules(s) == SubmodulesAll {
		v.SetString(s)
		return
	}
	r.refuse(path, n, "must be true, false or recursive, found %s", describe(n))
}

// fields returns what the checkout adds to the digest of its step: two fields, the first
// no name of a variable, so that no variables of a step read the same.
func (c Checkout) fields() []string {
	if !c.Submodules.On() {
		return nil
	}
	return []string{"checkout1:submodules", string(c.Submodules)}
}
