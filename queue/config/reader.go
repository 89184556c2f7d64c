package config

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
)

// reader puts YAML nodes into the configuration's structs. What a field
// may hold is in its tags; what fields may hold together is in checkAll.
type reader struct {
	*findings
	at  map[string]position // where each value is, by path, e.g. "steps[0].run"
	bad map[string]bool     // paths whose value was refused: no second complaint about them
}

func newReader(r *findings) *reader {
	return &reader{findings: r, at: map[string]position{}, bad: map[string]bool{}}
}

// fieldRule is what the tags of a field say.
type fieldRule struct {
	name      string // in the file
	required  bool
	enum      []string
	min, max  float64
	minLength int
	maxLength int
	minItems  int
	maxItems  int
}

// rulesOf returns the rules of a struct's fields by their index.
func rulesOf(t reflect.Type) []fieldRule {
	rules := make([]fieldRule, t.NumField())
	for i := range rules {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		rule := fieldRule{name: name, min: math.Inf(-1), max: math.Inf(1), maxLength: math.MaxInt, maxItems: math.MaxInt}
		for _, part := range strings.Split(f.Tag.Get("jsonschema"), ",") {
			key, value, _ := strings.Cut(part, "=")
			n, _ := strconv.ParseFloat(value, 64)
			switch key {
			case "required":
				rule.required = true
			case "enum":
				rule.enum = append(rule.enum, value)
			case "minimum":
				rule.min = n
			case "maximum":
				rule.max = n
			case "minLength":
				rule.minLength = int(n)
			case "maxLength":
				rule.maxLength = int(n)
			case "minItems":
				rule.minItems = int(n)
			case "maxItems":
				rule.maxItems = int(n)
			}
		}
		rules[i] = rule
	}
	return rules
}

// otherVersion reports, as the one error, a file of another format: whatever
// else it says must not be judged by this one.
func (r *reader) otherVersion(root ast.Node) bool {
	pairs, _ := pairsOf(root)
	for _, p := range pairs {
		if keyOf(p) != "version" {
			continue
		}
		if n, ok := intOf(p.Value); ok && n != 1 {
			r.add(posOf(p.Value), "this is a configuration of version %d, and this program reads version 1: write \"version: 1\", or use a newer program", n)
			return true
		}
	}
	return false
}

// document reads the whole file.
func (r *reader) document(root ast.Node, c *Config) {
	r.value("", root, reflect.ValueOf(c).Elem(), fieldRule{})
}

// value reads one node. It reports what does not fit and then leaves v as it is.
func (r *reader) value(path string, n ast.Node, v reflect.Value, rule fieldRule) {
	if _, seen := r.at[path]; !seen {
		r.at[path] = posOf(n)
	}
	if _, null := n.(*ast.NullNode); null {
		r.refuse(path, n, "has no value")
		return
	}
	if v.Type() == reflect.TypeFor[time.Duration]() {
		r.duration(path, n, v)
		return
	}
	if v.Type() == reflect.TypeFor[Who]() {
		r.who(path, n, v, rule)
		return
	}
	if v.Type() == reflect.TypeFor[Check]() {
		r.check(path, n, v)
		return
	}
	if v.Type() == reflect.TypeFor[Submodules]() {
		r.submodules(path, n, v)
		return
	}
	if v.Type() == reflect.TypeFor[Switch]() {
		r.toggle(path, n, v)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		r.structure(path, n, v)
	case reflect.Slice:
		r.list(path, n, v, rule)
	case reflect.Map:
		r.texts(path, n, v)
	case reflect.String:
		if s, ok := r.text(path, n, rule); ok {
			v.SetString(s)
		}
	case reflect.Int:
		if x, ok := intOf(n); !ok {
			r.refuse(path, n, "must be a whole number, found %s", describe(n))
		} else if r.inRange(path, n, float64(x), rule) {
			v.SetInt(x)
		}
	case reflect.Float64:
		if x, ok := floatOf(n); !ok {
			r.refuse(path, n, "must be a number, found %s", describe(n))
		} else if r.inRange(path, n, x, rule) {
			v.SetFloat(x)
		}
	}
}

func (r *reader) refuse(path string, n ast.Node, format string, args ...any) {
	r.bad[path] = true
	r.add(posOf(n), "%s %s", subject(path), fmt.Sprintf(format, args...))
}

func subject(path string) string {
	if path == "" {
		return "the file"
	}
	return path
}

func (r *reader) structure(path string, n ast.Node, v reflect.Value) {
	pairs, ok := pairsOf(n)
	if !ok {
		r.refuse(path, n, "must be a mapping of keys to values, found %s", describe(n))
		return
	}
	rules := rulesOf(v.Type())
	for _, p := range r.unique(path, pairs) {
		key := keyOf(p)
		i := indexOfRule(rules, key)
		if i < 0 {
			r.add(posOf(p.Key), "%s", unknownKey(path, key, rules))
			continue
		}
		sub := join(path, key)
		r.at[sub] = posOf(p.Value)
		if _, null := p.Value.(*ast.NullNode); null {
			r.at[sub] = posOf(p.Key)
			if rules[i].required {
				r.bad[sub] = true
				r.add(posOf(p.Key), "%s has no value", sub)
			}
			continue
		}
		r.value(sub, p.Value, v.Field(i), rules[i])
	}
	for _, rule := range rules {
		sub := join(path, rule.name)
		if _, seen := r.at[sub]; rule.required && !seen {
			r.bad[sub] = true
			r.add(posOf(n), "%s needs %s", subject(path), requiredHint(rule))
		}
	}
}

// unique returns the pairs without those whose key was there before, which it
// reports.
func (r *reader) unique(path string, pairs []*ast.MappingValueNode) []*ast.MappingValueNode {
	first := map[string]int{}
	var out []*ast.MappingValueNode
	for _, p := range pairs {
		key := keyOf(p)
		if line, dup := first[key]; dup {
			r.add(posOf(p.Key), "%s is here twice, first in line %d: keep one", quoted(join(path, key)), line)
			continue
		}
		first[key] = posOf(p.Key).line
		out = append(out, p)
	}
	return out
}

func (r *reader) list(path string, n ast.Node, v reflect.Value, rule fieldRule) {
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		r.refuse(path, n, "must be a list, found %s", describe(n))
		return
	}
	if len(seq.Values) < rule.minItems {
		r.refuse(path, n, "is an empty list: it needs at least one entry%s", emptyHint(path))
		return
	}
	if len(seq.Values) > rule.maxItems {
		r.refuse(path, n, "has %d entries, and at most %d are allowed", len(seq.Values), rule.maxItems)
		return
	}
	for i, entry := range seq.Values {
		sub := fmt.Sprintf("%s[%d]", path, i)
		item := reflect.New(v.Type().Elem()).Elem()
		r.value(sub, entry, item, fieldRule{minLength: 1, maxLength: math.MaxInt})
		v.Set(reflect.Append(v, item))
	}
}

func (r *reader) texts(path string, n ast.Node, v reflect.Value) {
	pairs, ok := pairsOf(n)
	if !ok {
		r.refuse(path, n, "must be a mapping of names to texts, found %s", describe(n))
		return
	}
	for _, p := range r.unique(path, pairs) {
		key := keyOf(p)
		sub := join(path, key)
		r.at[sub] = posOf(p.Key)
		if s, ok := r.text(sub, p.Value, fieldRule{maxLength: math.MaxInt}); ok {
			if v.IsNil() {
				v.Set(reflect.MakeMap(v.Type()))
			}
			v.SetMapIndex(reflect.ValueOf(key), reflect.ValueOf(s))
		}
	}
}

func (r *reader) text(path string, n ast.Node, rule fieldRule) (string, bool) {
	s, ok := textOf(n)
	switch {
	case !ok && isScalar(n) && rule.enum == nil:
		r.refuse(path, n, "must be a text, found %s: put it in quotes", describe(n))
	case rule.enum != nil && !ok, rule.enum != nil && !contains(rule.enum, s):
		r.refuse(path, n, "must be %s, found %s%s", oneOf(rule.enum), describe(n), enumHint(path, s))
	case !ok:
		r.refuse(path, n, "must be a text, found %s", describe(n))
	case len(s) < rule.minLength:
		r.refuse(path, n, "is empty: fill it in or delete the line")
	case len([]rune(s)) > rule.maxLength:
		r.refuse(path, n, "has %d characters, and at most %d are allowed", len([]rune(s)), rule.maxLength)
	default:
		return s, true
	}
	return "", false
}

func (r *reader) inRange(path string, n ast.Node, x float64, rule fieldRule) bool {
	if len(rule.enum) > 0 || x >= rule.min && x <= rule.max {
		return true
	}
	r.refuse(path, n, "must be from %s to %s, found %s", number(rule.min), number(rule.max), describe(n))
	return false
}

// durationPattern is what a duration looks like in the file; the schema has it too.
const durationPattern = `^([0-9]+(\.[0-9]+)?[hms])+$`

func (r *reader) duration(path string, n ast.Node, v reflect.Value) {
	s, ok := textOf(n)
	if !ok || !regexp.MustCompile(durationPattern).MatchString(s) {
		r.refuse(path, n, "must be a duration in h, m and s such as \"10m\" or \"1h30m\", found %s", describe(n))
		return
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		r.refuse(path, n, "is too long a duration: %s", describe(n))
		return
	}
	limits := durationLimits()[path[strings.LastIndexByte(path, '.')+1:]]
	if d < limits[0] || d > limits[1] {
		r.refuse(path, n, "must be from %s to %s, found %s", shortDuration(limits[0]), shortDuration(limits[1]), describe(n))
		return
	}
	v.SetInt(int64(d))
}

// durationLimits returns the least and the greatest value of each duration.
func durationLimits() map[string][2]time.Duration {
	return map[string][2]time.Duration{
		"timeout":       {time.Second, 24 * time.Hour},
		"appear":        {time.Second, 24 * time.Hour},
		"max_overtake":  {time.Minute, 168 * time.Hour},
		"max_wait":      {time.Minute, 168 * time.Hour},
		"lane_max_wait": {time.Minute, 168 * time.Hour},
		"parked_limit":  {time.Minute, 8760 * time.Hour},
	}
}

// shortDuration writes 1h0m0s as 1h.
func shortDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
