package gitlab

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// declares says why a pipeline on a branch does not take inputs, as GitLab does from 17.11 on
// (lib/gitlab/ci/config/yaml/interpolator.rb and .../inputs.rb): its file declares them
// in a header, "spec: {inputs: {NAME: ...}}", before a line "---".
func (p *Project) declares(ref string, given map[string]any) string {
	text, _ := p.git(nil, "cat-file", "blob", p.tip(ref)+":.gitlab-ci.yml")
	var header struct {
		Spec struct {
			Inputs map[string]struct {
				Type    string `yaml:"type"`
				Default any    `yaml:"default"`
			} `yaml:"inputs"`
		} `yaml:"spec"`
	}
	if strings.Contains(text, "\n---") {
		if err := yaml.NewDecoder(bytes.NewReader([]byte(text))).Decode(&header); err != nil {
			return err.Error()
		}
	}
	declared := header.Spec.Inputs
	if len(given) > 0 && len(declared) == 0 {
		return "Given inputs not defined in the `spec` section of the included configuration file"
	}
	var unknown []string
	for _, name := range slices.Sorted(maps.Keys(given)) {
		in, is := declared[name]
		_, text := given[name].(string)
		switch {
		case !is:
			unknown = append(unknown, name)
		case text != (in.Type == "" || in.Type == "string"):
			return fmt.Sprintf("`%s` input: provided value is not a %s", name, in.Type)
		}
	}
	if len(unknown) > 0 {
		return "unknown input arguments: " + strings.Join(unknown, ", ")
	}
	for _, name := range slices.Sorted(maps.Keys(declared)) {
		if _, ok := given[name]; !ok && declared[name].Default == nil {
			return fmt.Sprintf("`%s` input: required value has not been provided", name)
		}
	}
	return ""
}
