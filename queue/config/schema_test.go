package config_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/invopop/jsonschema"

	"github.com/submitqueue/submitqueue/queue/config"
)

const durationPattern = `^([0-9]+(\.[0-9]+)?[hms])+$`

// TestConfigSchema makes the schema from the structs and their comments and
// compares it with the embedded file.
func TestConfigSchema(t *testing.T) {
	comments := map[string]string{}
	r := &jsonschema.Reflector{FieldNameTag: "yaml", RequiredFromJSONSchemaTags: true, ExpandedStruct: true,
		Mapper: func(typ reflect.Type) *jsonschema.Schema {
			if typ == reflect.TypeFor[time.Duration]() {
				return &jsonschema.Schema{Type: "string", Pattern: durationPattern}
			}
			if typ == reflect.TypeFor[config.Who]() {
				return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{
					{Type: "string", Enum: []any{"write", "maintain", "admin"}},
					{Type: "array", Items: &jsonschema.Schema{Type: "string", MinLength: new(uint64(1))}, MinItems: new(uint64(1)), MaxItems: new(uint64(100))},
				}}
			}
			if typ == reflect.TypeFor[config.Submodules]() {
				return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "boolean"}, {Type: "string", Enum: []any{"recursive"}}}}
			}
			if typ == reflect.TypeFor[config.Switch]() {
				return &jsonschema.Schema{Type: "boolean"}
			}
			if typ == reflect.TypeFor[config.Check]() {
				return checkSchema(comments)
			}
			return nil
		}}
	if err := r.AddGoComments("github.com/submitqueue/submitqueue/queue/config", "."); err != nil {
		t.Fatal(err)
	}
	for name, text := range r.CommentMap {
		text = strings.ReplaceAll(text, "\n", " ")
		r.CommentMap[name] = regexp.MustCompile(` \(DESIGN \d+\)`).ReplaceAllString(text, "")
	}
	maps.Copy(comments, r.CommentMap)
	s := r.Reflect(config.Config{})
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

// checkSchema is the schema of a config.Check: its name, or a mapping.
func checkSchema(comments map[string]string) *jsonschema.Schema {
	type plain config.Check // read by its tags
	r := &jsonschema.Reflector{FieldNameTag: "yaml", RequiredFromJSONSchemaTags: true, ExpandedStruct: true, DoNotReference: true}
	full := r.Reflect(plain{})
	full.Version, full.ID = "", ""
	typ := reflect.TypeFor[config.Check]()
	for i := range typ.NumField() {
		name, _, _ := strings.Cut(typ.Field(i).Tag.Get("yaml"), ",")
		if p, ok := full.Properties.Get(name); ok {
			p.Description = comments["github.com/submitqueue/submitqueue/queue/config.Check."+typ.Field(i).Name]
		}
	}
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "string", MinLength: new(uint64(1))}, full}}
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
		if s.Properties == nil {
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

// TestConfigSchemaAccepts holds that the schema takes what the parser takes,
// and refuses the files that break a rule of single fields.
func TestConfigSchemaAccepts(t *testing.T) {
	root := mustSchema(t)
	for _, file := range mustGlob(t, "testdata/good/*.yml") {
		if problems := root.check(mustDecode(t, mustRead(t, file))); len(problems) > 0 {
			t.Errorf("%s: %s", file, strings.Join(problems, "; "))
		}
	}
	for _, name := range []string{"unknown-keys", "wrong-types", "missing", "no-steps", "other-version", "enums", "method", "ranges", "names", "lanes", "quotas"} {
		if problems := root.check(mustDecode(t, mustRead(t, "testdata/bad/"+name+".yml"))); len(problems) == 0 {
			t.Errorf("the schema takes %s", name)
		}
	}
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

// schema is what we use of JSON schema. A key that is not here is an error, so
// that the check below is complete.
type schema struct {
	Schema      string            `json:"$schema"`
	ID          string            `json:"$id"`
	Ref         string            `json:"$ref"`
	Defs        map[string]schema `json:"$defs"`
	Title       string            `json:"title"`
	Description string            `json:"description"`
	Type        string            `json:"type"`
	Properties  map[string]schema `json:"properties"`
	Required    []string          `json:"required"`
	Additional  json.RawMessage   `json:"additionalProperties"`
	Items       *schema           `json:"items"`
	AnyOf       []schema          `json:"anyOf"`
	Enum        []any             `json:"enum"`
	Default     any               `json:"default"`
	Pattern     string            `json:"pattern"`
	MinLength   int               `json:"minLength"`
	MaxLength   *int              `json:"maxLength"`
	MinItems    int               `json:"minItems"`
	MaxItems    *int              `json:"maxItems"`
	Minimum     *float64          `json:"minimum"`
	Maximum     *float64          `json:"maximum"`
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

func (r schemaRoot) check(v any) []string { return r.checkAt("", r.schema, v) }

func (r schemaRoot) checkAt(path string, s schema, v any) []string {
	s = r.resolve(s)
	var out []string
	bad := func(ok bool, what string) {
		if !ok {
			out = append(out, path+": "+what)
		}
	}
	if len(s.AnyOf) > 0 {
		for _, one := range s.AnyOf {
			if out = r.checkAt(path, one, v); len(out) == 0 {
				return nil
			}
		}
		return out
	}
	if v == nil { // null is "not set" for the parser; what is required must be there
		return nil
	}
	switch x := v.(type) {
	case map[string]any:
		bad(s.Type == "object", "a mapping")
		for _, name := range s.Required {
			bad(x[name] != nil, "needs "+name)
		}
		for name, value := range x {
			p, ok := s.Properties[name]
			var any schema
			if !ok && json.Unmarshal(s.Additional, &any) == nil {
				p, ok = any, true
			}
			bad(ok, "has "+name)
			out = append(out, r.checkAt(path+"."+name, p, value)...)
		}
	case []any:
		bad(s.Type == "array" && len(x) >= s.MinItems && (s.MaxItems == nil || len(x) <= *s.MaxItems), "a list")
		for i, value := range x {
			if s.Items != nil {
				out = append(out, r.checkAt(fmt.Sprintf("%s[%d]", path, i), *s.Items, value)...)
			}
		}
	case string:
		bad(s.Type == "string" && len(x) >= s.MinLength && (s.MaxLength == nil || len(x) <= *s.MaxLength), "a text")
		bad(s.Pattern == "" || regexp.MustCompile(s.Pattern).MatchString(x), "does not match")
	case float64:
		bad(s.Type == "number" || s.Type == "integer" && x == float64(int(x)), "a number")
		bad((s.Minimum == nil || x >= *s.Minimum) && (s.Maximum == nil || x <= *s.Maximum), "out of range")
	case bool:
		bad(s.Type == "boolean", "true or false")
	default:
		bad(false, fmt.Sprintf("a %T", v))
	}
	bad(len(s.Enum) == 0 || slices.Contains(s.Enum, v), "not one of the values")
	return out
}
