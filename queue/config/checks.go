package config

import (
	"encoding/json"
	"math"
	"reflect"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// AppActions is the slug of the App as which GitHub Actions reports.
const AppActions = "github-actions"

// Check is a check that a step waits for. Without an App, whoever reports under
// the name counts; with one, only the check runs of that App do, because any App,
// and anybody who may post statuses, can take any name. In the file, and stored,
// one without an App is its name.
type Check struct {
	// Name is what the check run or commit status is called, in any case of letters.
	Name string `json:"name" yaml:"name" jsonschema:"required,minLength=1"`
	// App is the slug of the App that reports it, as in github.com/apps/SLUG; github-actions is GitHub Actions. No one else's check of this name counts, and no commit status. Default: anybody's counts.
	App string `json:"app,omitempty" yaml:"app,omitempty" jsonschema:"minLength=1,maxLength=100,pattern=^[a-z0-9][a-z0-9-]*$"`
}

// appPattern is what slugs of Apps look like; the tag of Check says the same to
// the schema.
const appPattern = `^[a-z0-9][a-z0-9-]*$`

// String says for people which check it is.
func (c Check) String() string {
	if c.App == "" {
		return c.Name
	}
	return c.Name + " (of " + c.App + ")"
}

// Is reports whether a result under a name counts for the check; app is the slug
// of the App whose check run it is, "" of a commit status.
func (c Check) Is(name, app string) bool {
	return strings.EqualFold(c.Name, name) && (c.App == "" || strings.EqualFold(c.App, app))
}

// fullCheck is a Check that is written with its keys.
type fullCheck Check

// MarshalJSON writes the name where there is no App.
func (c Check) MarshalJSON() ([]byte, error) {
	if c.App == "" {
		return json.Marshal(c.Name)
	}
	return json.Marshal(fullCheck(c))
}

// UnmarshalJSON reads both forms.
func (c *Check) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		*c = Check{}
		return json.Unmarshal(data, &c.Name)
	}
	return json.Unmarshal(data, (*fullCheck)(c))
}

// MarshalYAML writes the name where there is no App.
func (c Check) MarshalYAML() (any, error) {
	if c.App == "" {
		return c.Name, nil
	}
	return fullCheck(c), nil
}

// check reads a name, or a mapping of name and app.
func (r *reader) check(path string, n ast.Node, v reflect.Value) {
	if _, ok := pairsOf(n); ok {
		r.structure(path, n, v)
		return
	}
	if _, ok := n.(*ast.SequenceNode); ok {
		r.refuse(path, n, "must be the name of a check, or {name: NAME, app: SLUG}, found %s", describe(n))
		return
	}
	if name, ok := r.text(path, n, fieldRule{minLength: 1, maxLength: math.MaxInt}); ok {
		v.Set(reflect.ValueOf(Check{Name: name}))
	}
}

// checkApp checks the slug of a check's App.
func (r *reader) checkApp(path string, c Check) {
	if c.App != "" && !regexp.MustCompile(appPattern).MatchString(c.App) {
		r.report(path, "%s must be the slug of an App, as in github.com/apps/SLUG: lower-case letters, digits and \"-\" such as \"%s\", found %s",
			path, AppActions, quoted(c.App))
	}
}
