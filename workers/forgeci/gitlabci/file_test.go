package gitlabci_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/workers/forgeci/gitlabci"
)

var build = gitlabci.Run{Branch: "submitqueue/main/1", Default: "main", Source: "push"}

// Whether a branch of builds gets a pipeline follows from the workflow rules, as far as
// they can be known.
func TestStarts(t *testing.T) {
	for rules, want := range map[string]gitlabci.Answer{
		"":                                gitlabci.Yes,
		"[]":                              gitlabci.No,
		"[{when: always}]":                gitlabci.Yes,
		"[{when: never}, {when: always}]": gitlabci.No,
		"[{if: $CI_COMMIT_BRANCH}]":       gitlabci.Yes,
		"[{if: $CI_COMMIT_TAG}, {if: '$CI_PIPELINE_SOURCE == \"merge_request_event\"'}, {if: $CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH}]": gitlabci.No,
		"[{if: $CI_COMMIT_BRANCH && $CI_OPEN_MERGE_REQUESTS, when: never}, {if: $CI_COMMIT_BRANCH}]":                                    gitlabci.Yes,
		`[{if: '$CI_COMMIT_BRANCH =~ /^submitqueue\//'}]`:                                                                               gitlabci.Yes,
		`[{if: '$CI_COMMIT_BRANCH !~ /^submitqueue\//'}]`:                                                                               gitlabci.No,
		`[{if: '$CI_COMMIT_REF_NAME =~ /^SUBMIT/i'}]`:                                                                                   gitlabci.Yes,
		`[{if: '${CI_COMMIT_REF_SLUG} == "submitqueue-main-1"'}]`:                                                                       gitlabci.Yes,
		"[{if: $RELEASE}]":                                                                 gitlabci.Maybe,
		"[{if: $RELEASE}, {when: always}]":                                                 gitlabci.Yes,
		"[{if: $RELEASE, when: never}, {when: always}]":                                    gitlabci.Maybe,
		"[{if: $RELEASE && $CI_COMMIT_TAG}]":                                               gitlabci.No,
		"[{if: $RELEASE || $CI_COMMIT_BRANCH}]":                                            gitlabci.Yes,
		"[{if: '($CI_COMMIT_TAG || $CI_COMMIT_BRANCH) && $CI_MERGE_REQUEST_IID == null'}]": gitlabci.Yes,
		"[{if: $OURS == 'yes'}]":                                                           gitlabci.Yes,
		"[{if: $THEIRS == 'yes'}]":                                                         gitlabci.Maybe,
		"[{exists: [Makefile]}]":                                                           gitlabci.Maybe,
		"[{changes: [docs/**]}]":                                                           gitlabci.Yes,
		"[{if: 'what is this?'}]":                                                          gitlabci.Maybe,
		"[{if: '$CI_COMMIT_BRANCH =~ $PATTERN'}]":                                          gitlabci.Yes,
		"[!reference [.x, rules]]":                                                         gitlabci.Maybe,
	} {
		text := "variables: {OURS: 'yes', THEIRS: $OTHER, PATTERN: /^submit/}\ntest: {script: x}\n"
		if rules != "" {
			text += "workflow: {rules: " + rules + "}\n"
		}
		f := gitlabci.Read([]byte(text))
		if got := f.Starts(build); f.Err != nil || got != want {
			t.Errorf("%s: %v, want %v (%v)", rules, got, want, f.Err)
		}
	}
}

// Which jobs are in it follows from their rules, or from only and except, and from what
// they extend.
func TestHas(t *testing.T) {
	f := gitlabci.Read([]byte(`
stages: [test]
default: {image: golang}
include: {local: more.yml}
.hidden: {rules: [{if: $CI_COMMIT_TAG}]}
.branches: {only: [branches], variables: {A: b}}
.looped: {extends: .loop}
plain: {script: x}
tagged: {script: x, extends: .hidden}
own: {script: x, extends: [.hidden, .branches], rules: [{if: $CI_COMMIT_BRANCH}], only: []}
inherited: {script: x, extends: .branches}
merging: {script: x, only: [merge_requests]}
mainly: {script: x, only: [main, /^release/]}
queued: {script: x, only: [/^submitqueue\//]}
apart: {script: x, except: [branches]}
not-main: {script: x, except: [main]}
changed: {script: x, only: {refs: [branches], variables: [$X]}}
hand: {script: x, when: manual}
hand-ruled: {script: x, rules: [{if: $CI_COMMIT_BRANCH, when: manual}]}
several: {script: x, parallel: 3}
version: 3
`))
	if f.Err != nil || !f.Includes {
		t.Fatalf("%v, includes %v", f.Err, f.Includes)
	}
	var b strings.Builder
	for _, j := range f.Jobs {
		in, manual := f.Has(j, build)
		fmt.Fprintf(&b, "%s:%d%v%v ", j.Name, in, manual, j.Parallel)
	}
	got := strings.NewReplacer("true", "+", "false", "-").Replace(b.String())
	want := "apart:0-- changed:1-- hand:2+- hand-ruled:2+- inherited:2-- mainly:0-- merging:0-- not-main:2-- own:2-- plain:2-- queued:2-- several:2-+ tagged:0-- "
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// What is no CI file, and jobs that extend themselves, are said, and nothing hangs.
// A header stands before what has the jobs, and declares what a pipeline can be told.
func TestHeader(t *testing.T) {
	text := "spec:\n  inputs:\n    submitqueue_build: {default: ''}\n    plain:\n    n: {type: number}\n    s: {type: string}\n    o: {options: [a, b]}\n---\ntest: {script: x}\n"
	f := gitlabci.Read([]byte(text))
	if f.Err != nil || len(f.Jobs) != 1 || f.Jobs[0].Name != "test" || fmt.Sprint(f.Inputs) != "[plain s submitqueue_build]" {
		t.Errorf("%+v", f)
	}
	for _, text := range []string{"", "---\n", "test: {script: x}\n", "spec:\n---\ntest: {script: x}\n", "spec: {inputs: [a]}\n---\nt: {script: x}\n", "spec: {inputs: {a: {}}}\n"} {
		if got := gitlabci.Inputs([]byte(text)); len(got) > 0 != strings.Contains(text, "{a: {}}") {
			t.Errorf("%q declares %v", text, got)
		}
	}
	if f := gitlabci.Read([]byte("# " + strings.Repeat("x", 2<<20))); f.Err == nil {
		t.Error("a file of two megabytes is read")
	}
}

func TestBroken(t *testing.T) {
	for _, text := range []string{"a: [", "- x\n", ".a: {extends: .a}\nb: {extends: .a, script: x}\n"} {
		if f := gitlabci.Read([]byte(text)); f.Err == nil {
			t.Errorf("%q is read: %+v", text, f)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add("spec: {inputs: {a: {type: string}}}\n---\nt: {script: x}\n")
	f.Add("workflow: {rules: [{if: '($A || $B) && \"x\" =~ /y/i'}]}\nt: {script: x, only: [/a/]}\n")
	f.Fuzz(func(t *testing.T, text string) {
		file := gitlabci.Read([]byte(text))
		file.Starts(build)
		for _, j := range file.Jobs {
			file.Has(j, build)
		}
	})
}
