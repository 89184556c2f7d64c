package conflict_test

import (
	"testing"

	"github.com/submitqueue/submitqueue/conflict"
)

func TestPurposes(t *testing.T) {
	for file, want := range map[string][2]int{
		"a/main.go": {0, 0}, "a/main_test.go": {0, 1}, "go.mod": {1, 0}, "a/go.sum": {1, 0}, "tools/rules.bzl": {1, 0}, "a/BUILD": {1, 0},
		"x/tests/a.rs": {0, 1}, "x/tests/Cargo.toml": {1, 1}, "web/app.spec.ts": {0, 1}, "web/app.ts": {0, 0}, "py/test_a.py": {0, 1},
		"java/FooTest.java": {0, 1}, "latest/protest.go": {0, 0}, "contest_a.go": {0, 0}, "third/BUILD.gn": {1, 0}, "builder/BUILDER": {0, 0},
	} {
		if builds, tests := conflict.Purposes([]string{file}); builds != want[0] || tests != want[1] {
			t.Errorf("%s: %d build files and %d of tests, want %v", file, builds, tests, want)
		}
	}
	if builds, tests := conflict.Purposes([]string{"go.mod", "a_test.go", "b_test.go"}); builds != 1 || tests != 2 {
		t.Errorf("%d and %d", builds, tests)
	}
}
