package github

import (
	"slices"
	"strings"
	"testing"
)

const ourPage = "https://github.com/acme/shop"

// What GitHub's documentation of closing keywords gives as examples, and what is none.
func TestClosing(t *testing.T) {
	for text, want := range map[string][]int{
		"":                             nil,
		"Closes #10":                   {10},
		"Fixes acme/shop#100":          {100},
		"Fixes Acme/SHOP#100":          {100},
		"Fixes octo-org/octo-repo#100": nil,
		"Resolves #10, resolves #123, resolves octo-org/octo-repo#100": {10, 123},
		"Closes: #10":       {10},
		"CLOSES #10":        {10},
		"CLOSES: #10":       {10},
		"closes #10 #11":    {10},
		"fixes #1 fixes #2": {1, 2},
		"close #1\nclosed #2\nfix #3\nfixed #4\nresolve #5\nresolved #6\nfixes #7\nresolves #8": {1, 2, 3, 4, 5, 6, 7, 8},
		"fixes #5,fixes #6":                     {5, 6},
		"fixes fixes #5":                        {5},
		"fixes #5é":                             nil,
		"fixes #5, fixes #5":                    {5},
		"(fixes #5).":                           {5},
		"* fixes #5":                            {5},
		"fixes " + ourPage + "/issues/5":        {5},
		"fixes " + ourPage + "/issues/5#note-1": {5},
		"fixes https://github.com/octo-org/octo-repo/issues/5":     nil,
		"fixes https://github.com.evil.example/acme/shop/issues/5": nil,
		"prefix #5":                            nil,
		"éfix #5":                              nil,
		"see #5":                               nil,
		"fixes#5":                              nil,
		"fixes # 5":                            nil,
		"fixes #5a":                            nil,
		"fixes #0":                             nil,
		"fixes #99999999999999999999":          nil,
		"fixes \\#5":                           nil,
		"closing #5":                           nil,
		"<!-- fixes #5 -->":                    nil,
		"<!-- fixes #5":                        nil,
		"<!-- x --> fixes #5 <!-- y -->":       {5},
		"`fixes #5`":                           nil,
		"``a ` fixes #5``":                     nil,
		"```\nfixes #5\n```\nfixes #6":         {6},
		"~~~ text\nfixes #5\n```\n~~~\nfix #6": {6},
		"```\nfixes #5":                        nil,
	} {
		if got := closing(text, "acme/shop", ourPage); !slices.Equal(got, want) {
			t.Errorf("%q closes %v, want %v", text, got, want)
		}
	}
}

// Whatever a description says: the numbers are positive, in order, each once, no more than
// are allowed, and each is named in the text.
func FuzzClosing(f *testing.F) {
	f.Add("Closes: #10, fixes acme/shop#3\n```\nfixes #5\n```\n<!-- resolves #7 --> `fix #1`")
	f.Add(strings.Repeat("fixes #1 ", 3) + "resolved " + ourPage + "/issues/2")
	f.Fuzz(func(t *testing.T, text string) {
		got := closing(text, "acme/shop", ourPage)
		if len(got) > mostClosed || !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) {
			t.Errorf("%q closes %v", text, got)
		}
		for _, n := range got {
			if n <= 0 || !issueNumber(text, n) {
				t.Errorf("%q closes %d", text, n)
			}
		}
		if more := closing("resolves #987654321\n\n"+text, "acme/shop", ourPage); len(got) < mostClosed && !slices.Contains(more, 987654321) {
			t.Errorf("%q hides what is before it: %v", text, more)
		}
	})
}

// issueNumber reports whether a text holds a number, with zeros before it or not.
func issueNumber(text string, n int) bool {
	return slices.ContainsFunc(strings.FieldsFunc(text, func(r rune) bool { return r < '0' || r > '9' }), func(digits string) bool {
		value := 0
		for _, d := range digits {
			if value = value*10 + int(d-'0'); value > 1e9 {
				return false
			}
		}
		return value == n
	})
}
