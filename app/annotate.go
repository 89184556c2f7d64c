package app

import (
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// place is a line of output that names a place in a file: "cart/cart.go:12:3: text", as
// compilers and test runners write it.
var place = regexp.MustCompile(`^(\s*)(?:vet: )?((?:\./)?[A-Za-z0-9_@+.\-/]*[A-Za-z0-9_\-]\.[A-Za-z0-9]+):([1-9][0-9]{0,6})(?::[0-9]+)?:? (.+)$`)

const (
	mostPlaces   = 10  // of one failure
	placeColumns = 400 // of one line
	mostRaw      = 30  // lines
)

// annotations returns what a check run says of failures in the files themselves: one
// annotation for each place that the output names plainly. Where it names none, there
// is one for the step as a whole, with the last lines of the output, at the
// configuration that asks for the step.
func annotations(c queue.Change) []forge.Annotation {
	if c.Verdict == nil || c.Phase != queue.Rejected && c.Phase != queue.Tried {
		return nil
	}
	var out []forge.Annotation
	for _, f := range c.Verdict.Failures {
		title := texts.FailureTitle(f)
		found := places(f)
		for i := range found {
			found[i].Title = title
		}
		if len(found) == 0 {
			text := lastLines(f.Output(), 10)
			if text == "" {
				text = "It left no output."
			}
			found = []forge.Annotation{{Path: config.Path, Line: 1, Title: title, Message: text, Details: lastLines(f.Output(), mostRaw)}}
		}
		out = append(out, found...)
	}
	return out[:min(len(out), forge.MostAnnotations)]
}

// places returns the places that a failure's output names, without a title.
func places(f queue.Evidence) []forge.Annotation {
	var out []forge.Annotation
	for line := range strings.Lines(f.Output()) {
		m := place.FindStringSubmatch(strings.TrimRight(line, "\r\n"))
		if m == nil || len(out) == mostPlaces {
			continue
		}
		file, ok := fileOf(m[2], m[1] != "", f.Targets)
		n, err := strconv.Atoi(m[3])
		if !ok || err != nil {
			continue
		}
		a := forge.Annotation{Path: file, Line: n, Message: texts.OneLine(m[4], placeColumns)}
		if !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	return out
}

// fileOf returns the path, from the repository's root, of a file that the output names.
// An indented line of go test names a file relative to the package's folder. That
// folder is known only where the failure is of one package.
func fileOf(name string, indented bool, targets []string) (string, bool) {
	file := path.Clean(name)
	if indented && !strings.Contains(file, "/") {
		if len(targets) != 1 || !strings.HasPrefix(targets[0], "./") && targets[0] != "." {
			return "", false
		}
		file = path.Join(targets[0], file)
	}
	return file, fs.ValidPath(file) && len(file) <= 300
}

// lastLines returns the last lines of a text, without control characters.
func lastLines(text string, n int) string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, texts.OneLine(line, placeColumns))
	}
	return strings.TrimSpace(strings.Join(lines[max(0, len(lines)-n):], "\n"))
}

// buttons returns what people can ask for at a change's check run.
func buttons(c queue.Change) []forge.Button {
	cancel := forge.Button{ID: forge.ButtonCancel, Label: "Cancel", Hint: "Take it out of the queue"}
	retry := forge.Button{ID: forge.ButtonRetry, Label: "Retry", Hint: "Forget failures and run them again"}
	switch c.Phase {
	case queue.Analyzing, queue.Pending:
		return []forge.Button{cancel}
	case queue.Parked:
		return []forge.Button{cancel, retry}
	case queue.Trying:
		cancel.Hint = "End the try"
		return []forge.Button{cancel}
	case queue.Rejected, queue.Cancelled:
		if c.Reason.Code != queue.ReasonClosed {
			return []forge.Button{retry}
		}
	case queue.Tried:
		if c.Reason.Code != queue.ReasonTried {
			return []forge.Button{retry}
		}
	}
	return nil
}
