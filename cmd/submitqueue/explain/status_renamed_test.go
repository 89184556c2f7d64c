package explain

import (
	"bytes"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
)

// What is said of a queue whose branch was renamed is in what status prints.
func TestStatusOfARenamedBranch(t *testing.T) {
	var out bytes.Buffer
	q := statusQueue()
	q.Name, q.Away = "shop@main", "waiting: the branch main was renamed to trunk; everything keeps its place: serve the new name (--branch trunk), or give the branch its old name"
	sheet{Sheet: print.Sheet{Out: &out, Width: 400, Now: noon(0)}}.queue(q)
	if want := q.Name + ": " + q.Away + "\n"; !strings.HasPrefix(out.String(), want) {
		t.Errorf("want first:\n%s\ngot:\n%s", want, out.String())
	}
}
