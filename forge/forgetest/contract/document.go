package contract

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/queue/storetest"
)

// Files in the folder; .ci/run puts them there.
const (
	openapiFile  = "api.github.com-23.0.2.json"
	examplesFile = "webhooks-7.6.1.json"
)

// Folder returns the folder of the documents; "" if the environment does not name
// it.
func Folder() string { return os.Getenv("SUBMITQUEUE_CONTRACTS") }

// There says whether the OpenAPI document exists.
func There() bool { return exists(openapiFile) }

func exists(name string) bool {
	info, err := os.Stat(filepath.Join(Folder(), name))
	return Folder() != "" && err == nil && info.Mode().IsRegular()
}

// document is the part of the description that the server's routes use.
type document struct {
	spec   *openapi3.T
	routes map[string]*operation // by route of the server
}

// operation is one endpoint of the description.
type operation struct {
	path   string
	item   *openapi3.PathItem
	op     *openapi3.Operation
	method string
	names  [][2]string // path parameters: the server's name, and the description's
}

var load = sync.OnceValues(func() (*document, error) {
	data, err := subset(Folder(), forgetest.Routes())
	if err != nil {
		return nil, err
	}
	spec, err := openapi3.NewLoader().LoadFromData(data)
	if err != nil {
		return nil, fmt.Errorf("GitHub's description: %w", err)
	}
	reconcile(spec)
	d := &document{spec: spec, routes: map[string]*operation{}}
	paths := map[string]string{}
	for path := range spec.Paths.Map() {
		paths[unnamed(path)] = path
	}
	for _, route := range forgetest.Routes() {
		method, pattern, _ := strings.Cut(route, " ")
		path, ok := paths[unnamed(pattern)]
		if !ok {
			continue
		}
		item := spec.Paths.Value(path)
		op := item.GetOperation(method)
		if op == nil {
			continue
		}
		o := &operation{path: path, item: item, op: op, method: method}
		theirs := strings.Split(path, "/")
		for i, part := range strings.Split(pattern, "/") {
			if ours, ok := strings.CutPrefix(part, "{"); ok {
				o.names = append(o.names, [2]string{strings.TrimRight(ours, ".}"), strings.Trim(theirs[i], "{}")})
			}
		}
		d.routes[route] = o
	}
	return d, nil
})

// reconcile adds to the schemas of answers what the description says elsewhere. A check
// run may be completed as stale: the request that makes one takes it, and so does the
// schema check-run-with-simple-check-suite, but the schema check-run lacks it. It also
// adds a parameter that is newer than the description: the one of the rule pull_request
// that sonichi/sutando#3066 and developerz-ai/wurk#501 quote.
func reconcile(spec *openapi3.T) {
	if rule := spec.Components.Schemas["repository-rule-pull-request"]; rule != nil {
		if p := rule.Value.Properties["parameters"]; p != nil {
			p.Value.Properties["require_extra_approval_for_unattributed_changes"] = openapi3.NewBoolSchema().NewRef()
		}
	}
	run := spec.Components.Schemas["check-run"]
	if run == nil || run.Value.Properties["conclusion"] == nil {
		return
	}
	if c := run.Value.Properties["conclusion"].Value; !slices.Contains(c.Enum, any("stale")) {
		c.Enum = append(c.Enum, "stale")
	}
}

// RuleTypes returns the types of rules of rulesets in the description, and the
// parameters of the rule pull_request, sorted. Without the description, the test is
// skipped, or fails if it is demanded.
func RuleTypes(t testing.TB) (types, pull []string) {
	t.Helper()
	storetest.Need(t, "contracts", There())
	data, err := os.ReadFile(filepath.Join(Folder(), openapiFile))
	if err != nil {
		t.Fatal(err)
	}
	type schema struct {
		Enum       []string          `json:"enum"`
		OneOf      []json.RawMessage `json:"oneOf"`
		Properties map[string]struct {
			Enum       []string                   `json:"enum"`
			Properties map[string]json.RawMessage `json:"properties"`
		} `json:"properties"`
	}
	var whole struct {
		Components struct {
			Schemas map[string]json.RawMessage `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(data, &whole); err != nil {
		t.Fatal(err)
	}
	for _, list := range []string{"repository-rule", "repository-rule-detailed"} {
		var all schema
		if err := json.Unmarshal(whole.Components.Schemas[list], &all); err != nil {
			t.Fatalf("%s: %v", list, err)
		}
		for _, one := range all.OneOf {
			for _, ref := range reference.FindAllSubmatch(one, -1) {
				var rule schema
				if err := json.Unmarshal(whole.Components.Schemas[string(ref[2])], &rule); err != nil {
					t.Fatalf("%s: %v", ref[2], err)
				}
				kinds := rule.Properties["type"].Enum // none: repository-rule-ruleset-info
				if types = append(types, kinds...); slices.Contains(kinds, "pull_request") {
					pull = slices.Sorted(maps.Keys(rule.Properties["parameters"].Properties))
				}
			}
		}
	}
	if len(types) == 0 || len(pull) == 0 {
		t.Fatal("the description has no rules of rulesets where they are looked for")
	}
	slices.Sort(types)
	return slices.Compact(types), pull
}

var parameter = regexp.MustCompile(`\{[^}]*\}`)

// unnamed returns a path without the names of its parameters.
func unnamed(path string) string { return parameter.ReplaceAllString(path, "{}") }

// subset returns the document cut down to the routes, from the cache if it has
// been made before.
func subset(folder string, routes []string) ([]byte, error) {
	whole := filepath.Join(folder, openapiFile)
	info, err := os.Stat(whole)
	if err != nil {
		return nil, err
	}
	const format = 3 // of the file in the cache
	key := sha256.Sum256(fmt.Append(nil, format, info.Size(), info.ModTime().UnixNano(), routes, events))
	kept := filepath.Join(folder, fmt.Sprintf("github-%x.json", key[:8]))
	if data, err := os.ReadFile(kept); err == nil {
		return data, nil
	}
	data, err := os.ReadFile(whole)
	if err != nil {
		return nil, err
	}
	if data, err = cut(data, routes); err != nil {
		return nil, fmt.Errorf("%s: %w", whole, err)
	}
	return data, keep(kept, data)
}

// keep writes a file that other processes may be writing at the same time.
func keep(name string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".new-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if _, err = f.Write(data); err == nil {
		err = f.Close()
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

var reference = regexp.MustCompile(`"\$ref":\s*"#/components/([a-z]+)/([^"]+)"`)

// cut keeps the operations of the routes and all that they refer to, without
// examples: some of GitHub's own do not fit.
func cut(data []byte, routes []string) ([]byte, error) {
	type parts map[string]map[string]json.RawMessage
	var whole struct {
		OpenAPI    string          `json:"openapi"`
		Info       json.RawMessage `json:"info"`
		Paths      parts           `json:"paths"`
		Components parts           `json:"components"`
	}
	if err := json.Unmarshal(data, &whole); err != nil {
		return nil, err
	}
	wanted := map[string][]string{}
	for _, route := range routes {
		method, path, _ := strings.Cut(route, " ")
		wanted[unnamed(path)] = append(wanted[unnamed(path)], strings.ToLower(method), "parameters")
	}
	paths, components := parts{}, parts{}
	var follow func(raw json.RawMessage) (json.RawMessage, error)
	add := func(kind, name string) error {
		if components[kind] == nil {
			components[kind] = map[string]json.RawMessage{}
		}
		if _, done := components[kind][name]; done {
			return nil
		}
		components[kind][name] = nil
		raw, err := follow(whole.Components[kind][name])
		components[kind][name] = raw
		return err
	}
	follow = func(raw json.RawMessage) (json.RawMessage, error) {
		var v any
		if err := json.Unmarshal(raw, &v); err != nil {
			return nil, err
		}
		raw, err := json.Marshal(withoutExamples(v))
		if err != nil {
			return nil, err
		}
		for _, ref := range reference.FindAllSubmatch(raw, -1) {
			if err := add(string(ref[1]), string(ref[2])); err != nil {
				return nil, err
			}
		}
		return raw, nil
	}
	for path, item := range whole.Paths {
		for _, name := range wanted[unnamed(path)] {
			if item[name] == nil {
				continue
			}
			raw, err := follow(item[name])
			if err != nil {
				return nil, err
			}
			if paths[path] == nil {
				paths[path] = map[string]json.RawMessage{}
			}
			paths[path][name] = raw
		}
	}
	if err := add("schemas", anyError); err != nil {
		return nil, err
	}
	for _, event := range events {
		for name := range whole.Components["schemas"] {
			if payload := payloadOf(event, ""); name == payload || strings.HasPrefix(name, payload+"-") {
				if err := add("schemas", name); err != nil {
					return nil, err
				}
			}
		}
	}
	return json.Marshal(map[string]any{"openapi": whole.OpenAPI, "info": whole.Info, "paths": paths, "components": components})
}

// events are the webhooks with payloads that can be checked.
var events = []string{
	"check_run", "check_suite", "create", "delete", "installation", "installation_repositories", "issue_comment", "ping",
	"pull_request", "pull_request_review", "pull_request_review_comment", "pull_request_review_thread",
	"push", "repository", "status", "workflow_run",
}

// payloadOf names the schema of a webhook's payload.
func payloadOf(event, action string) string {
	return strings.TrimSuffix(strings.ReplaceAll("webhook-"+event+"-"+action, "_", "-"), "-")
}

// withoutExamples drops examples and descriptive texts. A member of the same name
// beneath "properties" is a schema and stays. It mends one mistake: GET
// /app/installations describes an account that is a user and an enterprise at once
// (allOf); the schema "installation", which it copies, says either (anyOf).
func withoutExamples(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = withoutExamples(v[i])
		}
	case map[string]any:
		for _, name := range []string{"example", "examples", "externalDocs", "description", "title"} {
			if m, ok := v[name].(map[string]any); !ok || m["type"] == nil {
				delete(v, name)
			}
		}
		if account, ok := v["account"].(map[string]any); ok && account["allOf"] != nil {
			account["anyOf"] = account["allOf"]
			delete(account, "allOf")
		}
		for name := range v {
			v[name] = withoutExamples(v[name])
		}
	}
	return v
}
