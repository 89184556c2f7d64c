package config_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/invopop/jsonschema"
	check "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/submitqueue/submitqueue/queue/config"
)

// unions are the types that a file may write in several ways, or that have rules that
// no tag can say.
var unions = map[reflect.Type]*jsonschema.Schema{
	reflect.TypeFor[time.Duration](): {Type: "string", Pattern: durationPattern},
	reflect.TypeFor[config.Who](): {Title: "a role (write, maintain or admin), or a list of roles, teams and users", AnyOf: []*jsonschema.Schema{
		{Type: "string", Enum: []any{"write", "maintain", "admin"}},
		{Type: "array", MinItems: new(uint64(1)), MaxItems: new(uint64(100)), Items: &jsonschema.Schema{Type: "string",
			Pattern: `^(@?[a-zA-Z0-9][a-zA-Z0-9_-]*(\[bot\])?|@[a-zA-Z0-9][a-zA-Z0-9_-]*/[a-zA-Z0-9._-]+)$`,
			Not:     &jsonschema.Schema{Enum: []any{"none", "read", "triage"}}}},
	}},
	reflect.TypeFor[config.Submodules](): {Title: "true, false or recursive", AnyOf: []*jsonschema.Schema{{Type: "boolean"}, {Type: "string", Enum: []any{"recursive"}}}},
	reflect.TypeFor[config.Switch]():     {Type: "boolean"},
	reflect.TypeFor[map[string]string](): {Type: "object", AdditionalProperties: jsonschema.FalseSchema,
		PatternProperties: map[string]*jsonschema.Schema{"^[A-Za-z_][A-Za-z0-9_]*$": {Type: "string"}}},
}

const durationPattern = `^([0-9]+(\.[0-9]+)?[hms])+$`

// reflector makes schemas from structs, their tags and their comments.
func reflector(t testing.TB) *jsonschema.Reflector {
	r := &jsonschema.Reflector{FieldNameTag: "yaml", RequiredFromJSONSchemaTags: true, ExpandedStruct: true}
	if err := r.AddGoComments("github.com/submitqueue/submitqueue/queue/config", "."); err != nil {
		t.Fatal(err)
	}
	for name, text := range r.CommentMap {
		r.CommentMap[name] = strings.ReplaceAll(text, "\n", " ")
	}
	return r
}

// TestConfigSchema makes the schema from the structs and their comments and
// compares it with the embedded file.
func TestConfigSchema(t *testing.T) {
	full := reflector(t)
	full.DoNotReference = true
	check := full.Reflect(config.Check{})
	check.Version, check.ID, check.Description = "", "", ""
	name, _ := check.Properties.Get("name")
	r := reflector(t)
	r.Mapper = func(typ reflect.Type) *jsonschema.Schema {
		if typ == reflect.TypeFor[config.Check]() {
			short := &jsonschema.Schema{Type: name.Type, MinLength: name.MinLength, MaxLength: name.MaxLength, Pattern: name.Pattern}
			return &jsonschema.Schema{Title: "the name of a check, or {name: NAME, app: SLUG}", AnyOf: []*jsonschema.Schema{short, check}}
		}
		if s := unions[typ]; s != nil {
			fresh := *s // a field's tags are written into it
			return &fresh
		}
		return nil
	}
	s := r.Reflect(config.Config{})
	for _, d := range s.Definitions {
		for p := d.Properties.Oldest(); p != nil; p = p.Next() {
			if i := p.Value.Items; i != nil && i.Type == "string" && i.Pattern == "" && i.Enum == nil {
				i.MinLength = new(uint64(1)) // no list has use for an empty text
			}
		}
	}
	s.ID, s.Title = "https://github.com/submitqueue/submitqueue/raw/main/queue/config/schema.json", config.Path
	s.Description = "Configuration of SubmitQueue for one repository."
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	data = append(data, '\n')
	golden(t, "schema.json", data)
	if !*updateConfig {
		if d := cmp.Diff(string(data), string(config.Schema())); d != "" {
			t.Errorf("embedded (-want +got):\n%s", d)
		}
	}
}

// TestConfigSchemaKeys holds that the schema has the keys of the struct, each
// described, and no others.
func TestConfigSchemaKeys(t *testing.T) {
	root := mustSchema(t)
	var fromSchema, fromStruct []string
	var walkSchema func(path string, s schema)
	walkSchema = func(path string, s schema) {
		s = root.resolve(s)
		if s.Type == "array" {
			walkSchema(path+"[]", *s.Items)
			return
		}
		for _, one := range s.AnyOf {
			walkSchema(path, one)
		}
		if s.Properties == nil && s.Patterns == nil {
			return
		}
		if string(s.Additional) != "false" {
			t.Errorf("%s allows more keys: %s", path, s.Additional)
		}
		for name, p := range s.Properties {
			fromSchema = append(fromSchema, path+"."+name)
			if p.Description == "" {
				t.Errorf("%s.%s is not described", path, name)
			}
			walkSchema(path+"."+name, p)
		}
	}
	walkSchema("", root.schema)
	var walkStruct func(path string, typ reflect.Type)
	walkStruct = func(path string, typ reflect.Type) {
		switch {
		case typ.Kind() == reflect.Slice:
			walkStruct(path+"[]", typ.Elem())
		case typ.Kind() == reflect.Struct:
			for i := range typ.NumField() {
				name, _, _ := strings.Cut(typ.Field(i).Tag.Get("yaml"), ",")
				if typ.Field(i).Anonymous {
					walkStruct(path, typ.Field(i).Type)
					continue
				}
				if name == "-" { // it is in no file
					continue
				}
				if !regexp.MustCompile(`^[a-z_]+$`).MatchString(name) {
					t.Errorf("%s.%s is called %q in the file", path, typ.Field(i).Name, name)
				}
				fromStruct = append(fromStruct, path+"."+name)
				walkStruct(path+"."+name, typ.Field(i).Type)
			}
		}
	}
	walkStruct("", reflect.TypeFor[config.Config]())
	sort.Strings(fromSchema)
	sort.Strings(fromStruct)
	if d := cmp.Diff(fromStruct, fromSchema); d != "" {
		t.Errorf("(-struct +schema):\n%s", d)
	}
}

// TestConfigSchemaAccepts holds that an editor with the schema takes good files, and
// shows what is wrong where a rule of single fields is broken.
func TestConfigSchemaAccepts(t *testing.T) {
	doc, err := check.UnmarshalJSON(bytes.NewReader(config.Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := check.NewCompiler()
	if err := c.AddResource("mem:///schema.json", doc); err != nil {
		t.Fatal(err)
	}
	editor, err := c.Compile("mem:///schema.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range mustGlob(t, "testdata/good/*.yml") {
		if err := editor.Validate(written(mustDecode(t, mustRead(t, file)))); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	for _, name := range []string{"unknown-keys", "wrong-types", "missing", "no-steps", "other-version", "enums", "method", "ranges", "names", "lanes", "quotas",
		"permissions", "ingredient", "environment", "checks", "messages"} {
		if editor.Validate(mustDecode(t, mustRead(t, "testdata/bad/"+name+".yml"))) == nil {
			t.Errorf("the schema takes %s", name)
		}
	}
}

// written takes out keys without a value: to the parser they are not written.
func written(v any) any {
	if object, ok := v.(map[string]any); ok {
		maps.DeleteFunc(object, func(_ string, value any) bool { return written(value) == nil })
	}
	return v
}

// TestConfigSchemaDefaults holds that the defaults that the schema names are
// those that the parser fills in.
func TestConfigSchemaDefaults(t *testing.T) {
	root := mustSchema(t)
	text, err := yaml.Marshal(mustParse(t, mustRead(t, "testdata/good/minimal.yml")))
	if err != nil {
		t.Fatal(err)
	}
	filled := mustDecode(t, text).(map[string]any)
	seen := 0
	var walk func(path string, s schema, value any)
	walk = func(path string, s schema, value any) {
		s = root.resolve(s)
		object, _ := value.(map[string]any)
		if list, ok := value.([]any); ok && s.Items != nil {
			walk(path, *s.Items, list[0])
		}
		for name, p := range s.Properties {
			got := object[name]
			if p.Default != nil {
				seen++
				if got == nil {
					got = float64(0) // left out of the file because zero
				}
				want := fmt.Sprint(p.Default)
				if p.Pattern == durationPattern {
					d, err := time.ParseDuration(want)
					if err != nil {
						t.Error(err)
					}
					want = d.String()
				}
				if fmt.Sprint(got) != want {
					t.Errorf("%s.%s: the schema's default is %v, the parser's %v", path, name, want, got)
				}
			}
			walk(path+"."+name, p, got)
		}
	}
	walk("", root.schema, filled)
	if seen < 15 {
		t.Errorf("only %d defaults in the schema", seen)
	}
}

// schema is what we use of JSON schema. A key that is not here is an error: first
// the parser must have words for what breaks it.
type schema struct {
	Schema      string            `json:"$schema"`
	ID          string            `json:"$id"`
	Ref         string            `json:"$ref"`
	Defs        map[string]schema `json:"$defs"`
	Title       string            `json:"title"`
	Description string            `json:"description"`
	Type        string            `json:"type"`
	Properties  map[string]schema `json:"properties"`
	Patterns    map[string]schema `json:"patternProperties"`
	Required    []string          `json:"required"`
	Additional  json.RawMessage   `json:"additionalProperties"`
	Items       *schema           `json:"items"`
	AnyOf       []schema          `json:"anyOf"`
	OneOf       []schema          `json:"oneOf"`
	Not         *schema           `json:"not"`
	Enum        []any             `json:"enum"`
	Default     any               `json:"default"`
	Pattern     string            `json:"pattern"`
	MinLength   int               `json:"minLength"`
	MaxLength   *int              `json:"maxLength"`
	MinItems    int               `json:"minItems"`
	MaxItems    *int              `json:"maxItems"`
	Unique      bool              `json:"uniqueItems"`
	Minimum     *float64          `json:"minimum"`
	Maximum     *float64          `json:"maximum"`
	MinDuration string            `json:"x-minimum"`
	MaxDuration string            `json:"x-maximum"`
}

type schemaRoot struct{ schema }

func mustSchema(t testing.TB) schemaRoot {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(config.Schema())))
	d.DisallowUnknownFields()
	var s schema
	if err := d.Decode(&s); err != nil {
		t.Fatal(err)
	}
	if s.Schema != "https://json-schema.org/draft/2020-12/schema" {
		t.Errorf("the schema is of %q", s.Schema)
	}
	return schemaRoot{s}
}

// mustDecode reads a file into maps, lists and scalars as JSON has them.
func mustDecode(t testing.TB, data []byte) any {
	t.Helper()
	text, err := yaml.YAMLToJSON(data)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func (r schemaRoot) resolve(s schema) schema {
	if name, ok := strings.CutPrefix(s.Ref, "#/$defs/"); ok {
		d := r.Defs[name]
		return d
	}
	return s
}
