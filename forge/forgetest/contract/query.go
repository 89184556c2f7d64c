package contract

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"github.com/submitqueue/submitqueue/queue/storetest"
)

// schemaFile is GitHub's GraphQL schema; .ci/run puts it into the folder.
const schemaFile = "graphql-15.26.1.graphql"

// SchemaThere says whether GitHub's GraphQL schema exists.
func SchemaThere() bool { return exists(schemaFile) }

var loadSchema = sync.OnceValues(func() (*ast.Schema, error) {
	data, err := os.ReadFile(filepath.Join(Folder(), schemaFile))
	if err != nil {
		return nil, err
	}
	doc, err := parser.ParseSchemas(validator.Prelude, &ast.Source{Name: schemaFile, Input: string(data)})
	if err != nil {
		return nil, err
	}
	for _, def := range doc.Definitions { // GitHub's schema has a field twice
		seen := map[string]bool{}
		def.Fields = slices.DeleteFunc(def.Fields, func(f *ast.FieldDefinition) bool {
			was := seen[f.Name]
			seen[f.Name] = true
			return was
		})
	}
	return validator.ValidateSchemaDocument(doc)
})

// schemaFor returns the schema; nil if it does not exist and is not demanded.
func schemaFor(t testing.TB) *ast.Schema {
	t.Helper()
	if !exists(schemaFile) {
		if storetest.Required("contracts") {
			t.Fatalf("contracts are required by SUBMITQUEUE_REQUIRE and GitHub's GraphQL schema (%s) is not in the folder SUBMITQUEUE_CONTRACTS", schemaFile)
		}
		return nil
	}
	schema, err := loadSchema()
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// Query implements forgetest.Judge.
func (j *judge) Query(query string, variables map[string]any, answer []byte) {
	if j.schema == nil || j.wrong != nil {
		return
	}
	if err := asked(j.schema, query, variables, answer); err != nil {
		j.t.Errorf("GitHub would not take this query, or would not answer so\n%s\n%v\n%s\n%v", query, variables, clip(answer), err)
	}
}

// asked returns the errors of a query of one operation, its variables, and its answer.
func asked(schema *ast.Schema, query string, variables map[string]any, answer []byte) error {
	doc, list := gqlparser.LoadQueryWithRules(schema, query, rules.NewDefaultRules())
	if len(list) > 0 {
		return list
	}
	if len(doc.Operations) != 1 {
		return errors.New("it is not one operation")
	}
	op := doc.Operations[0]
	vars, err := validator.VariableValues(schema, op, variables)
	if err != nil {
		return err
	}
	for name := range variables {
		if op.VariableDefinitions.ForName(name) == nil {
			return fmt.Errorf("it has no variable %s", name)
		}
	}
	var reply struct {
		Data   any               `json:"data"`
		Errors []json.RawMessage `json:"errors"`
	}
	if err := json.Unmarshal(answer, &reply); err != nil {
		return err
	}
	if reply.Data == nil && len(reply.Errors) > 0 {
		return nil
	}
	w := answered{schema: schema, vars: vars}
	w.object(op.SelectionSet, schema.Query, reply.Data, "data")
	return errors.Join(w.wrong...)
}

// answered compares an answer with its query.
type answered struct {
	schema *ast.Schema
	vars   map[string]any
	wrong  []error
}

func (w *answered) say(at, format string, args ...any) {
	w.wrong = append(w.wrong, fmt.Errorf("%s: %s", at, fmt.Sprintf(format, args...)))
}

// fields adds the fields that a selection asks of an object of a type, by their names
// in the answer.
func (w *answered) fields(set ast.SelectionSet, of *ast.Definition, into map[string][]*ast.Field) {
	for _, s := range set {
		switch s := s.(type) {
		case *ast.Field:
			if w.included(s.Directives) {
				into[s.Alias] = append(into[s.Alias], s)
			}
		case *ast.InlineFragment:
			if w.included(s.Directives) && w.is(of, s.TypeCondition) {
				w.fields(s.SelectionSet, of, into)
			}
		case *ast.FragmentSpread:
			if w.included(s.Directives) && w.is(of, s.Definition.TypeCondition) {
				w.fields(s.Definition.SelectionSet, of, into)
			}
		}
	}
}

// is says whether a fragment applies to a type.
func (w *answered) is(of *ast.Definition, condition string) bool {
	return condition == "" || condition == of.Name ||
		slices.ContainsFunc(w.schema.PossibleTypes[condition], func(d *ast.Definition) bool { return d.Name == of.Name })
}

func (w *answered) included(list ast.DirectiveList) bool {
	for _, d := range list {
		if is, _ := d.ArgumentMap(w.vars)["if"].(bool); d.Name == "include" && !is || d.Name == "skip" && is {
			return false
		}
	}
	return true
}

func (w *answered) object(set ast.SelectionSet, of *ast.Definition, v any, at string) {
	have, ok := v.(map[string]any)
	if !ok {
		w.say(at, "%T is no object", v)
		return
	}
	if name, ok := have["__typename"].(string); ok {
		if w.schema.Types[name] == nil || !slices.Contains(w.schema.GetPossibleTypes(of), w.schema.Types[name]) {
			w.say(at, "%s is no %s", name, of.Name)
			return
		}
		of = w.schema.Types[name]
	}
	want := map[string][]*ast.Field{}
	w.fields(set, of, want)
	for name := range have {
		if want[name] == nil {
			w.say(at, "nobody asked for %s", name)
		}
	}
	for name, list := range want {
		v, there := have[name]
		if !there {
			w.say(at, "%s is missing", name)
			continue
		}
		var below ast.SelectionSet // the same field may be asked for more than once
		for _, f := range list {
			below = append(below, f.SelectionSet...)
		}
		if name != "__typename" {
			w.value(below, list[0].Definition.Type, v, at+"."+name)
		}
	}
}

func (w *answered) value(set ast.SelectionSet, of *ast.Type, v any, at string) {
	switch {
	case v == nil:
		if of.NonNull {
			w.say(at, "it is null, and may not be")
		}
		return
	case of.Elem != nil:
		list, ok := v.([]any)
		if !ok {
			w.say(at, "%T is no list", v)
		}
		for i, e := range list {
			w.value(set, of.Elem, e, fmt.Sprintf("%s[%d]", at, i))
		}
		return
	}
	def := w.schema.Types[of.NamedType]
	switch def.Kind {
	case ast.Scalar:
		if !scalar(of.NamedType, v) {
			w.say(at, "%v is no %s", v, of.NamedType)
		}
	case ast.Enum:
		if s, _ := v.(string); def.EnumValues.ForName(s) == nil {
			w.say(at, "%v is no %s", v, of.NamedType)
		}
	default:
		w.object(set, def, v, at)
	}
}

func scalar(name string, v any) bool {
	switch v := v.(type) {
	case float64:
		return name == "Float" || name == "Int" && v == float64(int32(v))
	case bool:
		return name == "Boolean"
	case string:
		return !slices.Contains([]string{"Float", "Int", "Boolean"}, name) && (name != "GitObjectID" || strings.Trim(v, "0123456789abcdef") == "")
	}
	return false
}
