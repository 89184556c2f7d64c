package report

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"path"
	"time"

	"github.com/submitqueue/submitqueue/queue/config"
)

// jest reads the files of `jest --json --outputFile` and of Vitest's reporter json: one object
// with a result for each test file. A target is the package that the file is in. A package can
// pass although it skips tests.
type jest struct {
	noLines
	tally
	*owners
	fixed
	step config.Step
}

// jestReport is the part of the report that is read.
type jestReport struct {
	Results     []jestResult `json:"testResults"`
	Success     bool         `json:"success"`
	Interrupted bool         `json:"wasInterrupted"`
	// Of Jest alone, where suites are files: how many there are to run.
	Suites  int  `json:"numTotalTestSuites"`
	Runtime *int `json:"numRuntimeErrorTestSuites"`
}

type jestResult struct {
	Name       string  `json:"name"`
	Status     string  `json:"status"`
	Message    string  `json:"message"`
	Start      float64 `json:"startTime"` // milliseconds
	End        float64 `json:"endTime"`
	Assertions []struct {
		FullName string   `json:"fullName"`
		Status   string   `json:"status"`
		Failures []string `json:"failureMessages"`
	} `json:"assertionResults"`
}

func jestOf(files fs.FS, step config.Step, targets []string) (Reader, error) {
	o, err := newOwners(files, step, targets)
	return &jest{tally: newTally(targets), owners: o, step: step}, err
}

// File implements Reader.
func (j *jest) File(name string, content io.Reader, last bool, tidy func(string) string) error {
	var r jestReport
	if err := json.NewDecoder(content).Decode(&r); err != nil {
		j.lost = true
		return fmt.Errorf("it is no report of Jest or Vitest: %w", err)
	}
	if r.Results == nil {
		j.lost = true
		return fmt.Errorf("it is no report of Jest or Vitest: it has no testResults")
	}
	partial := r.Interrupted || r.Runtime != nil && len(r.Results) < r.Suites
	for _, file := range r.Results {
		j.take(file, last && !partial, tidy)
	}
	who := j.ofDir(path.Dir(name))
	if j.fixedTo != "" {
		who = owner{target: j.fixedTo, known: true}
	}
	if len(r.Results) == 0 && r.Success && who.known {
		j.pass(who.target, last && !partial, 0) // it has no tests, and has said so
	}
	if r.Interrupted {
		j.lost = true
		return fmt.Errorf("the run was interrupted")
	}
	return nil
}

// take counts the result of one test file.
func (j *jest) take(file jestResult, last bool, tidy func(string) string) {
	who, took := j.owners.of(file.Name), time.Duration(0)
	if j.fixedTo != "" {
		who = owner{target: j.fixedTo, known: true}
	}
	if file.End > file.Start {
		took = seconds((file.End - file.Start) / 1000)
	}
	failed := file.Status != "passed" && file.Status != "pending" && file.Status != "focused" && file.Status != "skipped" && file.Status != "todo"
	lines := tidied(file.Message, tidy)
	for _, a := range file.Assertions {
		if a.Status == "failed" {
			failed = true
			if file.Message == "" { // Vitest tells it here alone
				lines = append(lines, tidy("FAIL "+a.FullName))
				for _, f := range a.Failures {
					lines = append(lines, tidied(f, tidy)...)
				}
			}
		}
	}
	switch {
	case failed && !who.known:
		j.lost = true
	case failed:
		j.fail(who.target, took, append([]string{tidy("FAIL " + file.Name)}, lines...)...)
	case who.known:
		j.pass(who.target, last, took)
	}
}

// Of implements Reader.
func (j *jest) Of(target string) (Result, bool) { return j.result(target), named(j.step, target) }
