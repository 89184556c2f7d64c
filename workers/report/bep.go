package report

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/queue/config"
)

// bep reads the file that Bazel writes with --build_event_json_file: one event per line
// (src/main/java/com/google/devtools/build/lib/buildeventstream/proto/build_event_stream.proto
// in bazelbuild/bazel). A target is a label. A test has passed if its summary says so in every
// configuration, and any other target if it was built. Tests that are named for a target (those
// of an alias, of a suite) must all have passed.
type bep struct {
	tally
	step   config.Step
	labels map[string]string // label -> target
	tests  map[string]bool   // label and configuration: it is a test, and has passed
	needs  map[string][]need // target -> the tests that its completion names
	block  string            // the label of the output that is being printed
	blocks map[string]*Tail
	began  bool
	ended  bool   // the last event has come
	halted string // what has kept Bazel from its work; "": nothing
}

// outer are the exit codes of Bazel for what is not in the sources (bazel.build/run/scripts, "What
// exit code will I get?"): an interrupt, a lock, the environment here and elsewhere, remote
// execution, its cache, and the service that takes the results. A failure then says nothing of the
// sources.
var outer = map[int]bool{8: true, 9: true, 32: true, 34: true, 36: true, 38: true, 39: true, 45: true}

// need is a test that must have passed.
type need struct {
	id   string
	last bool
}

// bepEvent is the part of an event that is read.
type bepEvent struct {
	ID struct {
		Completed *bepID `json:"targetCompleted"`
		Summary   *bepID `json:"testSummary"`
	} `json:"id"`
	Children []struct {
		Summary *bepID `json:"testSummary"`
	} `json:"children"`
	Started *struct {
		Command string `json:"command"`
	} `json:"started"`
	Finished *struct {
		Exit struct {
			Name string `json:"name"`
			Code int    `json:"code"`
		} `json:"exitCode"`
	} `json:"finished"`
	Completed *struct {
		Success bool `json:"success"`
		Failure struct {
			Message string `json:"message"`
		} `json:"failureDetail"`
	} `json:"completed"`
	Aborted *struct {
		Reason      string `json:"reason"`
		Description string `json:"description"`
	} `json:"aborted"`
	Summary *struct {
		Status string `json:"overallStatus"`
		Millis string `json:"totalRunDurationMillis"`
	} `json:"testSummary"`
	Last bool `json:"lastMessage"`
}

type bepID struct {
	Label         string `json:"label"`
	Aspect        string `json:"aspect"`
	Configuration struct {
		ID string `json:"id"`
	} `json:"configuration"`
}

func (i bepID) key() string { return i.Label + "\x00" + i.Configuration.ID }

func bepOf(_ fs.FS, step config.Step, targets []string) (Reader, error) {
	b := &bep{tally: newTally(targets), step: step, labels: byToolName(step, targets), tests: map[string]bool{}, needs: map[string][]need{}, blocks: map[string]*Tail{}}
	for label, target := range b.labels { // Bazel writes @@//a:b, @//a:b and //a:b of the main repository
		b.labels[bare(label)] = target
	}
	return b, nil
}

// bare returns a label of the main repository without the name of the repository, and with the
// name of its rule.
func bare(label string) string {
	if rest := strings.TrimLeft(label, "@"); strings.HasPrefix(rest, "//") {
		label = rest
	}
	if !strings.HasPrefix(label, "//") || strings.Contains(label, ":") {
		return label
	}
	return label + ":" + label[strings.LastIndex(label, "/")+1:]
}

const (
	blockBegins = "==================== Test output for "
	blockEnds   = "================================================================================"
)

// Line implements Reader: it keeps the output of tests that `--test_output=errors` prints.
func (b *bep) Line(text string, _ bool, tidy func(string) string) []string {
	said := tidy(text)
	if rest, ok := strings.CutPrefix(said, blockBegins); ok {
		label, _, _ := strings.Cut(strings.TrimSuffix(rest, ":"), " ")
		b.block = ""
		if _, asked := b.labels[bare(label)]; asked {
			b.block = bare(label)
			if b.blocks[b.block] == nil {
				b.blocks[b.block] = &Tail{}
			}
		}
		return []string{said}
	}
	if said == blockEnds {
		b.block = ""
	} else if b.block != "" {
		b.blocks[b.block].Add(said)
	}
	return []string{said}
}

// File implements Reader.
func (b *bep) File(_ string, content io.Reader, last bool, tidy func(string) string) error {
	b.began, b.ended = false, false
	n := 0
	err := eachLine(content, func(text string) error {
		n++
		var e bepEvent
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			return fmt.Errorf("line %d is no event of Bazel: %w", n, err)
		}
		b.event(e, last, tidy)
		return nil
	})
	switch {
	case err != nil:
		b.lost = true
	case !b.began:
		err, b.lost = fmt.Errorf("it holds no event of Bazel"), true
	case !b.ended:
		err, b.lost = fmt.Errorf("its last event is missing: Bazel has not written all of it"), true
	}
	return err
}

func (b *bep) event(e bepEvent, last bool, tidy func(string) string) {
	b.began = b.began || e.Started != nil
	b.ended = b.ended || e.Last
	if f := e.Finished; f != nil && outer[f.Exit.Code] {
		b.halted = tidy(fmt.Sprintf("Bazel was kept from its work: %.60s (exit code %d)", f.Exit.Name, f.Exit.Code))
	}
	switch {
	case e.ID.Summary != nil && e.Summary != nil:
		b.summary(*e.ID.Summary, e, tidy)
	case e.ID.Completed != nil:
		b.completed(*e.ID.Completed, e, last, tidy)
	}
}

// summary takes the results of all runs of a test.
func (b *bep) summary(id bepID, e bepEvent, tidy func(string) string) {
	target := b.labels[bare(id.Label)]
	millis, _ := strconv.ParseFloat(e.Summary.Millis, 64) // 0, if it makes no sense
	took := seconds(millis / 1000)
	switch e.Summary.Status {
	case "PASSED", "FLAKY":
		b.tests[id.key()] = true
		if c := b.targets[target]; c != nil {
			c.flaked = c.flaked || e.Summary.Status == "FLAKY"
			c.add(took)
		}
	case "FAILED", "TIMEOUT", "FAILED_TO_BUILD":
		b.failed(target, took, tidy(e.Summary.Status+" "+id.Label))
	}
}

// completed takes the end of a target's build.
func (b *bep) completed(id bepID, e bepEvent, last bool, tidy func(string) string) {
	target := b.labels[bare(id.Label)]
	switch {
	case e.Completed != nil && e.Completed.Success:
		if target == "" || id.Aspect != "" {
			return
		}
		b.pass(target, last, 0)
		for _, child := range e.Children {
			if child.Summary != nil {
				b.needs[target] = append(b.needs[target], need{child.Summary.key(), last})
			}
		}
	case e.Completed != nil:
		b.failed(target, 0, append([]string{tidy("FAILED TO BUILD " + id.Label)}, tidied(e.Completed.Failure.Message, tidy)...)...)
	case e.Aborted != nil && (e.Aborted.Reason == "ANALYSIS_FAILURE" || e.Aborted.Reason == "LOADING_FAILURE"):
		b.failed(target, 0, append([]string{tidy(e.Aborted.Reason + " " + id.Label)}, tidied(e.Aborted.Description, tidy)...)...)
	case e.Aborted != nil && target != "":
		b.targets[target].open++ // it was stopped before its end
	}
}

// failed notes a failure of a target, also of one that was not asked for.
func (b *bep) failed(target string, took time.Duration, lines ...string) {
	if target == "" {
		b.stray = true
		return
	}
	b.fail(target, took, lines...)
}

// Trouble implements troubled.
func (b *bep) Trouble() string { return b.halted }

// Of implements Reader.
func (b *bep) Of(target string) (Result, bool) {
	r := b.result(target)
	for _, n := range b.needs[target] {
		if !b.tests[n.id] {
			r.Passed, r.Late, r.Flaked = false, false, false
		}
	}
	if r.Failed {
		if block := b.blocks[bare(b.step.ToolName(target))]; block != nil {
			var t Tail
			addAll(&t, linesOf(r.Tail))
			addAll(&t, block.lines)
			r.Tail = t.String()
		}
	}
	return r, named(b.step, target)
}
