package config

import (
	"encoding/json"
	"strings"
)

// AppActions is the slug of the App as which GitHub Actions reports.
const AppActions = "github-actions"

// Check is a check that a step waits for. Without an App, every report under the
// name counts. With one, only the check runs of that App do, because any App, and
// anybody with the right to post statuses, can take any name. In the file and in
// the store, a check without an App is only its name.
type Check struct {
	// Name is the name of the check run or commit status, in any case of letters.
	Name string `json:"name" yaml:"name" jsonschema:"required,minLength=1,maxLength=255,pattern=^\\S([^\\r\\n\\x00]*\\S)?$"`
	// App is the slug of the App that reports it, as in github.com/apps/SLUG; github-actions is GitHub Actions. No one else's check of this name counts, and no commit status. Default: anybody's counts.
	App string `json:"app,omitempty" yaml:"app,omitempty" jsonschema:"minLength=1,maxLength=100,pattern=^[a-z0-9][a-z0-9-]*$"`
}

// String says for people which check it is.
func (c Check) String() string {
	if c.App == "" {
		return c.Name
	}
	return c.Name + " (of " + c.App + ")"
}

// Is reports whether a result under a name counts for the check; app is the slug
// of the check run's App, "" of a commit status.
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

// UnmarshalYAML reads both forms.
func (c *Check) UnmarshalYAML(decode func(any) error) error {
	if decode(&c.Name) == nil {
		return nil
	}
	return decode((*fullCheck)(c))
}
