package demo

import (
	"testing"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

func TestFailure(t *testing.T) {
	evidence := func(tail string, targets ...string) *queue.Verdict {
		return &queue.Verdict{Failures: []queue.Evidence{{Step: "test", Targets: targets, Tail: tail}, {Step: "lint"}}}
	}
	for _, test := range []struct {
		verdict *queue.Verdict
		want    string
	}{
		{nil, ""},
		{&queue.Verdict{Commit: "c"}, ""},
		{&queue.Verdict{Conflicts: []string{"a", "b", "c", "d", "e"}}, "does not merge: a, b, c and 2 more"},
		{evidence(""), "step test failed"},
		{evidence("\n \n", config.TargetTree), "step test failed"},
		{&queue.Verdict{Failures: []queue.Evidence{{Step: "soak", Timeout: true, Tail: "still here"}}}, "step soak ran out of time: still here"},
		{evidence("=== RUN   TestCart\n    cart_test.go:41: total is 0\n--- FAIL: TestCart (0.01s)\nFAIL\n", "./core", "./api"),
			"step test failed on ./core, ./api: cart_test.go:41: total is 0"},
		{evidence("# example.com/shop/tax\nvet: ./tax.go:7:12: undefined: Rate\n", "./tax"), "step test failed on ./tax: vet: ./tax.go:7:12: undefined: Rate"},
		{evidence("make: entering\n\x1b[31merror\x1b[0m: no rule\nmake: leaving\n"), "step test failed: error: no rule"},
		{evidence("one\ntwo\n"), "step test failed: two"},
		{evidence("at 12:30:01: started\nterror\nTests failed: 3\nbye"), "step test failed: Tests failed: 3"},
	} {
		if got := failure(test.verdict); got != test.want {
			t.Errorf("%+v: %q, want %q", test.verdict, got, test.want)
		}
	}
}
