package texts_test

import (
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/queue"
)

// BenchmarkFailingLine reads a tail of forty lines of which none is telling: lists read one
// for each rejected change.
func BenchmarkFailingLine(b *testing.B) {
	f := queue.Evidence{Step: "unit", Tail: strings.Repeat("INFO some line of a log that says nothing of a failure, as most do\n", 40)}
	for b.Loop() {
		texts.FailingLine(f)
	}
}

func TestFailingLine(t *testing.T) {
	for _, c := range []struct{ output, want string }{
		{"=== RUN   TestCart\n    cart_test.go:41: total is 0\n--- FAIL: TestCart (0.01s)\nFAIL\n", "cart_test.go:41: total is 0"},
		{"# example.com/r/api\napi/a.go:4:11: syntax error: unexpected {, expected )\nFAIL\n", "api/a.go:4:11: syntax error: unexpected {, expected )"},
		{"   Compiling shop v0.1.0\nerror[E0308]: mismatched types\n --> src/lib.rs:2:5\nerror: could not compile `shop`\n", "error[E0308]: mismatched types"},
		{"running 1 test\nthread 'a' panicked at src/lib.rs:5:9:\nassertion failed\n", "thread 'a' panicked at src/lib.rs:5:9:"},
		{"FAIL src/a.test.js\n  ● cart › adds\n\n    expect(received)\n", "● cart › adds"},
		{"src/a.ts(3,7): error TS2322: Type 'string' is not assignable\n", "src/a.ts(3,7): error TS2322: Type 'string' is not assignable"},
		{"    def test_a():\n>       assert 1 == 2\nE       assert 1 == 2\n", "E assert 1 == 2"},
		{"TAP version 13\nok 1 - a\nnot ok 2 - b\n", "not ok 2 - b"},
		{"sh: gradle: not found\n", "sh: gradle: not found"},
		{"bad is there\n[submitqueue] failed after 1 s: step test: exit status 1\n", "bad is there"},
		{"Traceback (most recent call last):\n  File \"a.py\", line 1\nValueError: no\n", "ValueError: no"},
		{"\x1b[31mkeine Ahnung\x1b[0m\nFAIL\nexit status 1\n", "keine Ahnung"},
		{"FAIL\n", ""},
		{"", ""},
	} {
		if got := texts.FailingLine(queue.Evidence{Step: "unit", Tail: c.output}); got != c.want {
			t.Errorf("%q: %q, want %q", c.output, got, c.want)
		}
	}
}
