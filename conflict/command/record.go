package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/checkout"
	"github.com/submitqueue/submitqueue/queue/config"
)

// record is one line of the program's output.
type record struct {
	target, kind, alias  string
	deps, sources        []string
	inputs, reads        []string
	attrs                json.RawMessage
	internal, readsGiven bool
}

// lineError is a mistake in a line.
type lineError struct {
	line int
	text string
	why  error
}

func (e *lineError) Error() string {
	return fmt.Sprintf("line %d: %v: %s", e.line, e.why, e.text)
}

func (e *lineError) Unwrap() error { return e.why }

// errEmpty is an output that would leave nothing to be verified.
var errEmpty = errors.New("all lines: there is no target that can be verified")

// maxName bounds the length of a name.
const maxName = 500

// parse reads the output of a program. The error begins with the line.
func parse(out []byte) ([]record, error) {
	var records []record
	lines := map[string]int{}
	verifiable := false
	for n := 1; len(out) > 0; n++ {
		var line []byte
		line, out, _ = bytes.Cut(out, []byte("\n"))
		line = bytes.TrimSuffix(line, []byte("\r"))
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		r, err := parseLine(line)
		if first, twice := lines[r.target]; err == nil && twice {
			err = fmt.Errorf("the target %q is that of line %d", r.target, first)
		}
		if err != nil {
			return nil, &lineError{n, excerpt(line), err}
		}
		lines[r.target] = n
		verifiable = verifiable || !r.internal
		records = append(records, r)
	}
	if !verifiable {
		return nil, errEmpty
	}
	return records, nil
}

// excerpt returns the beginning of a line, fit to print.
func excerpt(line []byte) string {
	const most = 80
	text := checkout.Printable(string(line[:min(len(line), 8*most)]))
	if r := []rune(text); len(r) > most {
		text = string(r[:most]) + "…"
	}
	return text
}

func parseLine(line []byte) (record, error) {
	var r record
	if !utf8.Valid(line) {
		return r, errors.New("it is not UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return r, errors.New("it is not a JSON object")
	}
	seen := map[string]bool{}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return r, invalid(err)
		}
		name, _ := key.(string)
		if seen[name] {
			return r, fmt.Errorf("the field %q is there twice", name)
		}
		seen[name] = true
		if err := r.field(dec, name); err != nil {
			return r, err
		}
	}
	if _, err := dec.Token(); err != nil {
		return r, invalid(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return r, errors.New("something follows the object")
	}
	r.readsGiven = seen["reads"]
	return r, r.check()
}

func invalid(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the JSON object does not end in its line")
	}
	return fmt.Errorf("it is not JSON: %w", err)
}

// field reads the value of a field.
func (r *record) field(dec *json.Decoder, name string) error {
	var raw json.RawMessage
	if err := dec.Decode(&raw); err != nil {
		return invalid(err)
	}
	var to any
	what := "a list of texts"
	switch name {
	case "target":
		to, what = &r.target, "a text"
	case "kind":
		to, what = &r.kind, "a text"
	case "alias":
		to, what = &r.alias, "a text"
	case "deps":
		to = &r.deps
	case "sources":
		to = &r.sources
	case "inputs":
		to = &r.inputs
	case "reads":
		to = &r.reads
	case "internal":
		to, what = &r.internal, "true or false"
	case "attrs":
		r.attrs = raw
		return nil
	default:
		return fmt.Errorf("the field %q is not known", name)
	}
	if string(raw) == "null" || json.Unmarshal(raw, to) != nil {
		return fmt.Errorf("the field %q is not %s", name, what)
	}
	return nil
}

func (r *record) check() error {
	if r.target == "" {
		return errors.New(`the field "target" is missing`)
	}
	if err := checkName("target", r.target); err != nil {
		return err
	}
	if reserved(r.target) {
		return fmt.Errorf("the target name %q is reserved", r.target)
	}
	if r.alias != "" {
		if err := checkName("alias", r.alias); err != nil {
			return err
		}
	}
	for _, d := range r.deps {
		if err := checkName("dependency", d); err != nil {
			return err
		}
		if reserved(d) {
			return fmt.Errorf("the dependency %q is a reserved name", d)
		}
	}
	for _, list := range [][]string{r.sources, r.inputs, r.reads} {
		for _, path := range list {
			if !validPath(path) {
				return fmt.Errorf("%q is not a path from the root of the tree", path)
			}
		}
	}
	return nil
}

func reserved(name string) bool {
	return name == config.TargetTree || name == config.TargetUnowned ||
		strings.HasPrefix(name, conflict.DefinitionPrefix) || strings.HasPrefix(name, conflict.ListingPrefix)
}

// checkName refuses names that could not stand in a command and in messages as they are.
func checkName(what, name string) error {
	if len(name) > maxName {
		return fmt.Errorf("the %s is longer than %d bytes", what, maxName)
	}
	for _, c := range name {
		if !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("._/-:@+=,~%#()[]", c) {
			return fmt.Errorf("the %s %q has the character %q", what, name, c)
		}
	}
	if name == "" || name[0] == '-' {
		return fmt.Errorf("the %s %q is empty or begins with -", what, name)
	}
	return nil
}

// validPath reports whether a path is "./", a file or "dir/", with plain names.
func validPath(path string) bool {
	if path == "./" {
		return true
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(path, "/"), "/") {
		if name == "" || name == "." || name == ".." || strings.ContainsRune(name, 0) {
			return false
		}
	}
	return true
}
