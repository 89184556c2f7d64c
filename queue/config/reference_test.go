package config_test

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/submitqueue/submitqueue/queue/config"
)

// reference is the page of the documentation that has every key.
const reference = "../../app/docs/keys.md"

const referenceHead = `# Every key

The file is ` + "`.submitqueue.yml`" + `, at the root of the repository. [Configure](configure.md) says how the keys go together; this page has each of them with what it means, its type, its bounds, its default and an example.

This page is made from the program's own structs and schema, and every example on it is checked by the program's tests. ` + "`submitqueue validate`" + ` checks your file with the same rules, and ` + "`submitqueue schema`" + ` prints them for editors.

A duration is written like ` + "`90s`, `15m` or `1h30m`" + `. A glob has ` + "`*`" + ` within a folder and ` + "`**`" + ` across folders. ` + "`[]`" + ` in the name of a key stands for each entry of a list.
`

// TestConfigReference holds that the documentation has every key of the schema, with what
// the struct's comment says of it and an example that Parse takes. -update-config writes it.
func TestConfigReference(t *testing.T) {
	examples, order := map[string]string{}, map[string]int{}
	archive, err := txtar.ParseFile("testdata/examples.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range archive.Files {
		examples[f.Name], order[f.Name] = string(f.Data), i
	}
	w := referenceWriter{t: t, root: mustSchema(t), examples: examples, order: order, home: map[string]string{}}
	w.homes("", w.root.schema)
	w.b.WriteString(referenceHead)
	w.keys("", w.root.schema)
	for key := range examples {
		t.Errorf("testdata/examples.txtar has an example of %s, and the page has no such key", key)
	}
	if *updateConfig {
		if err := os.WriteFile(reference, []byte(w.b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != w.b.String() {
		t.Errorf("%s is not what the structs and examples say; go test ./queue/config -run Reference -update-config writes it", reference)
	}
}

type referenceWriter struct {
	t        *testing.T
	root     schemaRoot
	examples map[string]string // those not written yet
	order    map[string]int    // of the keys on the page
	home     map[string]string // by a definition of the schema, the key below which its keys are written
	b        strings.Builder
}

// homes finds the shortest key for each definition that stands in several places.
func (w *referenceWriter) homes(path string, s schema) {
	if s.Ref != "" {
		if known, ok := w.home[s.Ref]; !ok || len(path) < len(known) {
			w.home[s.Ref] = path
		}
		s = w.root.resolve(s)
	}
	if s.Type == "array" && s.Items != nil {
		w.homes(path+"[]", *s.Items)
		return
	}
	for name, p := range s.Properties {
		w.homes(joinKey(path, name), p)
	}
}

// propertiesOf returns the names of a map's keys in the order of the page.
func (w *referenceWriter) propertiesOf(path string, s schema) []string {
	return slices.SortedFunc(maps.Keys(s.Properties), func(a, b string) int {
		return cmp.Or(cmp.Compare(w.order[joinKey(path, a)], w.order[joinKey(path, b)]), cmp.Compare(a, b))
	})
}

func joinKey(path, name string) string { return strings.TrimPrefix(path+"."+name, ".") }

func anchorOf(key string) string {
	return regexp.MustCompile(`[^a-z0-9_-]`).ReplaceAllString(strings.ToLower(key), "")
}

func (w *referenceWriter) keys(path string, s schema) {
	for _, name := range w.propertiesOf(path, s) {
		p := s.Properties[name]
		key, is := joinKey(path, name), w.root.resolve(p)
		if p.Description != "" {
			is.Description = p.Description
		}
		level := "###"
		if path == "" {
			level = "##"
		}
		fmt.Fprintf(&w.b, "\n%s %s\n\n%s\n", level, key, w.says(key, name, is.Description))
		if facts := w.facts(s, name, is); facts != "" {
			fmt.Fprintf(&w.b, "\n%s\n", facts)
		}
		w.example(key, name)

		below, ref := is, p.Ref
		within := key
		if is.Type == "array" && is.Items != nil {
			ref, below, within = is.Items.Ref, w.root.resolve(*is.Items), key+"[]"
		}
		for _, one := range below.AnyOf {
			if len(one.Properties) > 0 {
				below = one
			}
		}
		if home := w.home[ref]; ref != "" && home != within {
			fmt.Fprintf(&w.b, "\nIts keys are those of [%s](#%s).\n", strings.TrimSuffix(home, "[]"), anchorOf(home))
			continue
		}
		w.keys(within, below)
	}
}

// says is a comment as Markdown, with the key in the place of the field's name.
func (w *referenceWriter) says(key, name, comment string) string {
	field, rest, _ := strings.Cut(comment, " ")
	if !regexp.MustCompile(`^[A-Z][A-Za-z]*$`).MatchString(field) {
		w.t.Errorf("the comment of %s does not begin with its field: %q", key, comment)
	}
	return "`" + name + "` " + regexp.MustCompile("[*_<`]").ReplaceAllString(rest, `\$0`)
}

// facts are the type and the bounds that the schema has.
func (w *referenceWriter) facts(in schema, name string, s schema) string {
	var f []string
	switch {
	case s.Title != "":
		f = append(f, s.Title)
	case len(s.Enum) > 1:
		f = append(f, "one of "+words(s.Enum))
	case s.MinDuration != "" && s.Pattern == durationPattern:
		f = append(f, "a duration from "+s.MinDuration+" to "+s.MaxDuration)
	case s.Type == "array" && s.Items.Ref != "":
		f = append(f, "a list of maps")
	case s.Type == "array" && len(s.Items.Enum) > 0:
		f = append(f, "a list of "+words(s.Items.Enum))
	case s.Type == "array":
		f = append(f, "a list")
	case len(s.Properties) > 0:
		f = append(f, "a map")
	case s.Type == "object":
		f = append(f, "a map of texts")
	case s.Type == "boolean":
		f = append(f, "true or false")
	case s.Type == "string":
		f = append(f, "a text")
	case s.Type == "integer", s.Type == "number" && len(s.Enum) == 0:
		f = append(f, "a number")
	default:
		w.t.Errorf("no words for the type of %s: %+v", name, s)
	}
	if s.Minimum != nil && s.Maximum != nil {
		f = append(f, fmt.Sprintf("from %v to %v", *s.Minimum, *s.Maximum))
	}
	if s.MaxItems != nil {
		f = append(f, fmt.Sprintf("at most %d entries", *s.MaxItems))
	}
	f = append(f, w.required(in, name)...)
	if s.Default != nil {
		f = append(f, fmt.Sprintf("default `%v`", s.Default))
	}
	return "Value: " + strings.Join(f, "; ") + "."
}

func words(enum []any) string {
	var all []string
	for _, e := range enum {
		all = append(all, fmt.Sprintf("`%v`", e))
	}
	return strings.Join(all, ", ")
}

func (w *referenceWriter) required(in schema, name string) []string {
	for _, r := range in.Required {
		if r == name {
			return []string{"required"}
		}
	}
	return nil
}

// example writes a key's example, once Parse has taken it.
func (w *referenceWriter) example(key, name string) {
	text, ok := w.examples[key]
	if !ok {
		w.t.Errorf("testdata/examples.txtar has no example of %s", key)
		return
	}
	delete(w.examples, key)
	if !regexp.MustCompile(`(^|[\s{\[(,])` + name + `:`).MatchString(text) {
		w.t.Errorf("the example of %s does not write it", key)
	}
	file := text
	if !strings.Contains(file, "version:") {
		file = "version: 1\n" + file
	}
	if !strings.Contains(file, "\nsteps:") {
		more := ""
		if strings.Contains(text, "analy") {
			more = ", scope: repository"
		}
		file += "steps: [{name: test, run: make test" + more + "}]\n"
	}
	if _, err := config.Parse(config.Path, []byte(file)); err != nil {
		w.t.Errorf("the example of %s: %v\n%s", key, err, file)
	}
	fmt.Fprintf(&w.b, "\n```yaml\n%s```\n", text)
}
