package cargo

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/digest"
)

// Bounds of a file that is parsed. A larger one is refused as broken.
const (
	maxManifest = 4 << 20
	maxLock     = 64 << 20
	maxDepth    = 200 // brackets open at one time, or keys between dots in one line
)

type table = map[string]any

// fault is a mistake in a file, and its line.
type fault struct {
	line int
	text string
}

func (f *fault) Error() string { return f.text }

// at says in which file a fault is.
func (f *fault) at(path string) error { return fmt.Errorf("%s:%d: %s", path, f.line, f.text) }

// parse reads a TOML file.
func parse(src []byte, limit int) (table, *fault) {
	if len(src) > limit {
		return nil, &fault{1, fmt.Sprintf("the file has %d bytes, and %d are the most", len(src), limit)}
	}
	src = bytes.TrimPrefix(src, []byte("\xef\xbb\xbf")) // as Cargo does
	if line := tooDeep(src); line > 0 {
		return nil, &fault{line, "nested too deeply"}
	}
	var t table
	err := toml.Unmarshal(src, &t)
	var d *toml.DecodeError
	switch {
	case errors.As(err, &d):
		row, _ := d.Position()
		return nil, &fault{max(row, 1), strings.TrimPrefix(d.Error(), "toml: ")}
	case err != nil:
		return nil, &fault{1, strings.TrimPrefix(err.Error(), "toml: ")}
	}
	return t, nil
}

// tooDeep returns the line where the nesting passes maxDepth, or 0: a parser
// that calls itself must not be led to the end of its stack. Brackets and dots
// in strings count, too; no sane file has that many.
func tooDeep(src []byte) int {
	line, open, dots := 1, 0, 0
	for _, c := range src {
		switch c {
		case '\n':
			line, dots = line+1, 0
		case '[', '{':
			open++
		case ']', '}':
			open = max(open-1, 0)
		case '.':
			dots++
		}
		if open > maxDepth || dots > 50*maxDepth {
			return line
		}
	}
	return 0
}

// lineOf returns the first line that sets a key or begins a table of that name,
// to lead people near to the mistake.
func lineOf(src []byte, key string) int {
	for i, line := range strings.Split(string(src), "\n") {
		line = strings.TrimLeft(line, " \t[\"'")
		for _, word := range strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t.=]\"'", r) }) {
			if word == key {
				return i + 1
			}
			break
		}
	}
	for i, line := range strings.Split(string(src), "\n") {
		if strings.Contains(line, key) {
			return i + 1
		}
	}
	return 1
}

// tableOf, textOf and listOf return the value of a key in a table; nothing if
// it is missing or of another type: Cargo reports that better than we would.
func tableOf(t table, key string) table {
	v, _ := t[key].(table)
	return v
}

func textOf(t table, key string) string {
	v, _ := t[key].(string)
	return v
}

func listOf(t table, key string) []string {
	all, _ := t[key].([]any)
	var list []string
	for _, v := range all {
		if s, ok := v.(string); ok {
			list = append(list, s)
		}
	}
	return list
}

// isList reports whether a value is a list of strings.
func isList(v any) bool {
	all, ok := v.([]any)
	return ok && !slices.ContainsFunc(all, func(v any) bool { _, text := v.(string); return !text })
}

func tablesOf(t table, key string) []table {
	all, _ := t[key].([]any)
	var list []table
	for _, v := range all {
		if s, ok := v.(table); ok {
			list = append(list, s)
		}
	}
	return list
}

// digestOf digests the meaning of a value of a parsed file, whatever the order
// of keys, the spacing and the comments.
func digestOf(v any) queue.Digest {
	var b strings.Builder
	write(&b, v)
	return digest.Of("toml1", b.String())
}

func write(b *strings.Builder, v any) {
	switch v := v.(type) {
	case table:
		b.WriteString("{" + strconv.Itoa(len(v)))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			b.WriteString(strconv.Quote(k))
			write(b, v[k])
		}
	case []any:
		b.WriteString("[" + strconv.Itoa(len(v)))
		for _, e := range v {
			write(b, e)
		}
	default:
		fmt.Fprintf(b, "%T%q", v, fmt.Sprint(v))
	}
}
