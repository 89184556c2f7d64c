package main

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

const sample = `what: one is two
test: go test ./queue -run TestOne$
expect: is not one
-- queue/one.go --
	return 1
====
	return 2
-- queue/one.go --
	return 2
====
	return 3
-- queue/two.go --
	check()
====
`

func TestAFaultIsPutBack(t *testing.T) {
	f, err := parse(".ci/faults/b7-one.txt", []byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	if f.id != "b7-one" || f.what != "one is two" || f.test != "go test ./queue -run TestOne$" || f.expect != "is not one" {
		t.Errorf("read as %+v", f)
	}
	source := map[string]string{"queue/one.go": "func one() int {\n\treturn 1\n}\n", "queue/two.go": "a()\n\tcheck()\nb()\n"}
	read := func(file string) ([]byte, error) { return []byte(source[file]), nil }
	files, err := f.apply(read)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := files["queue/one.go"], "func one() int {\n\treturn 3\n}\n"; got != want {
		t.Errorf("one.go is %q, want %q", got, want)
	}
	if got, want := files["queue/two.go"], "a()\n\nb()\n"; got != want {
		t.Errorf("two.go is %q, want %q", got, want)
	}
	for _, x := range []string{"", "\treturn 1\n\treturn 1\n"} {
		source["queue/one.go"] = x
		if _, err := f.apply(read); err == nil || !strings.Contains(err.Error(), "not once") {
			t.Errorf("put back into %q: %v", x, err)
		}
	}
}

func TestAFaultFileIsRefused(t *testing.T) {
	for from, to := range map[string]string{
		"what: one is two\n": "",
		"expect: ":           "expects: ",
		"go test ./queue":    "make",
		"====":               "===",
		"\treturn 1\n====":   "====",
	} {
		if f, err := parse("x.txt", []byte(strings.Replace(sample, from, to, 1))); err == nil {
			t.Errorf("with %q for %q it is read as %+v", to, from, f)
		}
	}
}

func TestOnlyTheExpectedFailureFindsAFault(t *testing.T) {
	failed := fmt.Errorf("go: %w", &exec.ExitError{})
	for _, x := range []struct {
		out  string
		err  error
		want string
	}{
		{"--- FAIL\n[rapid] failed after 17 tests: c1 is red at a\n", failed, ""},
		{"--- FAIL\nthe history of seed 17 fails, after 17 that do not: c1 is red at a\n", failed, ""},
		{"--- FAIL\nsomething else\n", failed, "does not say"},
		{"ok\n", nil, "not found"},
		{"ok queue 0.1s [no tests to run]\n", nil, "matches no test"},
		{"FAIL queue [build failed]\nis red at\n", failed, "does not compile"},
		{"is red at", errors.New("no time is left"), "no time is left"},
	} {
		r := result{fault: fault{expect: "is red at"}, histories: "-"}
		r.judge(x.out, x.err, options{})
		if x.want == "" && (r.err != nil || r.outcome != "found" || r.histories != "17") {
			t.Errorf("%q: %+v", x.out, r)
		}
		if x.want != "" && (r.err == nil || !strings.Contains(r.err.Error(), x.want)) {
			t.Errorf("%q: %v, want %q", x.out, r.err, x.want)
		}
	}
}
