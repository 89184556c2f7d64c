package config_test

import (
	"os/exec"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/queue/digest"
)

// mustDifferByField changes each exported field of a value by itself and fails
// where the digest stays.
func mustDifferByField[T any](t *testing.T, base T, sum func(T) digest.Digest) {
	t.Helper()
	typ := reflect.TypeFor[T]()
	seen := map[digest.Digest]string{sum(base): "none"}
	for i := range typ.NumField() {
		changed := base
		if typ.Field(i).Name == "StrictNew" { // says how many steps there are, and nothing of what one has passed
			continue
		}
		field := reflect.ValueOf(&changed).Elem().Field(i)
		switch field.Kind() {
		case reflect.String:
			field.SetString(field.String() + "x")
		case reflect.Int, reflect.Int64:
			field.SetInt(field.Int() + 1)
		case reflect.Struct:
			field.Field(0).SetString("x")
		case reflect.Slice:
			list := reflect.MakeSlice(field.Type(), 1, 1)
			switch {
			case list.Index(0).Type() == reflect.TypeFor[config.Cache]():
				list.Index(0).Set(reflect.ValueOf(config.Cache{Paths: []string{"x"}}))
			case list.Index(0).Type() == reflect.TypeFor[config.Quarantine]():
				list.Index(0).Set(reflect.ValueOf(config.Quarantine{Targets: []string{"x"}}))
			case list.Index(0).Kind() == reflect.Struct:
				list.Index(0).Field(0).SetString("x")
			default:
				list.Index(0).SetString("x")
			}
			field.Set(list)
		case reflect.Map:
			field.Set(reflect.ValueOf(map[string]string{"x": ""}))
		default:
			t.Fatalf("%s.%s: teach this test its kind", typ, typ.Field(i).Name)
		}
		d := sum(changed)
		if other, twice := seen[d]; twice {
			t.Errorf("%s: a change of field %s has the digest of a change of %s", typ, typ.Field(i).Name, other)
		}
		seen[d] = typ.Field(i).Name
	}
}

func TestStepDigest(t *testing.T) {
	mustDifferByField(t, config.Step{}, config.Step.Digest)
	mustDifferByField(t, config.Step{Name: "unit", Run: "go test", Scope: config.ScopeTargets, Report: config.ReportExitCode, Image: "i",
		OS: "linux", Arch: "arm64", Tags: []string{"a"}, Env: map[string]string{"A": "1"}, Timeout: 1}, config.Step.Digest)
	mustDifferByField(t, config.Step{Name: "unit", Analyzer: "web", Dir: "web"}, config.Step.Digest)
	mustDifferByField(t, config.Step{Name: "unit", Checks: []config.Check{{Name: "test"}}, Analyzer: "web", Tags: []string{"a"}}, config.Step.Digest)

	same := func(a, b config.Step) bool { return a.Digest() == b.Digest() }
	if !same(config.Step{Tags: []string{"a", "b"}}, config.Step{Tags: []string{"b", "a"}}) {
		t.Error("the order of the tags is in the digest")
	}
	if !same(config.Step{}, config.Step{Tags: []string{}, Env: map[string]string{}}) {
		t.Error("none and empty have different digests")
	}
	if !same(config.Step{Checks: []config.Check{{Name: "a"}, {Name: "B"}}}, config.Step{Checks: []config.Check{{Name: "b"}, {Name: "A"}}, Counts: config.CountsAsked, Appear: config.DefaultAppear}) {
		t.Error("the order of checks, the case of their letters or a written default is in the digest")
	}
	if !same(config.Step{Checks: []config.Check{{Name: "a", App: "y"}, {Name: "A", App: "x"}}}, config.Step{Checks: []config.Check{{Name: "a", App: "x"}, {Name: "a", App: "y"}}}) {
		t.Error("the order of checks of one name is in the digest")
	}
	if got := (config.Step{Name: "unit", Run: "make", Scope: config.ScopeTargets, Report: config.ReportExitCode, Timeout: time.Hour}).Digest(); got != "5f22f6f91d5672f3431dd34e75290f8e0c28eb77fd7f360d5f26e6c69c2a7936" {
		t.Errorf("the digest of a step without checks has changed to %s: what has passed would be forgotten", got)
	}
	if got := (config.Step{Name: "unit", Checks: []config.Check{{Name: "test"}, {Name: "Lint"}}, Rerun: 1, Scope: config.ScopeTargets, Report: config.ReportExitCode, Timeout: time.Hour}).Digest(); got != "436585c9df751e913048b54a50a1fadd60a4fcf44d1423b81b6af82d137f701a" {
		t.Errorf("the digest of a step whose checks name no App has changed to %s: what has passed would be forgotten", got)
	}
	for _, pair := range [][2]config.Step{
		{{Checks: []config.Check{{Name: "a"}}}, {Checks: []config.Check{{Name: "a", App: "x"}}}},
		{{Checks: []config.Check{{Name: "a", App: "x"}}}, {Checks: []config.Check{{Name: "a", App: "y"}}}},
		{{Checks: []config.Check{{Name: "a", App: "x"}, {Name: "b"}}}, {Checks: []config.Check{{Name: "a"}, {Name: "b", App: "x"}}}},
		{{Checks: []config.Check{{Name: "a", App: "x"}}}, {Checks: []config.Check{{Name: "a"}, {Name: "x"}}}},
		{{Checks: []config.Check{{Name: "a"}, {Name: "b"}}}, {Checks: []config.Check{{Name: "a b"}}}},
		{{Checks: []config.Check{{Name: "a"}}}, {Tags: []string{"a"}}},
		{{Tags: []string{"a", "b"}}, {Env: map[string]string{"a": "b"}}},
		{{Tags: []string{"a"}, Env: map[string]string{"b": "c"}}, {Tags: []string{"a", "b", "c"}}},
		{{Tags: []string{"a b"}}, {Tags: []string{"a", "b"}}},
		{{Env: map[string]string{"a": "b", "c": "d"}}, {Env: map[string]string{"a": "d", "c": "b"}}},
		{{Env: map[string]string{"a": "b"}}, {Env: map[string]string{"ab": ""}}},
		{{Name: "ab"}, {Name: "a", Run: "b"}},
		{{Analyzer: "a"}, {Dir: "a"}},
		{{Analyzer: "a", Dir: "b"}, {Env: map[string]string{"a": "b"}}},
		{{Analyzer: "a", Dir: "b"}, {Tags: []string{"a", "b"}}},
	} {
		if same(pair[0], pair[1]) {
			t.Errorf("%+v and %+v have one digest", pair[0], pair[1])
		}
	}
	tags := []string{"b", "a"}
	config.Step{Tags: tags}.Digest()
	if tags[0] != "b" {
		t.Error("Digest sorts the step's own tags")
	}
}

func TestCommandFor(t *testing.T) {
	s := config.Step{Run: "test {targets} && lint {targets}"}
	want := `test 'a' 'b'\''; rm -rf /' '$(x)' && lint 'a' 'b'\''; rm -rf /' '$(x)'`
	if got := s.CommandFor([]string{"a", "b'; rm -rf /", "$(x)"}); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestStepOfAnAnalyzer(t *testing.T) {
	s := config.Step{Run: "test {targets}", Analyzer: "web", Dir: "it's/web"}
	names := []string{"tree", "unowned", "web:@shop/ui", "web:go:x"}
	if got, want := s.ToolNames(names), []string{"tree", "unowned", "@shop/ui", "go:x"}; !slices.Equal(got, want) {
		t.Errorf("tool names %q", got)
	}
	for _, c := range []struct {
		targets []string
		want    string
	}{
		{[]string{"web:@shop/ui", "web:it's"}, `cd './it'\''s/web' || exit 1` + "\n" + `test '@shop/ui' 'it'\''s'`},
		{[]string{"tree"}, `cd './it'\''s/web' || exit 1` + "\ntest ./..."},
		{[]string{"web:a", "unowned"}, `cd './it'\''s/web' || exit 1` + "\ntest ./..."},
	} {
		if got := s.CommandFor(c.targets); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
	s.Dir = "."
	if got := s.CommandFor([]string{"web:trees"}); got != "test 'trees'" {
		t.Errorf("got %s", got)
	}
	if got := s.CommandFor([]string{"web:tree", "web:a"}); got != "test ./..." {
		t.Errorf("a whole part: got %s", got)
	}
	for target, want := range map[string]string{"web:tree": "web", "tree": "", ":tree": "", "//lib:tree": "", "web:a:tree": "", "web:tree:a": ""} {
		if got, ok := config.WholePart(target); got != want || ok != (want != "") {
			t.Errorf("WholePart(%q) = %q, %v", target, got, ok)
		}
	}
}

// A POSIX shell reads the names of targets as they are, whatever is in them.
func TestCommandForHostileNames(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no sh here")
	}
	names := []string{"-rf", "$(touch pwned)", "`touch pwned`", "a\nb", `"\`, "''", "'", "a b", "*", "~", "{targets}", "é\u202e"}
	out, err := exec.Command(sh, "-c", config.Step{Run: `printf '<%s>\n' {targets}`}.CommandFor(names)).Output()
	want := ""
	for _, n := range names {
		want += "<" + n + ">\n"
	}
	if err != nil || string(out) != want {
		t.Errorf("%v: got %q, want %q", err, out, want)
	}
}
