package config_test

import (
	"testing"

	"github.com/submitqueue/submitqueue/queue/config"
)

func TestReporter(t *testing.T) {
	for _, test := range []struct{ run, before, last string }{
		{"go test -json {targets}", "", "go test -json {targets}"},
		{"CGO_ENABLED=0 go test -json -race {targets}\n", "", "CGO_ENABLED=0 go test -json -race {targets}"},
		{"go vet {targets} && go test -json {targets}", "go vet {targets}", "go test -json {targets}"},
		{"go vet {targets} &&\n  go test -json {targets}\n", "go vet {targets}", "go test -json {targets}"},
		{"go vet \\\n {targets} && make 'a b' \"$X\" && go test -json {targets}", "go vet \\\n {targets} && make 'a b' \"$X\"", "go test -json {targets}"},

		{"go test -json {targets} && go vet {targets}", "", ""}, // go vet may not have run
		{"go test {targets} -json && echo done", "", ""},
		{"go test -json {targets}; go vet {targets}", "", ""},
		{"go vet {targets}; go test -json {targets}", "", ""},
		{"set -e\ngo vet {targets}\ngo test -json {targets}", "", ""},
		{"go test -json {targets}\ngo vet {targets}", "", ""},
		{"go test -json {targets} | tee log", "", ""},
		{"go test -json {targets} || go vet {targets}", "", ""},
		{"go test -json {targets} &", "", ""},
		{"(go test -json {targets})", "", ""},
		{"{ go test -json {targets}; }", "", ""},
		{"! go test -json {targets}", "", ""},
		{"if go test -json {targets}; then go vet {targets}; fi", "", ""},
		{"trap 'go vet {targets}' EXIT && go test -json {targets}", "", ""},
		{"go test -json $(go list {targets})", "", ""},
		{"go test -json `go list {targets}`", "", ""},
		{"go test -json \"$(ls)\"", "", ""},
		{"go test -json ${X} {targets}", "", ""},
		{"go test -json {targets} # go vet", "", ""},
		{"go test -json {targets} > log", "", ""},
		{"go test -json 'a", "", ""},
		{"./test.sh {targets}", "", ""},
		{"make test-json", "", ""},
		{"go test {targets}", "", ""},
		{"go test {targets} -args -json", "", ""},
		{"&& go test -json {targets}", "", ""},
		{"go vet &&", "", ""},
		{"", "", ""},
	} {
		before, last, ok := (config.Step{Run: test.run, Report: config.ReportGoTestJSON}).Reporter()
		if before != test.before || last != test.last || ok != (test.last != "") {
			t.Errorf("%q: %q, %q, %v", test.run, before, last, ok)
		}
	}
}
