package app

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
)

func TestPlacesInOutput(t *testing.T) {
	for name, test := range map[string]struct {
		tail    string
		targets []string
		want    []forge.Annotation
	}{
		"compiler":          {"# x/cart\ncart/cart.go:12:3: undefined: total\n", nil, []forge.Annotation{{Path: "cart/cart.go", Line: 12, Message: "undefined: total"}}},
		"here":              {"./main.go:2:1: syntax error\n", nil, []forge.Annotation{{Path: "main.go", Line: 2, Message: "syntax error"}}},
		"vet":               {"vet: cart/cart.go:1:2: bad\n", nil, []forge.Annotation{{Path: "cart/cart.go", Line: 1, Message: "bad"}}},
		"test of a package": {"--- FAIL: TestX (0.0s)\n    cart_test.go:7: got 3\r\n", []string{"./cart"}, []forge.Annotation{{Path: "cart/cart_test.go", Line: 7, Message: "got 3"}}},
		"of the root":       {"    x_test.go:7: got 3\n", []string{"."}, []forge.Annotation{{Path: "x_test.go", Line: 7, Message: "got 3"}}},
		"of several":        {"    cart_test.go:7: got 3\n", []string{"./cart", "./web"}, nil},
		"of another name":   {"    cart_test.go:7: got 3\n", []string{"go:./cart"}, nil},
		"rust, plain":       {"src/lib.rs:3:5: error: no\n", nil, []forge.Annotation{{Path: "src/lib.rs", Line: 3, Message: "error: no"}}},
		"outside":           {"/etc/passwd.go:1: x\n../a.go:1: x\na/../../b.go:2: x\n", nil, nil},
		"not a place":       {"10:20:30 hello\nhttp://x.y:80/ z\nerror: a b.go:x: y\nfile.go:0: zero\n", nil, nil},
		"hostile":           {"a.go:1: \x1b[31m<!-- x\u202e -->\n", nil, []forge.Annotation{{Path: "a.go", Line: 1, Message: "[31m‹!-- x -->"}}},
		"the configuration": {".submitqueue.yml:7:3: unknown key\n", nil, []forge.Annotation{{Path: ".submitqueue.yml", Line: 7, Message: "unknown key"}}},
	} {
		got := places(queue.Evidence{Tail: test.tail, Targets: test.targets})
		if d := cmp.Diff(test.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

// Whatever a log holds: few annotations, paths of the repository, short texts.
func FuzzAnnotations(f *testing.F) {
	f.Add("a.go:1: x\n", "./cart")
	f.Add("    a_test.go:1: x\n", ".")
	f.Add("../a.go:1: x\xff\n", "")
	f.Fuzz(func(t *testing.T, tail, target string) {
		e := queue.Evidence{Step: "unit", Tail: tail, Targets: []string{target}}
		all := annotations(queue.Change{Phase: queue.Rejected, Ending: queue.Ending{Verdict: &queue.Verdict{Failures: []queue.Evidence{e, e, e, e, e, e, e}}}})
		if len(all) == 0 || len(all) > forge.MostAnnotations {
			t.Fatalf("%d annotations", len(all))
		}
		for _, a := range all {
			if strings.HasPrefix(a.Path, "/") || strings.Contains(a.Path, "../") || a.Line < 1 || a.Message == "" ||
				utf8.RuneCountInString(a.Title) > 255 || len(a.Message) > 64<<10 || len(a.Details) > 64<<10 || strings.Contains(a.Message, "<!--") {
				t.Fatalf("%+v", a)
			}
		}
	})
}

func TestButtonsFit(t *testing.T) {
	for _, phase := range []queue.Phase{queue.Analyzing, queue.Pending, queue.Landing, queue.Parked, queue.Landed, queue.Rejected,
		queue.Cancelled, queue.NothingToLand, queue.Trying, queue.Tried} {
		list := buttons(queue.Change{Phase: phase})
		if len(list) > 3 {
			t.Errorf("%s: %d buttons", phase, len(list))
		}
		for _, b := range list {
			if len(b.ID) > 20 || len(b.Label) > 20 || len(b.Hint) > 40 {
				t.Errorf("%s: %+v is too long", phase, b)
			}
		}
	}
	if list := buttons(queue.Change{Phase: queue.Cancelled, Reason: queue.Reason{Code: queue.ReasonClosed}}); len(list) != 0 {
		t.Errorf("a closed pull request has %+v", list)
	}
}
