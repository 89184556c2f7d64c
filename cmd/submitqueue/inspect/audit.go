package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/submitqueue/submitqueue/app"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/audit"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/workers"
)

// Audit looks for dependencies that the queue cannot know.
type Audit struct {
	Inputs auditInputsCommand `cmd:"" help:"Run each step on each target and name the files of the repository that are read and in no hash of the target."`
}

// auditInputsCommand runs steps under a tracer.
type auditInputsCommand struct {
	Flags
	Base   string   `default:"HEAD" help:"Revision to audit (default: ${default}). Its steps are run on this machine: name none that you do not trust." placeholder:"REV"`
	Step   []string `sep:"none" help:"Step to run; may be given several times (default: all on targets)." placeholder:"NAME"`
	Target []string `sep:"none" help:"Glob of the targets to run it on; may be given several times (default: all)." placeholder:"GLOB"`
	Run_   string   `name:"run" help:"Command to run in the place of the steps' own, for steps that the forge's CI runs; {targets} stands for the target." placeholder:"COMMAND"`
	Tracer string   `default:"auto" enum:"auto,strace,fanotify" help:"The tracer: strace, fanotify (which needs the rights of an administrator), or the first that can be used (default: ${default})." placeholder:"NAME"`
	Jobs   int      `default:"1" help:"Targets at one time (default: ${default}); fanotify sees one well." placeholder:"N"`
}

// Help ends the command's help.
func (auditInputsCommand) Help() string {
	return `The commit is checked out into a temporary folder, and each step runs on each target alone, as on a runner: with an empty home, a clean checkout and no result of an earlier run. What it opens for reading is held against what is in the target's hash. A file that is read and in no hash is a hole: a change to it lands without a run of the step. For each the report says why it is in no hash, and at its end what to write into .submitqueue.yml.

Folders that are listed and paths that are looked up are counted, and listed with --json; they are no findings. Reads of what looks at everything, such as git status, are told apart.

Exit status: 0 nothing found; 1 files were found, or the tree cannot be analyzed; 2 a command line that cannot be followed; 3 nothing found, and something could not be audited: the report says what and why.`
}

// exitUnaudited is the exit status where something could not be audited.
const exitUnaudited = 3

// The outcomes of an audited step on a target.
const (
	AuditDone    = "audited"
	auditFailed  = "failed"  // the command failed; the files that it read until then are judged
	auditUnread  = "unread"  // it read none of the target's files
	auditUnknown = "unknown" // it was not watched
)

// auditResult is one step on one target.
type auditResult struct {
	Step    string  `json:"step"`
	Target  string  `json:"target"`
	Outcome string  `json:"outcome"`
	Detail  string  `json:"detail,omitempty"` // why it is not audited
	Seconds float64 `json:"seconds"`
	*audit.Judged
}

// skippedStep is a step that is not run, and why.
type skippedStep struct {
	Step    string `json:"step"`
	Why     string `json:"why"`
	unknown bool   // it could be audited, but not here
}

// AuditReport is what the command prints.
type AuditReport struct {
	Revision      string         `json:"revision"`
	Commit        queue.CommitID `json:"commit"`
	Configuration string         `json:"configuration"`
	Analyzer      string         `json:"analyzer"`
	Unknown       string         `json:"unknown"`
	Tracer        string         `json:"tracer"`
	NotAudited    string         `json:"not_audited"` // why nothing was audited
	Skipped       []skippedStep  `json:"skipped"`
	Results       []auditResult  `json:"results"`
	// Inputs are to be added to analysis.inputs; Uncovered are findings that these
	// inputs would not take into a hash.
	Inputs    []config.Inputs `json:"inputs"`
	Uncovered []string        `json:"uncovered"`
}

// found reports whether there is a finding.
func (r *AuditReport) found() bool {
	return slices.ContainsFunc(r.Results, func(a auditResult) bool { return a.Judged != nil && len(a.Findings) > 0 })
}

// whole reports whether everything that can be audited was audited.
func (r *AuditReport) whole() bool {
	return r.NotAudited == "" && !slices.ContainsFunc(r.Results, func(a auditResult) bool { return a.Outcome != AuditDone }) &&
		!slices.ContainsFunc(r.Skipped, func(s skippedStep) bool { return s.unknown })
}

// Run implements the command.
func (c *auditInputsCommand) Run(ctx context.Context) error {
	if c.Jobs < 1 {
		return print.UsageError("--jobs must be at least 1")
	}
	in, err := c.inspect(ctx, c.Base)
	if err != nil {
		return err
	}
	r, err := reported(ctx, in, c.report, c.print)
	if r == nil {
		return err
	}
	switch {
	case err != nil:
		return err
	case r.found() || r.Unknown != "":
		return print.ExitCode(1)
	case !r.whole():
		return print.ExitCode(exitUnaudited)
	}
	return nil
}

func (c *auditInputsCommand) report(ctx context.Context, in *inspection) (*AuditReport, error) {
	d := in.base
	r := &AuditReport{Revision: c.Base, Commit: in.commit, Configuration: in.rules, Analyzer: d.Analyzer, Unknown: cmp.Or(d.Unknown, d.Fails),
		Skipped: []skippedStep{}, Results: []auditResult{}, Inputs: []config.Inputs{}, Uncovered: []string{}}
	if r.Unknown != "" || d.Nodes == nil {
		return r, nil
	}
	todo, err := c.todo(r, d)
	if err != nil || len(todo) == 0 {
		return r, err
	}
	tracer, err := audit.NewTracer(ctx, c.Tracer)
	if errors.Is(err, audit.ErrUnavailable) {
		r.NotAudited = "no tracer can be used here: " + err.Error()
		return r, nil
	} else if err != nil {
		return nil, err
	}
	r.Tracer = tracer.Name()
	a, err := newAuditor(ctx, in, tracer)
	if err != nil {
		return nil, err
	}
	if err := a.all(ctx, todo, c.Jobs); err != nil {
		return nil, err
	}
	r.Results = todo
	return r, r.propose(ctx, d)
}

// todo lists the steps to run on each target, and notes the steps that are not run.
func (c *auditInputsCommand) todo(r *AuditReport, d *app.Inspected) ([]auditResult, error) {
	for _, name := range c.Step {
		if !slices.ContainsFunc(d.Config.Steps, func(s config.Step) bool { return s.Name == name }) {
			return nil, told(fmt.Sprintf("%s has no step %q", c.Base, print.OneLine(name)))
		}
	}
	for i := range d.Config.Steps {
		s := &d.Config.Steps[i]
		if c.Run_ != "" && s.Scope != config.ScopeRepository {
			s.Run, s.Checks, s.Report = c.Run_, nil, config.ReportExitCode
		}
	}
	var todo []auditResult
	for _, s := range d.Config.Steps {
		switch {
		case len(c.Step) > 0 && !slices.Contains(c.Step, s.Name):
			continue
		case s.Scope == config.ScopeRepository:
			r.Skipped = append(r.Skipped, skippedStep{Step: s.Name, Why: "it is for the whole tree, and every file is in its key"})
			continue
		case s.ByForge():
			r.Skipped = append(r.Skipped, skippedStep{s.Name, "the forge's CI runs it: give the command that it runs with --run", true})
			continue
		}
		for _, t := range d.Targets() {
			if s.Covers(t.Target) && t.Target != config.TargetUnowned &&
				(len(c.Target) == 0 || slices.ContainsFunc(c.Target, func(glob string) bool { return globbed(glob, t.Target) })) {
				todo = append(todo, auditResult{Step: s.Name, Target: t.Target})
			}
		}
	}
	slices.SortStableFunc(todo, func(a, b auditResult) int { return strings.Compare(a.Target, b.Target) })
	if len(todo) == 0 && len(c.Target) > 0 {
		return nil, told(fmt.Sprintf("no target of %s matches %s", c.Base, print.OneLine(strings.Join(c.Target, ", "))))
	}
	return todo, nil
}

// propose sets the inputs to declare, and the files that would still be in no hash.
func (r *AuditReport) propose(ctx context.Context, d *app.Inspected) error {
	judged := map[string]*audit.Judged{}
	for _, a := range r.Results {
		if a.Judged == nil {
			continue
		}
		all := judged[a.Target]
		if all == nil {
			all = &audit.Judged{}
			judged[a.Target] = all
		}
		all.Findings, all.Listed = append(all.Findings, a.Findings...), append(all.Listed, a.Listed...)
	}
	r.Inputs = orEmpty(audit.Propose(judged))
	if len(r.Inputs) == 0 {
		return nil
	}
	with, err := d.Declaring(ctx, r.Inputs)
	if err != nil {
		return err
	}
	for target, j := range judged {
		files := with.FilesOf(target)
		for _, f := range j.Findings {
			if !files[f.File] {
				r.Uncovered = append(r.Uncovered, target+" "+f.File)
			}
		}
	}
	slices.Sort(r.Uncovered)
	return nil
}

// auditor runs steps under a tracer.
type auditor struct {
	in     *inspection
	tracer audit.Tracer
	tree   audit.Tree
	links  []string
	dir    string
	mu     sync.Mutex // guards the analysis and the output
	done   int
}

func newAuditor(ctx context.Context, in *inspection, tracer audit.Tracer) (*auditor, error) {
	a := &auditor{in: in, tracer: tracer, dir: filepath.Join(in.clone.temp, "audit"),
		tree: audit.Tree{Description: in.base.Description, Settings: in.base.Config.Analysis, Without: in.base.Without}}
	tree, err := in.clone.mirror.Objects.Tree(ctx, in.commit)
	if err != nil {
		return nil, err
	}
	files, err := tree.Files(ctx)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		a.tree.Files = append(a.tree.Files, f.Path)
		switch {
		case f.Mode == conflict.ModeLink:
			a.links = append(a.links, f.Path)
		case f.Path == config.Path:
			text, err := tree.Blob(ctx, f.OID)
			if err != nil {
				return nil, err
			}
			a.tree.Config = string(text)
		}
	}
	return a, nil
}

// all runs everything, some at a time.
func (a *auditor) all(ctx context.Context, todo []auditResult, jobs int) error {
	next := make(chan *auditResult)
	errs := make(chan error, jobs)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for slot := range jobs {
		go func() {
			for r := range next {
				if err := a.one(ctx, slot, r, len(todo)); err != nil {
					stop()
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	for i := range todo {
		select {
		case next <- &todo[i]:
		case <-ctx.Done():
		}
	}
	close(next)
	var err error
	for range jobs {
		err = errors.Join(err, <-errs)
	}
	return cmp.Or(err, context.Cause(ctx))
}

// one runs one step on one target. An error ends the audit.
func (a *auditor) one(ctx context.Context, slot int, r *auditResult, of int) error {
	a.say(fmt.Sprintf("%d of %d: step %s on %s", a.begun(), of, r.Step, r.Target), "")
	begin := time.Now()
	reads, done, detail, err := a.watched(ctx, slot, r)
	r.Seconds = time.Since(begin).Round(100 * time.Millisecond).Seconds()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		r.Outcome, r.Detail = auditUnknown, err.Error()
	} else {
		a.mu.Lock()
		r.Judged, err = audit.Judge(ctx, &a.tree, r.Target, reads)
		a.mu.Unlock()
		if err != nil {
			return err
		}
		switch {
		case done != queue.JobPassed:
			r.Outcome, r.Detail = auditFailed, detail
		case r.Unread:
			r.Outcome, r.Detail = auditUnread, "it read none of the target's files: a cache answered, or another process did the work"
		default:
			r.Outcome = AuditDone
		}
	}
	result := r.Outcome
	if r.Judged != nil && len(r.Findings) > 0 {
		result += ", " + print.Counted(len(r.Findings), "file") + " found"
	}
	a.say("", fmt.Sprintf("step %s on %s: %s (%.1fs)", r.Step, r.Target, result, r.Seconds))
	return nil
}

func (a *auditor) begun() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.done++
	return a.done
}

// say shows on a terminal what is being done, and elsewhere what has been done.
func (a *auditor) say(doing, done string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if doing != "" {
		a.in.doing(doing)
	} else if !a.in.waits.Live() {
		fmt.Fprintln(os.Stderr, "submitqueue: "+print.OneLine(done))
	}
}

// watched runs the command as a runner does, and returns the paths that the command
// looked at. The slot's folder is at the same place for all targets, so that the go
// command finds earlier results in its build cache; all other folders are empty.
func (a *auditor) watched(ctx context.Context, slot int, r *auditResult) (reads audit.Reads, outcome queue.JobOutcome, detail string, err error) {
	dir := filepath.Join(a.dir, fmt.Sprint(slot))
	checkout, scratch, tmp := filepath.Join(dir, "checkout"), filepath.Join(dir, "scratch"), filepath.Join(dir, "tmp")
	for _, d := range []string{filepath.Join(dir, "home"), scratch, tmp} {
		err = errors.Join(err, workers.RemoveAll(d))
	}
	for _, d := range []string{checkout, scratch, tmp} {
		err = errors.Join(err, os.MkdirAll(d, 0o755))
	}
	if err != nil {
		return audit.Reads{}, "", "", err
	}
	watch, err := a.tracer.Watch(checkout, scratch, a.links)
	if err != nil {
		return audit.Reads{}, "", "", err
	}
	build := a.build(r)
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "TMPDIR=") })
	runner, err := workers.NewRunner(workers.RunnerOptions{Dir: dir, Machine: "audit", Checkout: beginning{mirror.Checkouts{Mirror: a.in.clone.mirror, Forge: a.in.clone}, watch, build.Jobs[0].Step.Checkout.Plain()},
		Shell: watch.Shell(), Env: append(env, "TMPDIR="+tmp), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return audit.Reads{}, "", "", err
	}
	var job queue.JobDone
	end := runner.Build(ctx, build, workers.Output{Log: discard{}, Job: func(d queue.JobDone) { job = d }})
	if job.Outcome == "" {
		return audit.Reads{}, "", "", errors.New(end.Detail)
	}
	detail = end.Detail
	if tail := print.LastLines(job.Tail, 3); tail != "" && end.Outcome != queue.JobPassed {
		detail += ": " + tail
	}
	reads, err = watch.End()
	return reads, end.Outcome, detail, err
}

// slower is how many times as long as otherwise a step may take under a tracer.
const slower = 4

// build is the build of one step on one target.
func (a *auditor) build(r *auditResult) queue.Build {
	cfg := a.in.base.Config
	step := cfg.Steps[slices.IndexFunc(cfg.Steps, func(s config.Step) bool { return s.Name == r.Step })]
	step.Timeout = max(step.Timeout, time.Minute) * slower
	env := map[string]string{"UV_USE_IO_URING": "0"}
	for name, value := range step.Env {
		env[name] = value
	}
	env["GOFLAGS"] = strings.TrimSpace(cmp.Or(env["GOFLAGS"], os.Getenv("GOFLAGS")) + " -count=1")
	step.Env = env
	hash := slices.IndexFunc(a.in.base.Targets(), func(t queue.TargetHash) bool { return t.Target == r.Target })
	return queue.Build{ID: "audit", Commit: a.in.commit, Main: a.in.commit,
		Jobs: []queue.Job{{Step: step, Keys: queue.KeysOf(step, a.in.base.Tree, a.in.base.Targets()[hash:hash+1])}}}
}

// beginning is a checkout that begins a watch once it is complete.
type beginning struct {
	mirror.Checkouts
	watch audit.Watch
	plain bool // nothing is filled after Checkout
}

// Checkout implements workers.Checkouter.
func (b beginning) Checkout(ctx context.Context, commit queue.CommitID, dir string) (func() error, error) {
	release, err := b.Checkouts.Checkout(ctx, commit, dir)
	if err != nil || !b.plain {
		return release, err
	}
	if err := b.watch.Begin(); err != nil {
		return nil, errors.Join(err, release())
	}
	return release, nil
}

// Fill implements workers.Filler.
func (b beginning) Fill(ctx context.Context, commit queue.CommitID, dir string, want config.Checkout) error {
	if err := b.Checkouts.Fill(ctx, commit, dir, want); err != nil {
		return err
	}
	return b.watch.Begin()
}

// discard is a log that nobody reads; the end of the output is in the job's result.
type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
