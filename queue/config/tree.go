package config

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/submitqueue/submitqueue/queue/spell"
)

// document is a file on its way to a Config: its YAML nodes, and which of its
// values were refused.
type document struct {
	*findings
	root    ast.Node
	refused map[string]bool // by path, e.g. "steps[0].run": no second complaint about them
}

// place is where a value stands in the tree.
type place struct {
	value *ast.Node
	key   ast.Node // nil for the root and for entries of lists
}

// position returns where the value begins, or its key where there is no value.
func (p place) position() position {
	if _, null := (*p.value).(*ast.NullNode); null && p.key != nil {
		return posOf(p.key)
	}
	return posOf(*p.value)
}

// steps splits a path into the names and numbers on the way to it.
func steps(path string) []string {
	return strings.FieldsFunc(path, func(c rune) bool { return c == '.' || c == '[' || c == ']' })
}

// find returns the place of a value, and whether it is written in the file; else
// the place is that of the closest value that it would stand in.
func (d *document) find(way []string) (place, bool) {
	p := place{value: &d.root}
	for _, step := range way {
		switch n := (*p.value).(type) {
		case *ast.MappingNode:
			i := slices.IndexFunc(n.Values, func(pair *ast.MappingValueNode) bool { return keyOf(pair) == step })
			if i < 0 {
				return p, false
			}
			p = place{value: &n.Values[i].Value, key: n.Values[i].Key}
		case *ast.SequenceNode:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(n.Values) {
				return p, false
			}
			p = place{value: &n.Values[i]}
		default:
			return p, false
		}
	}
	return p, true
}

// pathOf writes the way to a value as messages name it.
func (d *document) pathOf(way []string) string {
	var b strings.Builder
	for i, step := range way {
		p, _ := d.find(way[:i])
		switch _, list := (*p.value).(*ast.SequenceNode); {
		case list:
			b.WriteString("[" + step + "]")
		case i > 0:
			b.WriteString("." + step)
		default:
			b.WriteString(step)
		}
	}
	return b.String()
}

// written reports whether the file has a path, with or without a value.
func (d *document) written(path string) bool {
	_, ok := d.find(steps(path))
	return ok
}

// place returns where a path's value begins, or where the closest value begins that
// it would stand in.
func (d *document) place(path string) position {
	p, _ := d.find(steps(path))
	return p.position()
}

// plain returns the content of a node as JSON has it, as far as the schema knows its
// keys: the rest is refused, whatever its value. A key without a value counts as not
// written. A key that was there before is reported and taken out of the tree.
func (d *document) plain(rule *jsonschema.Schema, way []string, n ast.Node) any {
	switch x := n.(type) {
	case *ast.MappingNode:
		values := make(map[string]any, len(x.Values))
		first := make(map[string]int, len(x.Values)) // lines
		x.Values = slices.DeleteFunc(x.Values, func(p *ast.MappingValueNode) bool {
			key := keyOf(p)
			if line, twice := first[key]; twice {
				d.add(posOf(p.Key), "%s is here twice, first in line %d: keep one", quoted(d.pathOf(append(way, key))), line)
				return true
			}
			first[key] = posOf(p.Key).line
			if _, text := p.Key.(*ast.StringNode); !text { // the decoder drops mappings with such keys
				p.Key = ast.String(p.Key.GetToken())
			}
			part, named := partOf(rule, key)
			if _, null := p.Value.(*ast.NullNode); !null || !named {
				values[key] = nil
				if part != nil {
					values[key] = d.plain(part, append(way, key), p.Value)
				}
			}
			return false
		})
		return values
	case *ast.SequenceNode:
		values := make([]any, len(x.Values))
		if part := entryOf(rule); part != nil {
			for i, v := range x.Values {
				values[i] = d.plain(part, append(way, strconv.Itoa(i)), v)
			}
		}
		return values
	case *ast.BoolNode:
		return x.Value
	case *ast.IntegerNode:
		return x.Value
	case *ast.FloatNode:
		if !math.IsInf(x.Value, 0) {
			return x.Value
		}
	}
	if s, ok := textOf(n); ok {
		return s
	}
	return nil // a value that JSON does not have, such as .nan
}

// partOf returns the schema of a key, nil where there is none; named is false where
// the file chooses its keys.
func partOf(s *jsonschema.Schema, key string) (part *jsonschema.Schema, named bool) {
	if s.Ref != nil {
		return partOf(s.Ref, key)
	}
	if part := s.Properties[key]; part != nil {
		return part, true
	}
	for _, one := range s.AnyOf {
		if part, named := partOf(one, key); part != nil {
			return part, named
		}
	}
	for pattern, part := range s.PatternProperties {
		if pattern.MatchString(key) {
			return part, false
		}
	}
	return nil, false
}

// entryOf returns the schema of the entries of a list, nil where there is none.
func entryOf(s *jsonschema.Schema) *jsonschema.Schema {
	for _, one := range s.AnyOf {
		if one.Items2020 != nil {
			return one.Items2020
		}
	}
	return s.Items2020
}

func textOf(n ast.Node) (string, bool) {
	switch x := n.(type) {
	case *ast.StringNode:
		return x.Value, true
	case *ast.LiteralNode:
		return x.Value.Value, true
	}
	return "", false
}

func keyOf(p *ast.MappingValueNode) string {
	if s, ok := p.Key.(*ast.StringNode); ok {
		return s.Value
	}
	return p.Key.GetToken().Value
}

// posOf returns where a node begins. A mapping begins at its first key.
func posOf(n ast.Node) position {
	if m, ok := n.(*ast.MappingNode); ok {
		if !m.IsFlowStyle && len(m.Values) > 0 {
			return posOf(m.Values[0].Key)
		}
		return tokenPos(m.Start)
	}
	return tokenPos(n.GetToken())
}

// describe says what a node is, as messages name it.
func describe(n ast.Node) string {
	switch x := n.(type) {
	case *ast.MappingNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.BoolNode:
		return strconv.FormatBool(x.Value)
	}
	if s, ok := textOf(n); ok {
		return quoted(s)
	}
	return spell.Clip(n.GetToken().Value, 60)
}
