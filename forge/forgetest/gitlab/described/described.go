// Package described checks gitlab.Server, and its clients, against GitLab's own
// description of its REST interface, in Swagger 2.0.
//
// The description is not part of this repository, and no package registry carries it.
// The package looks for a file named File in the folder that the environment's
// SUBMITQUEUE_CONTRACTS names; without it, nothing is checked, unless SUBMITQUEUE_REQUIRE
// demands "gitlab-api". .ci/run does so where the environment's SUBMITQUEUE_GITLAB_API is
// the path of that file.
//
// For each request the following is checked: the description has the method, if it has the
// path; it knows each parameter of the query and each member of the body, and their types
// and enumerations fit; no required parameter or member is missing. In each successful
// answer that has a schema, the schema must know each member. The types of answers are not
// checked: in the description they are often wrong. Notes and discussions of merge requests
// are not in it, and neither is anything newer than March 2025.
package described

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/submitqueue/submitqueue/forge/forgetest/gitlab"
	"github.com/submitqueue/submitqueue/queue/storetest"
)

// File is the name of the description in its folder.
const File = "gitlab-openapi-v2-subset.json"

// schema is a part of a JSON schema.
type schema struct {
	Ref        string            `json:"$ref"`
	Type       string            `json:"type"`
	Enum       []any             `json:"enum"`
	Properties map[string]schema `json:"properties"`
	Required   []string          `json:"required"`
	Items      *schema           `json:"items"`
}

type parameter struct {
	In       string  `json:"in"`
	Name     string  `json:"name"`
	Type     string  `json:"type"`
	Enum     []any   `json:"enum"`
	Required bool    `json:"required"`
	Schema   *schema `json:"schema"`
}

type operation struct {
	Parameters []parameter `json:"parameters"`
	Responses  map[string]struct {
		Schema *schema `json:"schema"`
	} `json:"responses"`
}

// document is the description.
type document struct {
	Paths       map[string]map[string]operation `json:"paths"`
	Definitions map[string]schema               `json:"definitions"`
}

var load = sync.OnceValues(func() (*document, error) {
	data, err := os.ReadFile(filepath.Join(os.Getenv("SUBMITQUEUE_CONTRACTS"), File))
	if err != nil {
		return nil, err
	}
	d := &document{}
	return d, json.Unmarshal(data, d)
})

// There says whether the description exists.
func There() bool {
	_, err := load()
	return os.Getenv("SUBMITQUEUE_CONTRACTS") != "" && err == nil
}

// Judge returns a function that checks each exchange with a server and fails the test if
// it does not fit; nil if the description does not exist.
func Judge(t testing.TB) func(gitlab.Exchange) {
	t.Helper()
	if !There() {
		if storetest.Required("gitlab-api") {
			t.Fatalf("gitlab-api is required by SUBMITQUEUE_REQUIRE and GitLab's description (%s) is not in the folder SUBMITQUEUE_CONTRACTS", File)
		}
		return nil
	}
	d, err := load()
	if err != nil {
		t.Fatal(err)
	}
	return func(x gitlab.Exchange) {
		for _, wrong := range d.wrong(x) {
			t.Errorf("%s %s: GitLab's description: %s", x.Request.Method, x.Request.URL.EscapedPath(), wrong)
		}
	}
}

// beyond are members of answers that GitLab has and this description does not: they are
// newer, or of a tier beyond the free one.
var beyond = []string{"approved_at", "alert_status", "disabled_until", "id", "iid", "project_id", "approvals_required", "approvals_left", "name", "token_present", "signing_token_present"}

// newer are members of requests that GitLab takes and this description does not
// have.
var newer = []string{"signing_token", "inputs"}

// wrong returns the errors of an exchange.
func (d *document) wrong(x gitlab.Exchange) (list []string) {
	path, op := d.find(x.Request.Method, x.Request.URL.EscapedPath())
	if path == "" {
		return nil // the description does not have that path
	}
	if op == nil {
		return []string{"no such method of " + path}
	}
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	for name, values := range x.Request.URL.Query() {
		plain := strings.TrimSuffix(name, "[]")
		at := slices.IndexFunc(op.Parameters, func(p parameter) bool { return p.In == "query" && strings.TrimSuffix(p.Name, "[]") == plain })
		if at < 0 {
			add("no query parameter %q", name)
			continue
		}
		if p := op.Parameters[at]; p.Type != "array" && len(p.Enum) > 0 && !slices.Contains(p.Enum, any(values[0])) {
			add("parameter %q is %q, which is none of %v", name, values[0], p.Enum)
		}
	}
	for _, p := range op.Parameters {
		switch {
		case p.In == "query" && p.Required && !x.Request.URL.Query().Has(p.Name):
			add("query parameter %q is required", p.Name)
		case p.In == "body" && p.Schema != nil && x.Status < 400:
			d.body(*p.Schema, x.Body, add)
		}
	}
	if x.Status/100 == 2 && len(x.Answer) > 0 && !strings.HasSuffix(path, "/closes_issues") { // the description says that it returns notes
		d.answer(op, x, add)
	}
	return list
}

// find returns the operation of a request: among matching paths, that of the path with
// the fewest variables.
func (d *document) find(method, escaped string) (path string, op *operation) {
	have := strings.Split(escaped, "/")
	least := 99
	for candidate, item := range d.Paths {
		want := strings.Split(candidate, "/")
		variables := strings.Count(candidate, "{")
		if len(want) != len(have) || variables >= least {
			continue
		}
		fits := true
		for i, part := range want {
			fits = fits && (part == have[i] || strings.HasPrefix(part, "{"))
		}
		if fits {
			least, path, op = variables, candidate, nil
			if o, ok := item[strings.ToLower(method)]; ok {
				op = &o
			}
		}
	}
	return path, op
}

func (d *document) resolve(s schema) schema {
	for s.Ref != "" {
		s = d.Definitions[strings.TrimPrefix(s.Ref, "#/definitions/")]
	}
	return s
}

func (d *document) body(s schema, data []byte, add func(string, ...any)) {
	s = d.resolve(s)
	given := map[string]any{}
	if len(data) > 0 {
		if err := json.Unmarshal(data, &given); err != nil {
			add("the body: %v", err)
			return
		}
	}
	for name, v := range given {
		p, ok := s.Properties[name]
		if !ok && slices.Contains(newer, name) {
			continue
		}
		if !ok {
			add("no member %q in the body", name)
			continue
		}
		if p = d.resolve(p); !fits(p.Type, v) {
			add("member %q is %v, and should be a %s", name, v, p.Type)
		}
		if len(p.Enum) > 0 && p.Type != "array" && !slices.Contains(p.Enum, v) {
			add("member %q is %v, which is none of %v", name, v, p.Enum)
		}
	}
	for _, name := range s.Required {
		if _, ok := given[name]; !ok {
			add("member %q is required", name)
		}
	}
}

// fits reports whether a value is of a type. An array may be a list with commas.
func fits(kind string, v any) bool {
	switch v := v.(type) {
	case string:
		return kind == "string" || kind == "array" || kind == "" || kind == "file"
	case bool:
		return kind == "boolean" || kind == ""
	case float64:
		return kind == "number" || kind == "integer" && v == float64(int64(v)) || kind == ""
	case []any:
		return kind == "array" || kind == ""
	case map[string]any:
		return kind == "object" || kind == ""
	}
	return true
}

func (d *document) answer(op *operation, x gitlab.Exchange, add func(string, ...any)) {
	var s *schema
	for status, r := range op.Responses {
		if r.Schema != nil && status[0] == '2' {
			s = r.Schema
		}
	}
	if s == nil {
		return
	}
	known := d.resolve(*s)
	if known.Type == "array" && known.Items != nil {
		known = d.resolve(*known.Items)
	}
	var one map[string]any
	if json.Unmarshal(x.Answer, &one) != nil {
		var list []map[string]any
		if json.Unmarshal(x.Answer, &list) != nil || len(list) == 0 {
			return
		}
		one = list[0]
	}
	if len(known.Properties) == 0 {
		return
	}
	for name := range one {
		if _, ok := known.Properties[name]; !ok && !slices.Contains(beyond, name) {
			add("an answer has no member %q", name)
		}
	}
}
