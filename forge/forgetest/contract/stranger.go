package contract

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/getkin/kin-openapi/openapi3"
)

// strangers finds the members of a body that its schema does not know.
func strangers(schema *openapi3.SchemaRef, body []byte) error {
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		return err
	}
	var found []string
	unknown([]*openapi3.SchemaRef{schema}, v, "", &found)
	slices.Sort(found)
	var errs []error
	for _, path := range slices.Compact(found) {
		errs = append(errs, fmt.Errorf("there is no member %s", path))
	}
	return errors.Join(errs...)
}

// unknown compares a value with all schemas that may apply to it. A member is known
// if one of them has it; where one allows any member, all are known.
func unknown(schemas []*openapi3.SchemaRef, v any, at string, found *[]string) {
	var all []*openapi3.Schema
	for _, s := range schemas {
		all = alternatives(s, all)
	}
	switch v := v.(type) {
	case []any:
		var items []*openapi3.SchemaRef
		for _, s := range all {
			if s.Items != nil {
				items = append(items, s.Items)
			}
		}
		for _, e := range v {
			if len(items) > 0 {
				unknown(items, e, at+"[]", found)
			}
		}
	case map[string]any:
		described := slices.ContainsFunc(all, func(s *openapi3.Schema) bool { return len(s.Properties) > 0 })
		for name, e := range v {
			var next []*openapi3.SchemaRef
			open := !described
			for _, s := range all {
				if p := s.Properties[name]; p != nil {
					next = append(next, p)
				}
				if s.AdditionalProperties.Schema != nil {
					next = append(next, s.AdditionalProperties.Schema)
				}
				open = open || s.AdditionalProperties.Has != nil && *s.AdditionalProperties.Has
			}
			switch {
			case len(next) > 0:
				unknown(next, e, at+"."+name, found)
			case !open:
				*found = append(*found, at+"."+name)
			}
		}
	}
}

// alternatives adds a schema and all its parts.
func alternatives(ref *openapi3.SchemaRef, all []*openapi3.Schema) []*openapi3.Schema {
	if ref == nil || ref.Value == nil || slices.Contains(all, ref.Value) {
		return all
	}
	all = append(all, ref.Value)
	for _, list := range []openapi3.SchemaRefs{ref.Value.AllOf, ref.Value.AnyOf, ref.Value.OneOf} {
		for _, s := range list {
			all = alternatives(s, all)
		}
	}
	return all
}
