package config

import (
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/queue/digest"
)

// Scope says what one run of a step covers.
type Scope string

// The scopes of a step.
const (
	ScopeTargets    Scope = "targets"    // the affected targets, each under its own key
	ScopeRepository Scope = "repository" // the whole tree: one key, verified on the very train that lands
)

// Report says how the results of a step are read.
type Report string

// The ways to read a step's results.
const (
	ReportExitCode   Report = "exit-code"    // the shard passes for each of its targets or fails as a set
	ReportGoTestJSON Report = "go-test-json" // `go test -json` on standard output names each package

	ReportJUnit       Report = "junit"        // XML files name each test suite
	ReportBazelBEP    Report = "bazel-bep"    // the file of Bazel's --build_event_json_file names each label
	ReportCargoJSON   Report = "cargo-json"   // `cargo test --message-format json` names each package
	ReportJestJSON    Report = "jest-json"    // the file of `jest --json`, or of Vitest's reporter json, names each test file
	ReportTAP         Report = "tap"          // the Test Anything Protocol, on standard output or in files
	ReportTargetsJSON Report = "targets-json" // lines of JSON that name each target, on standard output or in files
)

// TargetPlaceholder stands for the folder of a target in report_files.
const TargetPlaceholder = "{target}"

// Step is one command of a build, as written in the configuration of the commit that
// is judged. All fields but StrictNew are in its digest: a pass counts, however
// often the step was run.
type Step struct {
	// Name is the step's name in comments and checks, unique in the file.
	Name string `json:"name" yaml:"name" jsonschema:"required,maxLength=64,pattern=^[a-zA-Z0-9._-]+$"`
	// Run is the shell command; {targets} stands for the quoted names of the targets to verify. A step has either run or checks.
	Run string `json:"run" yaml:"run,omitempty" jsonschema:"oneof_required=run,minLength=1"`
	// Checks are the names of check runs or commit statuses that the forge's own CI reports on the commit, in any case of letters, or {name, app} where only an App's count; all of them must pass. They take the place of run.
	Checks []Check `json:"checks,omitempty" yaml:"checks,omitempty" jsonschema:"oneof_required=checks,minItems=1,maxItems=50"`
	// Counts is what a pass of checks counts for: asked (the targets that the build was asked for) or tree (all targets of the commit, where the CI runs everything on every push). Default asked.
	Counts Counts `json:"covers,omitempty" yaml:"covers,omitempty" jsonschema:"enum=asked,enum=tree"`
	// Appear is how long checks may take to appear after the commit was pushed. From 1s to 24h; default 10m.
	Appear time.Duration `json:"appear,omitempty" yaml:"appear,omitempty" jsonschema_extras:"x-minimum=1s,x-maximum=24h"`
	// Rerun is how often the failed jobs of a workflow run are run again before they have failed: 0 or 1. Default 0.
	Rerun int `json:"rerun,omitempty" yaml:"rerun,omitempty" jsonschema:"minimum=0,maximum=1"`
	// Earlier says what passes of the checks on the pull request's own head count for: ignore (nothing) or count (targets that have the same content on the branch as there). They count only where a push started the workflow, and it does the same on every branch. Default ignore.
	Earlier string `json:"earlier,omitempty" yaml:"earlier,omitempty" jsonschema:"enum=ignore,enum=count"`
	// Scope is what one run covers: targets (the affected ones) or repository (the whole tree, verified on the very commit that lands). Default targets.
	Scope Scope `json:"scope" yaml:"scope,omitempty" jsonschema:"enum=targets,enum=repository,default=targets"`
	// Analyzer is the name of the one of analysis.analyzers whose targets the step verifies: required where several run, refused elsewhere.
	Analyzer string `json:"analyzer,omitempty" yaml:"analyzer,omitempty" jsonschema:"maxLength=32"`
	// Dir is the folder of the repository that the command runs in. Default: the folder that the step's analyzer is under, or the repository's root.
	Dir string `json:"dir,omitempty" yaml:"dir,omitempty" jsonschema:"minLength=1,maxLength=300"`
	// Report is how results are read: exit-code (for all targets of the run), go-test-json (go test -json), junit (XML files), bazel-bep (the file of --build_event_json_file), cargo-json (cargo test --message-format json), jest-json (the file of jest --json, or of Vitest's reporter json), tap (Test Anything Protocol), or targets-json (lines of JSON for tools that have none of these). Default exit-code.
	Report Report `json:"report" yaml:"report,omitempty" jsonschema:"enum=exit-code,enum=go-test-json,enum=junit,enum=bazel-bep,enum=cargo-json,enum=jest-json,enum=tap,enum=targets-json,default=exit-code"`
	// ReportFiles are globs of the files that the command writes its report to, from the folder that it runs in, e.g. "reports/*.xml"; {target} stands for the folder of a target, e.g. "{target}/build/test-results/**/*.xml". Only files that the step has written count. Default none: the report is on standard output.
	ReportFiles []string `json:"report_files,omitempty" yaml:"report_files,omitempty" jsonschema:"maxItems=20"`
	// Image is the container image to run in, where the runner uses containers. Default: the runner's own.
	Image string `json:"image,omitempty" yaml:"image,omitempty" jsonschema:"minLength=1,pattern=^[a-zA-Z0-9][a-zA-Z0-9._:/@+-]*$"`
	// OS is the operating system that the runner must have, e.g. linux. Default: any.
	OS string `json:"os,omitempty" yaml:"os,omitempty" jsonschema:"minLength=1,pattern=^[a-zA-Z0-9][a-zA-Z0-9._:/@+-]*$"`
	// Arch is the processor that the runner must have, e.g. arm64. Default: any.
	Arch string `json:"arch,omitempty" yaml:"arch,omitempty" jsonschema:"minLength=1,pattern=^[a-zA-Z0-9][a-zA-Z0-9._:/@+-]*$"`
	// Tags are the tags that the runner must offer, all of them. Default none.
	Tags []string `json:"tags,omitempty" yaml:"tags,omitempty" jsonschema:"pattern=^[a-zA-Z0-9][a-zA-Z0-9._:/@+-]*$"`
	// Env are variables of the step. Secrets do not belong here: give them to the runner.
	Env map[string]string `json:"env,omitempty" yaml:"env,omitempty"`
	// Environment is a shell command that prints the facts about a host's tools that the step's results depend on, e.g. gcc --version. Each host of the runners runs it every ten minutes, for at most 30 seconds, outside the repository. A pass with one output says nothing of another. Default: that of the file, or none.
	Environment string `json:"environment,omitempty" yaml:"environment,omitempty" jsonschema:"minLength=1,maxLength=2000"`
	// Fingerprint is of the output of Environment on the hosts that run the step; empty: on any. It is in no file.
	Fingerprint string `json:"fingerprint,omitempty" yaml:"-" jsonschema:"-"`
	// Checkout says which files the step's checkout holds beside those that git has in the commit. Default: that of the file, or nothing.
	Checkout Checkout `json:"checkout,omitzero" yaml:"checkout,omitempty"`
	// Caches are folders of the checkout that runners keep from build to build, such as node_modules and target. Default none: each build begins with the files of the commit.
	Caches []Cache `json:"caches,omitempty" yaml:"caches,omitempty" jsonschema:"maxItems=10"`
	// Timeout ends the step when it takes longer. From 1s to 24h; default 1h.
	Timeout time.Duration `json:"timeout" yaml:"timeout,omitempty" jsonschema:"default=1h" jsonschema_extras:"x-minimum=1s,x-maximum=24h"`
	// TimeoutFrom lets the queue learn when to end the step: after three times the duration of nearly all of its runs (the 99th percentile), no earlier than this and no later than timeout. A run that is ended earlier than timeout is run again with all of timeout before it counts as a failure. From 1s to timeout; default: nothing is learned.
	TimeoutFrom time.Duration `json:"timeout_from,omitempty" yaml:"timeout_from,omitempty" jsonschema_extras:"x-minimum=1s,x-maximum=24h"`
	// Retries is how often a step with run is run again, in the same build, for the targets that have not passed, before it has failed: 0 to 5. A pass then counts as a pass, and as a flake of the target. A step that runs on an agent other than the server's own is not run again this way. Default 0.
	Retries int `json:"retries,omitempty" yaml:"retries,omitempty" jsonschema:"minimum=0,maximum=5"`
	// StrictNew is how often a target that a change brings is run before the change may land: each run must pass, and one that fails decides, whatever queue.retries and retries say. From 2 to 10, for steps with run and scope targets. Default: once, as other targets.
	StrictNew int `json:"strict_new,omitempty" yaml:"strict_new,omitempty" jsonschema:"minimum=2,maximum=10"`
	// Repeat says which of these runs the step is, from 1; 0: it is the step as it is written. It is in no file.
	Repeat int `json:"repeat,omitempty" yaml:"-" jsonschema:"-"`
	// RetryOn are patterns of RE2 that only a fault of the infrastructure prints, e.g. "connection reset by peer". A failed run whose log ends with a match, in its last 4 KiB, is no result: it is run again as after other infrastructure errors (queue.infra_retries). In steps with checks, it is for jobs of GitHub Actions only. Default none.
	RetryOn []string `json:"retry_on,omitempty" yaml:"retry_on,omitempty" jsonschema:"maxItems=20"`
	// Quarantine are targets whose failures do not count: they are run, shown and counted, and refuse no change. It holds where both the target branch and the commit that is judged have it, so no change excuses its own failures. Where the report names no targets, a failure counts unless all targets of the run are in quarantine. For steps with run. Default: the entries of the file.
	Quarantine []Quarantine `json:"quarantine,omitempty" yaml:"quarantine,omitempty" jsonschema:"maxItems=100"`
}

// Digest identifies the step in keys: a pass under another command, image,
// platform, environment or time-out is no pass of this step.
func (s Step) Digest() digest.Digest {
	fields := []string{"step1", s.Name, s.Run, string(s.Scope), string(s.Report), s.Image, s.OS, s.Arch,
		strconv.FormatInt(int64(s.Timeout), 10), strconv.Itoa(len(s.Tags))}
	if s.Analyzer != "" || s.Dir != "" {
		fields[0] = "step2" // so that steps without these keep their passes
		fields = append(fields, s.Analyzer, s.Dir)
	}
	tags := append([]string(nil), s.Tags...)
	sort.Strings(tags)
	fields = append(fields, tags...)
	names := make([]string, 0, len(s.Env))
	for n := range s.Env {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		fields = append(fields, n, s.Env[n])
	}
	if s.ByForge() || s.Counts != "" || s.Appear != 0 || s.Rerun != 0 || s.Earlier != "" {
		fields = s.checkFields(fields)
	}
	if s.Environment != "" || s.Fingerprint != "" {
		fields = append(fields, "environment1", s.Environment, s.Fingerprint)
	}
	fields = append(fields, s.Checkout.fields()...)
	fields = append(fields, s.cacheFields()...)
	if s.TimeoutFrom != 0 {
		fields = append(fields, "timeout-from1", strconv.FormatInt(int64(s.TimeoutFrom), 10))
	}
	if len(s.RetryOn) > 0 {
		fields = append(fields, "retry-on1", strconv.Itoa(len(s.RetryOn)))
		fields = append(fields, s.RetryOn...)
	}
	if len(s.ReportFiles) > 0 {
		fields = append(fields, "report-files1", strconv.Itoa(len(s.ReportFiles)))
		fields = append(fields, s.ReportFiles...)
	}
	fields = append(fields, s.quarantineFields()...)
	if s.Retries != 0 {
		fields = append(fields, "retries1", strconv.Itoa(s.Retries))
	}
	if s.Repeat != 0 {
		fields = append(fields, "repeat1", strconv.Itoa(s.Repeat))
	}
	return digest.Of(fields...)
}

// CommandFor returns the step's shell command, to be run in the root of a
// checkout, with `{targets}` replaced by the names that its tool has for the
// targets, each quoted for a POSIX shell. A command that does not name
// `{targets}` gets them in SUBMITQUEUE_TARGETS only. Targets that stand for the
// whole tree, for an analyzer's whole part of it, or for files that no analyzer
// claims, are written `./...`: everything.
func (s Step) CommandFor(targets []string) string {
	var quoted []string
	whole := false
	for _, t := range targets {
		if undivided(t) {
			whole = true
			continue
		}
		quoted = append(quoted, shellQuoted(s.ToolName(t)))
	}
	if whole {
		quoted = []string{"./..."}
	}
	run := strings.ReplaceAll(s.Run, "{targets}", strings.Join(quoted, " "))
	if s.Dir != "" && s.Dir != "." {
		// In the command, so that a folder that is gone fails the step: it is the change's fault.
		run = "cd " + shellQuoted("./"+s.Dir) + " || exit 1\n" + run
	}
	return run
}

func shellQuoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
