package queue_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/queue"
)

func TestDepends(t *testing.T) {
	for text, want := range map[string]string{
		"depends on #12":                                     "[#12]",
		"Why.\r\n\r\nDepends-On: #12\r\n":                    "[#12]",
		"- [ ] **Depends on** #1, #2 and Acme/Shop#3 for it": "[#1 #2 acme/shop#3]",
		"* depends on: #1, and #1\nDepends on #4":            "[#1 #4]",
		"depends on #7.":                                     "[#7]",
		"It no longer depends on #12":                        "[]",
		"depends on the weather, see #12":                    "[]",
		"> depends on #12":                                   "[]",
		"`depends on #12`":                                   "[]",
		"    depends on #12":                                 "[]",
		"\tdepends on #12":                                   "[]",
		"```\ndepends on #12\n```\ndepends on #13":           "[#13]",
		"````md\n```\ndepends on #12\n````\ndepends on #13":  "[#13]",
		"~~~ a`b\ndepends on #12\n":                          "[]",
		"<!-- depends on #12 -->\ndepends on #13":            "[#13]",
		"<!--\ndepends on #12\n```\n-->\ndepends on #13":     "[#13]",
		"depends on #0, #1":                                  "[]",
		"depends on #99999999999999999999":                   "[]",
		"depends on #12a":                                    "[]",
		"depends on ../../x#12":                              "[]",
		"depends on a/b/c#12":                                "[]",
		"":                                                   "[]",
	} {
		refs, more := queue.Depends(text)
		if got := fmt.Sprint(refs); got != want || more {
			t.Errorf("%q: %s, more: %v, want %s", text, got, more, want)
		}
	}
}

func TestDependsOnTooMany(t *testing.T) {
	var b strings.Builder
	for n := range 10000 {
		fmt.Fprintf(&b, "depends on #%d, #%d\n", n+1, n+1)
	}
	refs, more := queue.Depends(b.String())
	if len(refs) != queue.MaxDepends || !more {
		t.Errorf("%d references, more: %v", len(refs), more)
	}
}

func FuzzDepends(f *testing.F) {
	f.Add("depends on #1, a/b#2 and #3\n```\n<!-- -->")
	f.Add("- [x] depends-on: #1\n> depends on #2\n<!--\n")
	f.Add(strings.Repeat("`", 5000) + strings.Repeat("<!--", 5000))
	f.Fuzz(func(t *testing.T, text string) {
		refs, more := queue.Depends(text)
		if len(refs) > queue.MaxDepends || more && len(refs) < queue.MaxDepends {
			t.Fatalf("%d references, more: %v", len(refs), more)
		}
		for i, r := range refs {
			if back, ok := queue.ParsePullRef(r.String()); !ok || back != r {
				t.Fatalf("%v is read as %v", r, back)
			}
			for _, other := range refs[:i] {
				if other == r {
					t.Fatalf("%v is there twice", r)
				}
			}
		}
		if quoted, _ := queue.Depends("> " + strings.ReplaceAll(text, "\n", "\n> ")); len(quoted) > 0 {
			t.Fatalf("quoted, it names %v", quoted)
		}
	})
}
