package node

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/tidwall/jsonc"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/digest"
)

// object is a JSON object with values not read yet. Keys are as written:
// encoding/json alone would take "Name" for "name". If a key is written twice,
// the last one counts, as in Node.
type object map[string]json.RawMessage

// parseObject reads a file that holds one object.
func parseObject(file string, data []byte) (object, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	var o object
	if err := json.Unmarshal(data, &o); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", file, lineOf(data, err), err)
	}
	if o == nil {
		return nil, fmt.Errorf("%s:1: null is no object", file)
	}
	return o, nil
}

// parseCommented is parseObject for files with comments and trailing commas.
func parseCommented(file string, data []byte) (object, error) {
	return parseObject(file, jsonc.ToJSON(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))))
}

func lineOf(data []byte, err error) int {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	at := int64(0)
	switch {
	case errors.As(err, &syntax):
		at = syntax.Offset
	case errors.As(err, &kind):
		at = kind.Offset
	}
	return 1 + bytes.Count(data[:min(max(at, 0), int64(len(data)))], []byte("\n"))
}

// text returns a field that is a string, "" if it is anything else.
func (o object) text(key string) string {
	var s string
	if json.Unmarshal(o[key], &s) != nil {
		return ""
	}
	return s
}

// object returns a field that is an object, nil if it is anything else.
func (o object) object(key string) object {
	var sub object
	if json.Unmarshal(o[key], &sub) != nil {
		return nil
	}
	return sub
}

// texts returns the strings of a field that is a list; other members of the
// list are left out.
func (o object) texts(key string) []string {
	var out []string
	for _, raw := range o.list(key) {
		var s string
		if json.Unmarshal(raw, &s) == nil {
			out = append(out, s)
		}
	}
	return out
}

// list returns the members of a field that is a list.
func (o object) list(key string) []json.RawMessage {
	var all []json.RawMessage
	if json.Unmarshal(o[key], &all) != nil {
		return nil
	}
	return all
}

// flag reports whether a field is true.
func (o object) flag(key string) bool { return string(bytes.TrimSpace(o[key])) == "true" }

// keys returns the keys, sorted.
func (o object) keys() []string { return slices.Sorted(maps.Keys(o)) }

// digest covers all fields but those named, whatever the order and space
// between them.
func (o object) digest(without ...string) queue.Digest {
	var parts []string
	for _, k := range o.keys() {
		if slices.Contains(without, k) {
			continue
		}
		parts = append(parts, k, canonical(o[k]))
	}
	return digest.Of(parts...)
}

// canonical returns a value with sorted keys and no space.
func canonical(raw json.RawMessage) string {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return string(raw)
	}
	out, err := json.Marshal(v)
	if err != nil {
		return string(raw)
	}
	return string(out)
}

// field is one key with its value.
type field struct{ key, value string }
