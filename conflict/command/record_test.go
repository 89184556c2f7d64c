package command

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/internal/layout"
)

func TestWhatIsRefused(t *testing.T) {
	for line, want := range map[string]string{
		`{}`:                                            "the field \"target\" is missing",
		`[]`:                                            "not a JSON object",
		`{"target":"a"`:                                 "does not end in its line",
		`{"target":"a"} {}`:                             "something follows",
		`{"target":"a",}`:                               "not JSON",
		`{"target":"a","Kind":"b"}`:                     `the field "Kind" is not known`,
		`{"target":"a","target":"b"}`:                   "there twice",
		`{"target":5}`:                                  "not a text",
		`{"target":null}`:                               "not a text",
		`{"target":"a","deps":"b"}`:                     "not a list of texts",
		`{"target":"a","deps":null}`:                    "not a list of texts",
		`{"target":"a","deps":[null]}`:                  "is empty",
		`{"target":"a","internal":1}`:                   "not true or false",
		`{"target":"tree"}`:                             "reserved",
		`{"target":"unowned"}`:                          "reserved",
		`{"target":"def:x"}`:                            "reserved",
		`{"target":"list:./x"}`:                         "reserved",
		`{"target":"a","deps":["def:x"]}`:               "reserved",
		`{"target":"a b"}`:                              "has the character",
		`{"target":"a$(x)"}`:                            "has the character",
		`{"target":"-rf"}`:                              "begins with -",
		`{"target":"a","sources":["../x"]}`:             "not a path",
		`{"target":"a","sources":["/x"]}`:               "not a path",
		`{"target":"a","reads":["x/../y"]}`:             "not a path",
		`{"target":"a","inputs":[""]}`:                  "not a path",
		"{\"target\":\"\xff\"}":                         "not UTF-8",
		`{"target":"` + strings.Repeat("a", 600) + `"}`: "longer than",
	} {
		_, err := parse([]byte("{\"target\":\"ok\"}\r\n" + line + "\n"))
		if err == nil || !strings.HasPrefix(err.Error(), "line 2: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
	_, err := parse([]byte("{\"target\":\"a\"}\n\n{\"target\":\"a\"}"))
	if err == nil || err.Error() != `line 3: the target "a" is that of line 1: {"target":"a"}` {
		t.Errorf("got %v", err)
	}
	for _, out := range []string{"", "\n\n", `{"target":"a","internal":true}`} {
		if _, err := parse([]byte(out)); err == nil {
			t.Errorf("%q was taken for a graph", out)
		}
	}
}

func TestPathsThatAreNotThere(t *testing.T) {
	records, err := parse([]byte(`{"target":"a","sources":["gone","gone/"],"inputs":["no/"],"reads":["nope","dir/"]}`))
	if err != nil {
		t.Fatal(err)
	}
	a := &Analyzer{}
	before, err := a.graph(records, nil, listing{Layout: layout.New(nil)})
	if err != nil {
		t.Fatal(err)
	}
	after, err := a.graph(records, nil, listing{Layout: layout.New([]conflict.Entry{{Path: "gone", Mode: "100644", OID: "1"}})})
	if err != nil {
		t.Fatal(err)
	}
	if before.Targets[0].Sources[0] == after.Targets[0].Sources[0] {
		t.Error("a file that appears changes nothing")
	}
	if r := before.Targets[0].Reads; len(r) != 2 || r[0] != "def:nope" || r[1] != "list:./dir" || len(before.Definitions) != 1 {
		t.Errorf("reads %q, definitions %v", r, before.Definitions)
	}
}

func TestAttrsAreCanonical(t *testing.T) {
	one, _ := canonical([]byte(`{"b": 1.0, "a": [ 1e400 ]}`))
	two, _ := canonical([]byte(`{"a":[1e400],"b":1.0}`))
	if one != two || one != `{"a":[1e400],"b":1.0}` {
		t.Errorf("%s, %s", one, two)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"target":"a","deps":["b"],"sources":["x/"],"inputs":["y"],"reads":["./"],"attrs":{"a":[1,null]},"internal":false,"alias":"z","kind":"k"}`,
		"{}", "{\"target\":\"a\"}\n{\"target\":\"a\"}", "[[[[", "{\"target\":\"\u202e\"}", "\x00", `{"attrs":` + strings.Repeat("[", 100)} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, out []byte) {
		records, err := parse(out)
		if err != nil {
			text := err.Error()
			if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }) {
				t.Fatalf("the message cannot be shown: %q", text)
			}
			if len(text) > 3000 {
				t.Fatalf("the message has %d bytes", len(text))
			}
			return
		}
		names := map[string]bool{}
		for _, r := range records {
			if names[r.target] || r.target == "" || reserved(r.target) {
				t.Fatalf("the name %q was taken", r.target)
			}
			names[r.target] = true
		}
		if _, err := (&Analyzer{}).graph(records, nil, listing{Layout: layout.New(nil)}); err != nil {
			t.Fatal(err)
		}
	})
}
