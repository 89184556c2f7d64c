package bazel

import (
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

// captured is what Bazel 4.2.3 has printed of two packages with about all kinds
// of targets.
func captured(t testing.TB) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/targets.pb")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// text writes records for people.
func text(records map[string]*record) string {
	var b strings.Builder
	for _, dir := range slices.Sorted(maps.Keys(records)) {
		r := records[dir]
		fmt.Fprintf(&b, "package %s loads %q\n", r.build, r.loaded)
		for _, x := range r.rules {
			fmt.Fprintf(&b, "  %s %s %.8s manual=%t native=%t\n    %s\n", x.class, x.name, x.attrs, x.manual, x.native, strings.Join(x.inputs, "\n    "))
		}
		for _, name := range slices.Sorted(maps.Keys(r.files)) {
			fmt.Fprintf(&b, "  file %s %.8s\n", name, r.files[name])
		}
		for _, name := range slices.Sorted(maps.Keys(r.generated)) {
			fmt.Fprintf(&b, "  generated %s by %s\n", name, r.generated[name])
		}
		for _, g := range r.groups {
			fmt.Fprintf(&b, "  group %s %.8s %q\n", g.name, g.attrs, g.deps)
		}
	}
	return b.String()
}

func TestParse(t *testing.T) {
	records, err := parse(captured(t), "")
	if err != nil {
		t.Fatal(err)
	}
	got := text(records)
	if *update {
		if err := os.WriteFile("testdata/targets.txt", []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/targets.txt")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("(-want +got; -update writes it)\n%s", diff)
	}
}

// message makes a message of fields: texts and numbers.
func message(fields ...any) []byte {
	var b []byte
	for i := 0; i < len(fields); i += 2 {
		n := uint64(fields[i].(int))
		switch v := fields[i+1].(type) {
		case int:
			b = binary.AppendUvarint(binary.AppendUvarint(b, n<<3), uint64(v))
		case string:
			b = append(binary.AppendUvarint(binary.AppendUvarint(b, n<<3|2), uint64(len(v))), v...)
		case []byte:
			b = append(binary.AppendUvarint(binary.AppendUvarint(b, n<<3|2), uint64(len(v))), v...)
		case float64:
			b = append(binary.AppendUvarint(b, n<<3|1), make([]byte, 8)...)
		case float32:
			b = append(binary.AppendUvarint(b, n<<3|5), make([]byte, 4)...)
		}
	}
	return b
}

func stream(messages ...[]byte) []byte {
	var b []byte
	for _, m := range messages {
		b = append(binary.AppendUvarint(b, uint64(len(m))), m...)
	}
	return b
}

// ruleOf makes a target of a rule.
func ruleOf(name string, more ...any) []byte {
	return message(1, 1, 2, message(append([]any{1, name, 2, "own"}, more...)...))
}

func mustRule(t *testing.T, target []byte) rule {
	t.Helper()
	records, err := parse(stream(target), "shop")
	if err != nil {
		t.Fatal(err)
	}
	if r := records["a"]; r != nil && len(r.rules) == 1 {
		return r.rules[0]
	}
	t.Fatal("there is not one rule in //a")
	return rule{}
}

// Later versions print more, and spell labels in another way.
func TestWhatLaterVersionsPrint(t *testing.T) {
	plain := mustRule(t, ruleOf("//a:x", 5, "//b:y", 5, "@r//:z"))
	for name, target := range map[string][]byte{
		"unknown fields":       message(99, "?", 98, 1.5, 97, float32(1), 1, 1, 2, message(1, "//a:x", 2, "own", 5, "//b:y", 5, "@r//:z", 13, "stack", 99, 7, 3, "/home/x:1:1")),
		"canonical labels":     ruleOf("@@//a:x", 5, "@@//b:y", 5, "@@r//:z"),
		"main repository":      ruleOf("@//a:x", 5, "@//b:y", 5, "@r//:z"),
		"the workspace's name": ruleOf("@shop//a:x", 5, "@shop//b:y", 5, "@r//:z"),
		"a short label":        ruleOf("//a:x", 5, "//b:y", 5, "@r//:z", 5, "@r//:z"),
	} {
		if diff := cmp.Diff(fmt.Sprint(plain), fmt.Sprint(mustRule(t, target))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestAttributes(t *testing.T) {
	attr := func(name string, more ...any) []byte { return message(append([]any{1, name, 2, 5}, more...)...) }
	of := func(attrs ...[]byte) string {
		var more []any
		for _, a := range attrs {
			more = append(more, 4, a)
		}
		return string(mustRule(t, ruleOf("//a:x", more...)).attrs)
	}
	for name, x := range map[string]struct {
		one, other string
		same       bool
	}{
		"order of attributes":     {of(attr("a"), attr("b")), of(attr("b"), attr("a")), true},
		"order of tags":           {of(attr("tags", 6, "a", 6, "b")), of(attr("tags", 6, "b", 6, "a")), true},
		"order of others":         {of(attr("srcs", 6, "a", 6, "b")), of(attr("srcs", 6, "b", 6, "a")), false},
		"where a macro is called": {of(attr("generator_location", 5, "a/BUILD:1")), of(attr("generator_location", 5, "a/BUILD:2")), true},
		"said or by default":      {of(attr("a", 5, "x", 13, 1)), of(attr("a", 5, "x", 13, 0)), true},
		"a value":                 {of(attr("a", 5, "x")), of(attr("a", 5, "y")), false},
		"a name":                  {of(attr("a", 5, "x")), of(attr("b", 5, "x")), false},
		"a number":                {of(attr("a", 3, 1)), of(attr("a", 3, 2)), false},
		"where a text ends":       {of(attr("a", 6, "xy", 6, "z")), of(attr("a", 6, "x", 6, "yz")), false},
		"a dictionary":            {of(attr("a", 8, message(1, "k", 2, "v"))), of(attr("a", 8, message(1, "k", 2, "w"))), false},
		"a field of tomorrow":     {of(attr("a", 77, "x")), of(attr("a", 77, "y")), false},
	} {
		if (x.one == x.other) != x.same {
			t.Errorf("%s: same is %t", name, !x.same)
		}
	}
	if r := mustRule(t, ruleOf("//a:x", 4, attr("tags", 6, "manual"), 4, attr("visibility", 20, 1, 6, "//b:friends", 6, "//c:__pkg__", 6, "//visibility:public"))); !r.manual || fmt.Sprint(r.inputs) != "[//b:friends]" || r.native {
		t.Errorf("got %+v", r)
	}
	if r := mustRule(t, ruleOf("//a:x", 4, attr("$rule_implementation_hash", 5, "1f"))); !r.native {
		t.Errorf("the digest of its code is not enough")
	}
}

func TestRubbish(t *testing.T) {
	for name, b := range map[string][]byte{
		"a length beyond the end": {5, 1},
		"a huge length":           binary.AppendUvarint(nil, 1<<63),
		"an endless number":       {3, 0x80, 0x80, 0x80},
		"a number too long":       append([]byte{11}, slices.Repeat([]byte{0xff}, 11)...),
		"a group":                 stream([]byte{2<<3 | 3}),
		"field zero":              stream([]byte{0, 0}),
		"half a number":           stream([]byte{1<<3 | 1, 0}),
		"half a small number":     stream([]byte{1<<3 | 5, 0}),
		"inside of a rule":        stream(message(2, []byte{1<<3 | 2, 9})),
		"inside of an attribute":  stream(ruleOf("//a:x", 4, []byte{1<<3 | 2, 9})),
	} {
		if _, err := parse(b, ""); !errors.Is(err, errWire) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, b := range map[string][]byte{
		"no label":                 stream(ruleOf("x")),
		"another repository's":     stream(ruleOf("@r//a:x")),
		"a control character":      stream(ruleOf("//a:x\x1b[31m")),
		"a name that is too long":  stream(ruleOf("//a:" + strings.Repeat("x", 600))),
		"an input that is nothing": stream(ruleOf("//a:x", 5, "y")),
	} {
		if _, err := parse(b, ""); err == nil || errors.Is(err, errWire) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzParse: no bytes break the reader, and what it reads it reads alike twice.
func FuzzParse(f *testing.F) {
	f.Add(captured(f))
	f.Add(stream(ruleOf("//a:x", 5, "//b:y"), message(3, message(1, "//a:BUILD", 3, "//:x.bzl"))))
	f.Add([]byte{5, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		one, err := parse(b, "w")
		other, again := parse(b, "w")
		if (err == nil) != (again == nil) || err == nil && text(one) != text(other) {
			t.Error("it reads differently")
		}
	})
}
