package config

import (
	"math"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/submitqueue/submitqueue/queue/spell"
)

// pairsOf returns the pairs of a mapping, and false for another node.
func pairsOf(n ast.Node) ([]*ast.MappingValueNode, bool) {
	if m, ok := n.(*ast.MappingNode); ok {
		return m.Values, true
	}
	return nil, false
}

func keyOf(p *ast.MappingValueNode) string {
	if s, ok := p.Key.(*ast.StringNode); ok {
		return s.Value
	}
	return p.Key.GetToken().Value
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

func intOf(n ast.Node) (int64, bool) {
	x, ok := n.(*ast.IntegerNode)
	if !ok {
		return 0, false
	}
	if v, ok := x.Value.(uint64); ok {
		return int64(v), v <= math.MaxInt64
	}
	v, ok := x.Value.(int64)
	return v, ok
}

func floatOf(n ast.Node) (float64, bool) {
	if i, ok := intOf(n); ok {
		return float64(i), true
	}
	if x, ok := n.(*ast.FloatNode); ok {
		return x.Value, !math.IsNaN(x.Value) && !math.IsInf(x.Value, 0)
	}
	return 0, false
}

func isScalar(n ast.Node) bool {
	_, ok := n.(ast.ScalarNode)
	return ok
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
	case *ast.LiteralNode:
		return quoted(x.Value.Value)
	case *ast.StringNode:
		return quoted(x.Value)
	case *ast.BoolNode:
		return strconv.FormatBool(x.Value)
	}
	return spell.Clip(n.GetToken().Value, 60)
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// inNoFile is the name of fields that no file has.
const inNoFile = "-"

func indexOfRule(rules []fieldRule, name string) int {
	for i, r := range rules {
		if r.name == name && name != inNoFile {
			return i
		}
	}
	return -1
}

func unknownKey(path, key string, rules []fieldRule) string {
	text := "unknown key " + quoted(key)
	if path != "" {
		text += " in " + path
	}
	var names []string
	for _, r := range rules {
		if r.name != inNoFile {
			names = append(names, r.name)
		}
	}
	if near := spell.Nearest(key, names); near != "" {
		return text + " (did you mean \"" + near + "\"?)"
	}
	return text + " (known here: " + strings.Join(names, ", ") + ")"
}

func requiredHint(rule fieldRule) string {
	switch {
	case rule.name == "version":
		return "\"version: 1\""
	case rule.minItems > 0:
		return "\"" + rule.name + "\" with at least one entry"
	}
	return "\"" + rule.name + "\""
}

func emptyHint(path string) string {
	if path == "permissions.protected_paths" {
		return "; leave it out for the default (" + strings.Join(DefaultProtected(), ", ") + ")"
	}
	return ""
}

func enumHint(path, value string) string {
	if path != "queue.method" {
		return ""
	}
	switch strings.ReplaceAll(value, "_", "-") {
	case "ff", "ff-only":
		return ": write fast-forward"
	}
	return ""
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// oneOf lists allowed values: "a", "a or b", "a, b or c".
func oneOf(values []string) string {
	if len(values) == 1 {
		return values[0]
	}
	last := len(values) - 1
	return strings.Join(values[:last], ", ") + " or " + values[last]
}

func number(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
