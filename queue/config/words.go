package config

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/submitqueue/submitqueue/queue/spell"
)

// judge checks the tree against the schema and reports, in words for people, the
// values that do not fit. It returns the places of values that cannot be decoded.
func (d *document) judge(r *rules) []place {
	err, _ := r.file.Validate(d.plain(r.file, nil, d.root)).(*jsonschema.ValidationError)
	if err == nil {
		return nil
	}
	found := r.leaves(err)
	slices.SortStableFunc(found, func(a, b *jsonschema.ValidationError) int { return rank(a) - rank(b) })
	var unfit []place
	for _, e := range found {
		p, _ := d.find(e.InstanceLocation)
		switch {
		case d.within(e.InstanceLocation):
		case d.value(r.at[e.SchemaURL], p, e):
			unfit = append(unfit, p)
		default:
			d.keys(r, p, e)
		}
	}
	return unfit
}

// rank puts lists that are too long before the mistakes in them, and misspelt keys
// before the missing ones that they may be.
func rank(e *jsonschema.ValidationError) int {
	switch e.ErrorKind.(type) {
	case *kind.MaxItems:
		return 0
	case *kind.AdditionalProperties:
		return 1
	}
	return 2
}

// within reports whether a value stands in one that was refused.
func (d *document) within(way []string) bool {
	for i := range way {
		if d.refused[d.pathOf(way[:i])] {
			return true
		}
	}
	return false
}

// leaves returns the errors that say something of a value, without errors that
// only group others. Where a value may be of several types, the errors of its
// own type count, or the choice itself if it has none of these types.
func (r *rules) leaves(e *jsonschema.ValidationError) []*jsonschema.ValidationError {
	var all []*jsonschema.ValidationError
	switch e.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.Reference:
		for _, cause := range e.Causes {
			all = append(all, r.leaves(cause)...)
		}
		return all
	case *kind.AnyOf:
		if !union(r.at[e.SchemaURL]) {
			break
		}
		for _, branch := range e.Causes {
			all = r.leaves(branch)
			if !asWhole(all[0].ErrorKind) || len(all[0].InstanceLocation) > len(e.InstanceLocation) {
				return all
			}
		}
	}
	return []*jsonschema.ValidationError{e}
}

// asWhole reports whether an error says that a value is none of those expected.
func asWhole(k jsonschema.ErrorKind) bool {
	switch k.(type) {
	case *kind.Type, *kind.Enum:
		return true
	}
	return false
}

// union reports whether values may be of several types.
func union(s *jsonschema.Schema) bool { return s.Types == nil && len(s.AnyOf) > 0 }

// value reports a value that does not fit as a whole. It returns false where the
// error is about the keys or the entries in it.
func (d *document) value(rule *jsonschema.Schema, p place, e *jsonschema.ValidationError) bool {
	path, value := d.pathOf(e.InstanceLocation), *p.value
	text, isText := textOf(value)
	_, scalar := value.(ast.ScalarNode)
	words := ""
	switch k := e.ErrorKind.(type) {
	case *kind.MinItems:
		words = "is an empty list: it needs at least one entry"
		if path == "permissions.protected_paths" {
			words += "; leave it out for the default (" + strings.Join(DefaultProtected(), ", ") + ")"
		}
	case *kind.MaxItems:
		words = fmt.Sprintf("has %d entries, and at most %d are allowed", k.Got, k.Want)
	case *kind.MinLength:
		words = "is empty: fill it in or delete the line"
	case *kind.MaxLength:
		words = fmt.Sprintf("has %d characters, and at most %d are allowed", k.Got, k.Want)
	case *kind.Minimum, *kind.Maximum:
		words = fmt.Sprintf("must be from %s to %s, found %s", number(rule.Minimum), number(rule.Maximum), describe(value))
	case *kind.Pattern:
		words = fmt.Sprintf("must be %s, found %s", patternWords(k.Want), describe(value))
	case *kind.Format:
		if rule.Pattern.MatchString(VerifyOff) {
			k.Want = VerifyOff + ", or " + k.Want
		}
		words = fmt.Sprintf("must be %s, found %s", k.Want, describe(value))
	case *kind.Not:
		words = fmt.Sprintf("is the role %s, and the least that can be asked for is write", describe(value))
	case *kind.Type, *kind.Enum, *kind.AnyOf:
		_, choice := k.(*kind.AnyOf)
		switch {
		case choice && !union(rule): // of keys
			return false
		case value.Type() == ast.NullType:
			words = "has no value"
		case takesText(rule) && scalar && !isText:
			words = fmt.Sprintf("must be %s, found %s: put it in quotes", expected(rule), describe(value))
		default:
			words = fmt.Sprintf("must be %s, found %s%s", expected(rule), describe(value), suggestion(rule, path, text))
		}
	default:
		return false
	}
	d.reportAt(p.position(), path, subject(path)+" "+words)
	return true
}

// keys reports what is wrong with the keys of a mapping, or with entries of a list
// beside one another.
func (d *document) keys(r *rules, in place, e *jsonschema.ValidationError) {
	path, rule := d.pathOf(e.InstanceLocation), r.at[e.SchemaURL]
	below := func(step string) place {
		p, _ := d.find(append(slices.Clone(e.InstanceLocation), step))
		return p
	}
	switch k := e.ErrorKind.(type) {
	case *kind.AdditionalProperties:
		known := slices.Sorted(maps.Keys(rule.Properties))
		for _, key := range k.Properties {
			text := unknownKey(path, key, known)
			if len(known) == 0 {
				text = fmt.Sprintf(`%s has the name %s: a variable's name is made of letters, digits and "_", and begins with no digit`, path, quoted(key))
			}
			d.add(posOf(below(key).key), "%s", text)
		}
	case *kind.Required:
		for _, key := range k.Missing {
			d.missing(in, path, []string{key})
		}
	case *kind.AnyOf:
		d.missing(in, path, alternatives(rule.AnyOf))
	case *kind.OneOf:
		keys := alternatives(rule.OneOf)
		if k.Subschemas == nil {
			d.missing(in, path, keys)
			break
		}
		sub := join(path, keys[0])
		d.report(sub, "%s has both %s: keep one", subject(path), listed(keyWords, keys, " and "))
	case *kind.UniqueItems:
		second := strconv.Itoa(k.Duplicates[1])
		p, sub := below(second), path+"["+second+"]"
		d.report(sub, "%s is %s, which is in the list already: take it out", sub, describe(*p.value))
	default:
		d.add(in.position(), "%s is not what the schema says: %s", subject(path), strings.Join(k.KeywordPath(), "/"))
	}
}

// missing reports a mapping in which none of some keys is written, or none has a value.
func (d *document) missing(in place, path string, keys []string) {
	sub := join(path, keys[0])
	for _, key := range keys {
		if p, written := d.find(steps(join(path, key))); written {
			d.reportAt(p.position(), sub, join(path, key)+" has no value")
			return
		}
	}
	d.reportAt(in.position(), sub, subject(path)+" needs "+listed(keyWords, keys, " or "))
}

// alternatives returns the keys of which a mapping needs one.
func alternatives(choice []*jsonschema.Schema) []string {
	keys := make([]string, len(choice))
	for i, s := range choice {
		keys[i] = s.Required[0]
	}
	return keys
}

// keyWords says what is to be written for a key that is missing.
func keyWords(key string) string {
	switch key {
	case "version":
		return `"version: 1"`
	case "steps", "files", "targets":
		return quoted(key) + " with at least one entry"
	case "run":
		return `"run" (a command for our runners)`
	case "checks":
		return `"checks" (names of checks of the forge's CI)`
	case "builds":
		return `"builds" (how many at one time)`
	case "share":
		return `"share" (of the slots)`
	}
	return quoted(key)
}

func unknownKey(path, key string, known []string) string {
	text := "unknown key " + quoted(key)
	if path != "" {
		text += " in " + path
	}
	if near := didYouMean(key, known); near != "" {
		return text + near
	}
	return text + " (known here: " + strings.Join(known, ", ") + ")"
}

// expected says what the schema asks for. The title of a choice of types says it
// for all of them.
func expected(s *jsonschema.Schema) string {
	switch {
	case s.Ref != nil:
		return expected(s.Ref)
	case union(s):
		return s.Title
	case s.Enum != nil:
		return oneOf(allowed(s))
	case s.Extensions != nil: // a duration
		return patternWords(s.Pattern.String())
	}
	switch s.Types.ToStrings()[0] {
	case "boolean":
		return "true or false"
	case "integer":
		return "a whole number"
	case "number":
		return "a number"
	case "array":
		return "a list"
	case "object":
		if s.Properties == nil {
			return "a mapping of names to texts"
		}
		return "a mapping of keys to values"
	}
	return "a text"
}

// allowed returns the words that the schema names.
func allowed(s *jsonschema.Schema) (words []string) {
	for _, one := range s.AnyOf {
		words = append(words, allowed(one)...)
	}
	if s.Enum != nil {
		for _, v := range s.Enum.Values {
			words = append(words, fmt.Sprint(v))
		}
	}
	return words
}

// takesText reports whether a value may be a text that the schema does not name.
func takesText(s *jsonschema.Schema) bool {
	if union(s) {
		return slices.ContainsFunc(s.AnyOf, takesText)
	}
	return s.Enum == nil && s.Extensions == nil && s.Types != nil && s.Types.ToStrings()[0] == "string"
}

// suggestion says what was probably meant by a word that is none of those allowed.
func suggestion(s *jsonschema.Schema, path, text string) string {
	words := allowed(s)
	switch {
	case len(words) == 0:
		return ""
	case slices.Contains(words, text):
		return ": take it out of the quotes"
	case strings.HasPrefix(text, "@"): // a team, as in permissions
		return ": write [" + quoted(text) + "]"
	case path == "queue.method" && strings.HasPrefix(text, "ff"):
		return ": write fast-forward"
	case path == "queue.method" && (strings.HasPrefix(text, "semi") || text == "rebase_merge"):
		return ": write semi-linear"
	}
	return didYouMean(text, words)
}

func didYouMean(word string, names []string) string {
	if near := spell.Nearest(word, names); near != "" {
		return " (did you mean " + quoted(near) + "?)"
	}
	return ""
}

func subject(path string) string {
	if path == "" {
		return "the file"
	}
	return path
}

func join(path, key string) string { return strings.TrimPrefix(path+"."+key, ".") }

// oneOf lists allowed values: "a", "a or b", "a, b or c".
func oneOf(values []string) string {
	last := len(values) - 1
	if last == 0 {
		return values[0]
	}
	return strings.Join(values[:last], ", ") + " or " + values[last]
}

func listed(word func(string) string, names []string, between string) string {
	words := make([]string, len(names))
	for i, n := range names {
		words[i] = word(n)
	}
	return strings.Join(words, between)
}

func number(x *big.Rat) string {
	f, _ := x.Float64()
	return strconv.FormatFloat(f, 'f', -1, 64)
}
