package demo

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

//go:embed all:_shop
var shop embed.FS

//go:embed _changes
var changes embed.FS

// scenario is one kind of change, or of a group of changes that belong together, with
// placeholders for the parts in which its instances differ:
//
//	{{noun}} and {{Noun}}  a kind of goods, no two instances have the same
//	{{n}}                  11 to 29
//	{{m}}                  2 to 9
//	{{slow}}               how long the slow test takes, in milliseconds
//
// It is written as a text archive. Lines before the first file are "key: value":
// kind, and for each change (one, two, three) its title and body. The first
// folder of a file's name says where it belongs: base, or a change.
type scenario struct {
	name    string
	kind    Kind
	base    Files
	changes []Change // in order of their names in the archive
}

// parts are the folders of a scenario's changes.
func parts() []string { return []string{"one", "two", "three"} }

// shopFiles returns the files that every generated repository starts from.
func shopFiles() (Files, error) {
	files := Files{"go.mod": "module example.com/shop\n\ngo 1.24\n"}
	err := fs.WalkDir(shop, "_shop", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := shop.ReadFile(name)
		files[strings.TrimPrefix(name, "_shop/")] = string(data)
		return err
	})
	return files, err
}

// scenarios reads all scenarios that match a pattern, by name.
func scenarios(pattern string) ([]scenario, error) {
	names, err := fs.Glob(changes, "_changes/"+pattern+".txtar")
	if err != nil {
		return nil, err
	}
	var list []scenario
	for _, name := range names {
		data, err := changes.ReadFile(name)
		if err != nil {
			return nil, err
		}
		s, err := parseScenario(string(data))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		s.name = strings.TrimSuffix(path.Base(name), ".txtar")
		list = append(list, s)
	}
	return list, nil
}

func parseScenario(text string) (scenario, error) {
	s := scenario{base: Files{}}
	head := map[string]string{}
	where := map[string]Files{"base": s.base}
	var files Files
	var name string
	for line := range strings.Lines(text) {
		marker, isMarker := strings.CutPrefix(line, "-- ")
		marker, closed := strings.CutSuffix(strings.TrimSpace(marker), " --")
		switch {
		case isMarker && closed:
			part, file, _ := strings.Cut(marker, "/")
			if where[part] == nil {
				where[part] = Files{}
			}
			files, name = where[part], file
			files[name] = ""
		case files != nil:
			files[name] += line
		default:
			key, value, ok := strings.Cut(strings.TrimSpace(line), ": ")
			if !ok {
				return s, fmt.Errorf("cannot read %q", line)
			}
			head[key] = value
		}
	}
	s.kind = Kind(head["kind"])
	if s.kind.expect() == "" {
		return s, fmt.Errorf("no kind %q", s.kind)
	}
	for _, part := range parts() {
		if where[part] == nil {
			break
		}
		s.changes = append(s.changes, Change{
			Title: head["title "+part], Body: head["body "+part],
			Kind: s.kind, Expect: s.kind.expect(), Files: where[part],
		})
	}
	if len(s.changes) != len(where)-1 {
		return s, fmt.Errorf("parts are not %v", parts())
	}
	return s, nil
}

// fill replaces the placeholders in names and contents.
func (f Files) fill(r *strings.Replacer) Files {
	out := make(Files, len(f))
	for name, data := range f {
		out[r.Replace(name)] = r.Replace(data)
	}
	return out
}
