package gitlabci

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/goccy/go-yaml"
)

// largest is the most bytes of a file that is read.
const largest = 1 << 20

// documents returns the documents of a file: a header with "spec" may stand before the document
// with the jobs. The file is hostile.
func documents(data []byte) (header, content map[string]any, err error) {
	defer func() {
		if r := recover(); r != nil { // in the library
			header, content, err = nil, nil, fmt.Errorf("it cannot be read: %v", r)
		}
	}()
	if len(data) > largest {
		return nil, nil, fmt.Errorf("it has more than %d bytes", largest)
	}
	d := yaml.NewDecoder(bytes.NewReader(data))
	var list []map[string]any
	for len(list) < 2 {
		var next map[string]any
		if err := d.Decode(&next); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, nil, err
		}
		list = append(list, next)
	}
	if len(list) == 0 {
		return nil, nil, nil
	}
	if _, is := list[0]["spec"]; is {
		header, list = list[0], list[1:]
	}
	if len(list) == 0 {
		return header, nil, nil
	}
	return header, list[0], nil
}

// Inputs returns the File.Inputs of a file.
func Inputs(data []byte) []string { return Read(data).Inputs }

// inputsOf returns the inputs of a header that take any text: no numbers, booleans or lists,
// and no inputs with options.
func inputsOf(spec any) (out []string) {
	body, _ := spec.(map[string]any)
	declared, _ := body["inputs"].(map[string]any)
	for name, about := range declared {
		is, _ := about.(map[string]any)
		_, chosen := is["options"]
		if kind, typed := is["type"]; chosen || typed && kind != "string" {
			continue
		}
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}
