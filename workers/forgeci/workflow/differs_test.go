package workflow_test

import (
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/workers/forgeci/workflow"
)

const (
	at     = ".github/workflows/ci.yml"
	builds = "submitqueue/"
)

// differs judges the check test of one workflow, beside other files.
func differs(text string, others map[string]string) string {
	files := map[string][]byte{at: []byte(text)}
	for name, data := range others {
		files[name] = []byte(data)
	}
	return strings.Join(workflow.Differs(files, at, "test", builds), "; ")
}

// job is a workflow on each push whose job test is what is given.
func job(body string) string {
	return "on: push\njobs:\n  test: {runs-on: x, " + body + "}\n"
}

func TestWhatIsTheSameOnEachBranch(t *testing.T) {
	for name, text := range map[string]string{
		"a command":                   job("steps: [{uses: actions/checkout@v4}, {run: make test}]"),
		"concurrency by the branch":   "concurrency: {group: 'ci-${{ github.ref }}', cancel-in-progress: true}\nrun-name: ${{ github.actor }}\n" + job("concurrency: 'x-${{ github.head_ref }}', steps: [{run: make}]"),
		"a name by the branch":        job("name: test, steps: [{name: 'on ${{ github.ref }}', run: make}]"),
		"the commit":                  job("steps: [{run: 'echo ${{ github.sha }} ${{ github.repository }}'}]"),
		"caches of packages":          job("steps: [{uses: actions/setup-go@v5, with: {cache: true}}, {uses: actions/setup-node@v4, with: {cache: npm}}]"),
		"a secret of the repository":  job("env: {K: '${{ secrets.KEY }}'}, steps: [{run: make}]"),
		"a matrix":                    "on: push\njobs: {test: {strategy: {matrix: {go: [1, 2]}}, runs-on: x, steps: [{run: make}]}}\n",
		"another job by the branch":   "on: push\njobs:\n  test: {runs-on: x, steps: [{run: make}]}\n  deploy: {needs: test, environment: prod, if: \"github.ref == 'refs/heads/main'\", steps: [{uses: actions/cache@v4}]}\n",
		"a word in a command":         job("steps: [{run: 'go install github.com/x/y; echo github event'}]"),
		"pull requests as well":       "on: {push: {branches: ['**']}, pull_request: {types: [opened]}}\njobs: {test: {runs-on: x, steps: [{run: make}]}}\n",
		"a local action":              job("steps: [{uses: ./.github/actions/good}]"),
		"a workflow of the same tree": job("uses: ./.github/workflows/called.yml"),
	} {
		others := map[string]string{
			".github/actions/good/action.yml": "runs: {using: composite, steps: [{run: make, shell: bash}]}",
			".github/workflows/called.yml":    "on: workflow_call\njobs: {x: {runs-on: x, steps: [{run: make}]}}",
			".github/workflows/lint.yml":      "on: push\njobs: {lint: {runs-on: x}}",
			".github/workflows/pulls.yml":     "on: pull_request\njobs: {test: {runs-on: x}}",
			".github/workflows/README.md":     "# {",
		}
		if why := differs(text, others); why != "" {
			t.Errorf("%s: %s", name, why)
		}
	}
}

func TestWhatDiffersByBranch(t *testing.T) {
	for text, want := range map[string]string{
		"on: {push: {branches: [main, topic]}}\njobs: {test: {}}\n":                            "does not run for builds",
		"on: pull_request\njobs: {test: {}}\n":                                                 "does not run for builds",
		"on: {push: {paths: [src/**]}}\njobs: {test: {}}\n":                                    "a filter on paths",
		"on: {push: {paths-ignore: [docs/**]}}\njobs: {test: {}}\n":                            "a filter on paths",
		"on: {push: {}, pull_request: {paths: [x]}}\njobs: {test: {}}\n":                       "a filter on paths",
		"on: push\njobs: {lint: {}}\n":                                                         `no job of it reports the check "test"`,
		"on: push\njobs: {test: 1}\n":                                                          "its job test cannot be read",
		"on: push\njobs: {test: {needs: setup}, setup: {steps: [{uses: actions/cache@v4}]}}\n": "uses actions/cache@v4",
		"on: push\njobs: {test: {needs: [setup]}, setup: {needs: gone}}\n":                     "its job gone cannot be read",
		"on: push\nenv: {B: '${{ github.ref_name }}'}\njobs: {test: {}}\n":                     "github.ref_name",
		job("steps: [{uses: actions/cache/restore@v4}]"):                                       "actions/cache/restore@v4",
		job("steps: [{uses: Swatinem/rust-cache@v2}]"):                                         "rust-cache",
		job("steps: [{uses: docker/build-push-action@v6, with: {cache-from: type=gha}}]"):      "type=gha",
		job("steps: [{uses: actions/checkout@v4, with: {ref: main}}]"):                         "checks out something else",
		job("steps: [{uses: actions/checkout@v4, with: {repository: x/y}}]"):                   "checks out something else",
		job("steps: [{uses: actions/download-artifact@v4, with: {run-id: 1}}]"):                "what another run has left",
		job("environment: {name: stage}"):                                                      "an environment",
		job("if: \"github.event_name == 'push'\""):                                             "github.event_name",
		job("if: \"GitHub.Ref == 'x'\""):                                                       "github.ref",
		job("steps: [{run: 'echo ${{ github[''ref''] }}'}]"):                                   "all that GitHub says",
		job("steps: [{run: 'echo ${{ toJSON(github) }}'}]"):                                    "all that GitHub says",
		job("steps: [{run: 'echo $GITHUB_REF_NAME'}]"):                                         "GITHUB_REF_NAME",
		job("steps: [{run: 'echo ${GITHUB_ACTOR}'}]"):                                          "GITHUB_ACTOR",
		job("steps: [{run: 'git -C . diff origin/main'}]"):                                     "git diff",
		job("steps: [{run: git describe --tags}]"):                                             "git describe",
		job("steps: [{run: npx turbo run test --affected}]"):                                   "turbo --affected",
		job("steps: [{uses: dorny/paths-filter@v3}]"):                                          "dorny/paths-filter",
		job("steps: [{uses: ./.github/actions/bad}]"):                                          "actions/cache@v4",
		job("steps: [{uses: ./.github/actions/gone}]"):                                         "./.github/actions/gone, which is no known file",
		job("steps: [{uses: ./tools/act}]"):                                                    "./tools/act, which is no known file",
		job("uses: ./.github/workflows/called.yml"):                                            "github.actor",
		job("uses: ./.github/workflows/gone.yml"):                                              "which is not there",
		job("uses: x/y/.github/workflows/z.yml@v1"):                                            "which is not in the tree",
		job("strategy: {matrix: '${{ fromJSON(github.event.x) }}'}"):                           "github.event",
		"on: [push\n": "no YAML",
	} {
		others := map[string]string{
			".github/actions/bad/action.yaml": "runs: {using: composite, steps: [{uses: actions/cache@v4}]}",
			".github/workflows/called.yml":    "on: workflow_call\njobs: {x: {runs-on: x, steps: [{run: 'echo ${{ github.actor }}'}]}}",
		}
		if why := differs(text, others); !strings.Contains(why, want) {
			t.Errorf("%s\n%q, want %q", text, why, want)
		}
	}
	good := job("steps: [{run: make}]")
	for text, want := range map[string]string{good: "b.yml reports the same check", "on: [push\n": "b.yml cannot be read", "on: push\njobs: {x: {name: 'te${{ x }}'}}\n": "b.yml reports"} {
		if why := differs(good, map[string]string{".github/workflows/b.yml": text}); !strings.Contains(why, want) {
			t.Errorf("%q, want %q", why, want)
		}
	}
	if why := workflow.Differs(nil, at, "test", builds); len(why) != 1 || !strings.Contains(why[0], "is not in the head's tree") {
		t.Errorf("of a file that is not there: %q", why)
	}
}

// A title says which commit was tested only where nothing else in it changes.
func TestCommitIn(t *testing.T) {
	one := strings.Repeat("a1", 20)
	for _, c := range []struct{ name, title, want string }{
		{workflow.TitleExample, "CI of " + one, one},
		{"run-name: ${{ github.sha }}", one, one},
		{"run-name: ${{github.SHA}} (CI)", one + " (CI)", one},
		{"run-name: ${{ github.sha }}", "CI", ""},
		{"run-name: ${{ github.sha }}", one + " ", ""},
		{"run-name: ${{ github.sha }}", one + "a", ""},
		{"run-name: CI", one, ""},
		{"run-name: CI of " + one, "CI of " + one, ""},
		{"run-name: ${{ github.sha }} ${{ github.event.pull_request.title }}", one + " x", ""},
		{"run-name: ${{ github.sha || github.ref }}", one, ""},
		{"name: ${{ github.sha }}", one, ""},
		{"run-name: [1]", one, ""},
	} {
		w := workflow.Read(at, []byte(c.name+"\non: push\njobs: {}\n"), builds)
		if got := w.CommitIn(c.title); got != c.want || w.Err != nil {
			t.Errorf("%s: %q in %q, want %q (%v)", c.name, got, c.title, c.want, w.Err)
		}
	}
}

// A workflow that cannot be read, or that reports nothing of the name, is never the same.
func FuzzDiffers(f *testing.F) {
	f.Add([]byte(job("steps: [{run: make}]")), []byte("runs: {steps: [{uses: ./.github/actions/a}]}"))
	f.Add([]byte("on: push\njobs: {test: {uses: ./.github/workflows/ci.yml, needs: [test, 1, {}]}}"), []byte("- &a [*a]"))
	f.Fuzz(func(t *testing.T, text, action []byte) {
		files := map[string][]byte{at: text, ".github/actions/a/action.yml": action}
		same := len(workflow.Differs(files, at, "test", builds)) == 0
		if w := workflow.Read(at, text, builds); same && (w.Err != nil || !w.Starts || w.Paths || !w.Reports("test")) {
			t.Errorf("%q is the same everywhere: %+v", text, w)
		}
	})
}
