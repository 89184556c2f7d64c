package texts

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/queue"
)

// constantsOf returns the values of package queue's constants of a type, from its source.
func constantsOf(t *testing.T, name string) []string {
	t.Helper()
	files, err := filepath.Glob("../../queue/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			if typ, ok := spec.Type.(*ast.Ident); ok && typ.Name == name {
				for _, v := range spec.Values {
					s, err := strconv.Unquote(v.(*ast.BasicLit).Value)
					if err != nil {
						t.Fatal(err)
					}
					out = append(out, s)
				}
			}
			return true
		})
	}
	if len(out) < 5 {
		t.Fatalf("only %d constants of type %s found", len(out), name)
	}
	return out
}

// Without a full row, a change would wait or end and nobody be told why, or the
// documents have nothing to link to.
func TestEachReasonHasOneFullRow(t *testing.T) {
	rows, docs := map[queue.ReasonCode]int{}, map[string]bool{}
	for _, group := range [][]reasonRow{reasonsWaiting(), reasonsEnded(), reasonsParked(), reasonsRefused(), reasonsAnswered()} {
		for _, row := range group {
			rows[row.code]++
			if row.title == "" || row.full == nil {
				t.Errorf("%s has no full row", row.code)
			}
			if !regexp.MustCompile(`^reasons#[a-z-]+$`).MatchString(row.doc) || docs[row.doc] {
				t.Errorf("%s: its anchor is %q, which is none or another's", row.code, row.doc)
			}
			docs[row.doc] = true
			if Doc(row.code) != row.doc {
				t.Errorf("%s: Doc says %q", row.code, Doc(row.code))
			}
		}
	}
	codes := constantsOf(t, "ReasonCode")
	for _, code := range codes {
		if rows[queue.ReasonCode(code)] != 1 {
			t.Errorf("%s has %d rows, want 1", code, rows[queue.ReasonCode(code)])
		}
	}
	if len(rows) != len(codes) {
		t.Errorf("%d rows of %d reasons", len(rows), len(codes))
	}
}

// Without a row, a requirement would hold a pull request without a word of what to do.
func TestEachRequirementHasARow(t *testing.T) {
	kinds := constantsOf(t, "RequirementKind")
	for _, kind := range kinds {
		if row := requirements[queue.RequirementKind(kind)]; row.title == "" || row.full == nil {
			t.Errorf("%s has no full row", kind)
		}
	}
	if len(requirements) != len(kinds) {
		t.Errorf("%d rows of %d requirements", len(requirements), len(kinds))
	}
}

// Without a row, the help would omit a command; with a wrong one, it would name what is
// not understood.
func TestEachCommandIsInTheHelp(t *testing.T) {
	filled := strings.NewReplacer("LANE", "high", "METHOD", "squash", "@USER", "@bob", "REASON", "it burns", "UNTIL", "2h", "TARGET", "//cart:all")
	help, shown := voiceOf(Options{}).help(), map[queue.Verb]bool{}
	for _, row := range queue.Commands() {
		for _, form := range row.Forms {
			got := queue.ParseCommands(filled.Replace(form.Usage))
			if len(got) != 1 || got[0].Verb != row.Verb {
				t.Errorf("%s is read as %+v", form.Usage, got)
			}
			if !strings.Contains(help, "`"+form.Usage+"`") {
				t.Errorf("the help does not name %s", form.Usage)
			}
			shown[row.Verb] = true
		}
	}
	for _, verb := range constantsOf(t, "Verb") {
		typed := verb != string(queue.CommandUnknown) && verb != string(queue.CommandRecheck) && verb != string(queue.CommandAuto)
		if shown[queue.Verb(verb)] != typed {
			t.Errorf("%s: in the help %v, want %v", verb, !typed, typed)
		}
	}
}
