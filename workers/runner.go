package workers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/workers/cache"
	"github.com/submitqueue/submitqueue/workers/report"
)

// Checkouter makes the files of a commit.
type Checkouter interface {
	// Checkout makes dir hold exactly the files of the commit. dir may be missing, or hold an
	// earlier checkout, with all files that its steps wrote. The steps are untrusted: nothing
	// in dir may let them write to the repository that it came from. After release the files
	// are not used any more. The runner calls it for one commit at a time per dir. An error is
	// an infrastructure error, never a verdict.
	Checkout(ctx context.Context, commit queue.CommitID, dir string) (release func() error, err error)
}

// Filler is implemented by a Checkouter that can fetch what git does not have in a commit:
// submodules, and files that Git LFS keeps.
type Filler interface {
	// Fill puts the wanted submodules and files into a checkout that is not released yet. The
	// next Checkout removes those files. Errors as in Checkout.
	Fill(ctx context.Context, commit queue.CommitID, dir string, want config.Checkout) error
}

// Restorer is implemented by a Checkouter that can hold a checkout to its commit.
type Restorer interface {
	// Restore gives the commit's files, in a checkout that is not released yet,
	// their content in the commit, and leaves all other files. It returns the names
	// of those that differed. Errors as in Checkout.
	Restore(ctx context.Context, commit queue.CommitID, dir string) (changed []string, err error)
}

// RunnerOptions configure a Runner. Zero values mean the defaults.
type RunnerOptions struct {
	Dir             string                    // the slot's private directory; required, and of one runner only
	Machine         string                    // name in results; default: the base name of Dir
	Checkout        Checkouter                // required
	Shell           []string                  // gets the command as its last argument; default sh -c
	Timeout         time.Duration             // of steps that name none; default 1 h
	CheckoutTimeout time.Duration             // default 10 min
	Grace           time.Duration             // from SIGTERM to SIGKILL; default 5 s
	LogLimit        int64                     // bytes of log per step, the first and the last half; default 4 MiB
	MinFree         uint64                    // bytes; with less free on the disk of Dir nothing counts as a failure; default 32 MiB
	KeepHome        bool                      // HOME stays from build to build, with all files that any build left there
	HomeSeed        string                    // each new HOME has the content of this folder; "": none
	Caches          Caches                    // which caches of steps are kept; zero: none
	Mask            []string                  // secrets that are shown as ***
	Env             []string                  // where the passed variables are taken from; default os.Environ()
	Pass            []string                  // names of variables that steps see besides those in passed (environment.go)
	Secrets         []Secret                  // variables of steps that are shown as ***
	Called          func(queue string) string // the present name of a queue's repository, for Secret.Of; nil: the name in its key
	Log             *slog.Logger              // required
}

// Runner is one slot that executes builds, one at a time, in directories that are reused. Steps
// get only these variables of the agent: PATH, HOME, TMPDIR, LANG, those of the Go tool, those
// in Pass, and the places of toolchains (toolchain.go). They also get Secrets, the step's own
// variables and
//
//	CI=true
//	SUBMITQUEUE=1
//	SUBMITQUEUE_BUILD, SUBMITQUEUE_COMMIT, SUBMITQUEUE_STEP
//	SUBMITQUEUE_MAIN           the commit of the target branch that the build stands on, where that is known
//	SUBMITQUEUE_CHANGE         the change that it is for; empty: the branch itself
//	SUBMITQUEUE_TARGETS        the targets, one per line; not set when longer than 64 KiB
//	SUBMITQUEUE_TARGETS_FILE   a file with the same lines, always
//	SUBMITQUEUE_SLOTS          how left-over processes are found; leave it alone
type Runner struct {
	o     RunnerOptions
	files slotFiles
	kept  *cache.Kept // nil: no caches are kept
	mask  func(string) string
	busy  sync.Mutex

	readers report.Readers
}

// NewRunner makes the slot's directory, and ends what an earlier process left
// running in it.
func NewRunner(o RunnerOptions) (*Runner, error) { return newRunner(o, nil) }

func newRunner(o RunnerOptions, g *guest) (*Runner, error) {
	if o.Dir == "" || o.Checkout == nil || o.Log == nil {
		return nil, errors.New("workers: a runner needs Dir, Checkout and Log")
	}
	setDefault(&o.Machine, filepath.Base(o.Dir))
	setDefault(&o.Timeout, time.Hour)
	setDefault(&o.CheckoutTimeout, 10*time.Minute)
	setDefault(&o.Grace, 5*time.Second)
	setDefault(&o.LogLimit, 4<<20)
	setDefault(&o.MinFree, 32<<20)
	if len(o.Shell) == 0 {
		o.Shell = []string{"sh", "-c"}
	}
	if o.Env == nil {
		o.Env = os.Environ()
	}
	files, err := newSlotFiles(o.Dir, g)
	if err != nil {
		return nil, fmt.Errorf("workers: slot: %w", err)
	}
	files.keep, files.seed = o.KeepHome, o.HomeSeed
	masked := slices.Clone(o.Mask)
	for _, s := range o.Secrets {
		masked = append(masked, s.Value)
	}
	r := &Runner{o: o, files: files, mask: newMask(masked), readers: report.All()}
	left := (session{mark: files.root}).end(o.Grace)
	if g.uidOf() != 0 {
		left += (session{uid: g.uid}).end(o.Grace)
	}
	if left > 0 {
		return nil, fmt.Errorf("workers: slot %s: %d processes of an earlier run cannot be killed", files.root, left)
	}
	if err := r.openCaches(); err != nil {
		return nil, fmt.Errorf("workers: caches of slot %s: %w", files.root, err)
	}
	return r, nil
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Machine returns the runner's name in results.
func (r *Runner) Machine() string { return r.o.Machine }

// Output takes the log and the results of a runner during a build. Neither may block for long,
// because the step waits.
type Output struct {
	Log io.Writer           // clean text
	Job func(queue.JobDone) // each job, when it has ended
}

// Build executes all jobs of a build, and returns when nothing of it runs any
// more. When ctx ends the build is cancelled.
func (r *Runner) Build(ctx context.Context, b queue.Build, out Output) End {
	r.busy.Lock()
	defer r.busy.Unlock()
	if err := r.begin(); err != nil {
		detail := "cannot make a home: " + lastBytes(r.mask(clean(err.Error())), 500)
		fmt.Fprintf(out.Log, "[submitqueue] %s\n", detail)
		return End{Outcome: queue.JobInfra, Detail: detail}
	}
	defer func() {
		if err := r.files.forget(); err != nil {
			r.o.Log.Warn("empty a slot after a build", "build", b.ID, "dir", r.files.root, "error", err)
		}
	}()
	end := End{Outcome: queue.JobPassed}
	for _, jobs := range byCheckout(b.Jobs) {
		if end = r.jobs(ctx, b, jobs, end, out); severity(end.Outcome) > severity(queue.JobInfra) {
			break
		}
	}
	return end
}

// begin makes the slot ready for a build. The build must find no files of another one, except
// those that are kept on purpose.
func (r *Runner) begin() error {
	if err := r.alone(); err != nil {
		return err
	}
	return r.files.fresh()
}

// alone ends all processes of the slot's user, if it has one. Steps that have namespaces leave
// no process behind.
func (r *Runner) alone() error {
	uid := r.files.guest.uidOf()
	if uid == 0 || r.files.guest.room != nil {
		return nil
	}
	s := session{uid: uid}
	if s.alive() > 0 && s.end(r.o.Grace) > 0 {
		return fmt.Errorf("processes of user %d cannot be killed, who would share the checkout", uid)
	}
	return nil
}

// byCheckout divides jobs, in their order, into groups that run in one checkout: neighbours
// with steps that want the same checkout.
func byCheckout(jobs []queue.Job) [][]queue.Job {
	var parts [][]queue.Job
	for i, j := range jobs {
		if n := len(parts); n > 0 && jobs[i-1].Step.Checkout.Equal(j.Step.Checkout) {
			parts[n-1] = append(parts[n-1], j)
		} else {
			parts = append(parts, []queue.Job{j})
		}
	}
	return parts
}

// wanted says what a checkout holds beside the files that git has; "" for nothing.
func wanted(c config.Checkout) string {
	var what []string
	if c.Submodules.On() {
		what = append(what, "submodules")
	}
	if c.LFS.On() {
		what = append(what, "files of Git LFS")
	}
	return strings.Join(what, " and ")
}

// jobs executes jobs of a build that run in one checkout. end is the outcome of the jobs before
// them; it returns the outcome of all.
func (r *Runner) jobs(ctx context.Context, b queue.Build, jobs []queue.Job, end End, out Output) End {
	want := jobs[0].Step.Checkout
	if what := wanted(want); what != "" {
		fmt.Fprintf(out.Log, "[submitqueue] fetching %s\n", what)
	}
	release, err := r.checkout(ctx, b.Commit, want)
	if err != nil {
		if ctx.Err() != nil {
			return End{Outcome: queue.JobStopped, Detail: "cancelled"}
		}
		if why := contentOf(err); why != "" {
			r.refuse(jobs, why, out)
			return worse(end, queue.JobFailed, "")
		}
		fmt.Fprintf(out.Log, "[submitqueue] cannot check out %s: %s\n", clean(string(b.Commit)), r.mask(clean(err.Error())))
		return End{Outcome: queue.JobInfra, Detail: "cannot check out: " + lastBytes(r.mask(clean(err.Error())), 500)}
	}
	defer func() {
		if err := release(); err != nil {
			r.o.Log.Warn("release checkout", "build", b.ID, "dir", r.files.checkout, "error", err)
		}
	}()
	reports, err := r.reports(jobs)
	if err != nil {
		return End{Outcome: queue.JobInfra, Detail: "cannot read the checkout: " + clean(err.Error())}
	}
	caches, err := r.fillCaches(ctx, b, jobs, out.Log)
	if err != nil {
		return End{Outcome: queue.JobInfra, Detail: "cannot fill the caches: " + lastBytes(r.mask(clean(err.Error())), 500)}
	}
	defer caches.keep() // before the checkout is released
	for i, j := range jobs {
		if i > 0 {
			if err := r.restore(ctx, b.Commit, want, out); err != nil && ctx.Err() == nil {
				return End{Outcome: queue.JobInfra, Detail: "cannot restore the checkout: " + lastBytes(r.mask(clean(err.Error())), 500)}
			}
		}
		if ctx.Err() != nil {
			return End{Outcome: queue.JobStopped, Detail: "cancelled"}
		}
		caches.begins()
		restore := func() error { return r.restore(ctx, b.Commit, want, out) }
		done, detail, again := r.job(ctx, task{build: b, job: j, reports: reports[i], log: out.Log, ended: caches.ended}, restore)
		done.Cached = caches.found()
		out.Job(done)
		if next := worse(end, done.Outcome, detail); next != end {
			end = next
			end.Matched = done.Outcome == queue.JobInfra && again != ""
		}
	}
	return end
}

// reports makes the reports of jobs, one for each time that a job may be run. It is called
// before any of their steps has run.
func (r *Runner) reports(jobs []queue.Job) ([][]*report.Report, error) {
	root, err := os.OpenRoot(r.files.checkout) // no symbolic link leads out of it
	if err != nil {
		return nil, err
	}
	defer root.Close()
	all := make([][]*report.Report, len(jobs))
	for i, j := range jobs {
		for range 1 + max(j.Step.Retries, 0) {
			read, err := r.readers.For(root.FS(), j.Step, j.Targets())
			if err != nil {
				return nil, err
			}
			all[i] = append(all[i], read)
		}
	}
	return all, nil
}

// checkout makes the files of the commit, and adds the wanted submodules and files of Git LFS.
func (r *Runner) checkout(ctx context.Context, commit queue.CommitID, want config.Checkout) (release func() error, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, r.o.CheckoutTimeout, errors.New("the checkout takes too long"))
	defer cancel()
	if release, err = r.commitFiles(ctx, commit); err != nil || want.Plain() {
		return release, err
	}
	f, ok := r.o.Checkout.(Filler)
	if !ok {
		return nil, errors.Join(errors.New("submodules and files of Git LFS cannot be fetched here"), release())
	}
	err = f.Fill(ctx, commit, r.files.checkout, want)
	if err == nil {
		err = r.files.hand()
	}
	if err != nil {
		return nil, errors.Join(context.Cause(ctx), err, release())
	}
	return release, nil
}

// commitFiles makes the files of the commit, after all processes of the slot's guest have
// ended. A directory in which that fails is removed, once, and made again: files that a step
// has left there may be the cause.
func (r *Runner) commitFiles(ctx context.Context, commit queue.CommitID) (release func() error, err error) {
	if free, ok := freeBytes(r.files.root); ok && free < r.o.MinFree {
		return nil, fmt.Errorf("disk full: %d MiB free in %s", free>>20, r.files.root)
	}
	if err := r.alone(); err != nil {
		return nil, err
	}
	release, err = r.ownFiles(ctx, commit)
	if err == nil || contentOf(err) != "" {
		return release, err
	}
	if ctx.Err() != nil {
		return nil, errors.Join(context.Cause(ctx), err)
	}
	r.o.Log.Warn("checkout failed, trying in a new directory", "commit", commit, "error", err)
	if err := RemoveAll(r.files.checkout); err != nil {
		return nil, err
	}
	return r.ownFiles(ctx, commit)
}

// ownFiles makes the files of the commit and gives them to the guest, if there is one.
// They are then compared with the commit again, by their content.
func (r *Runner) ownFiles(ctx context.Context, commit queue.CommitID) (release func() error, err error) {
	release, err = r.o.Checkout.Checkout(ctx, commit, r.files.checkout)
	if err != nil || r.files.guest == nil {
		return release, err
	}
	err = r.files.hand()
	if c, ok := r.o.Checkout.(Restorer); ok && err == nil {
		var changed []string
		if changed, err = c.Restore(ctx, commit, r.files.checkout); err == nil && len(changed) > 0 {
			err = fmt.Errorf("%s is not what it is in the commit", some(changed))
		}
	}
	if err != nil {
		return nil, errors.Join(err, release())
	}
	return release, nil
}

// restore gives the files of the commit their content again, and names in the log those that
// the step before has changed. Submodules and files of Git LFS are made anew: a step that has
// changed one of them would prove something of that change.
func (r *Runner) restore(ctx context.Context, commit queue.CommitID, want config.Checkout, out Output) error {
	c, ok := r.o.Checkout.(Restorer)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, r.o.CheckoutTimeout, errors.New("restoring the checkout takes too long"))
	defer cancel()
	changed, err := c.Restore(ctx, commit, r.files.checkout)
	if f, ok := r.o.Checkout.(Filler); ok && err == nil && !want.Plain() {
		err = f.Fill(ctx, commit, r.files.checkout, want)
	}
	if err != nil {
		return errors.Join(context.Cause(ctx), err)
	}
	if !want.Plain() { // contents of Git LFS differ from their pointers in the commit even if the step changed nothing
		return r.files.hand()
	}
	if len(changed) > 0 {
		fmt.Fprintf(out.Log, "[submitqueue] the step has changed files of the commit, which are put back for the next: %s\n", some(changed))
		return r.files.hand()
	}
	return nil
}

// some names a few of many files for people.
func some(names []string) string {
	const few = 5
	more := ""
	if n := len(names) - few; n > 0 {
		names, more = names[:few], fmt.Sprintf(" and %d more", n)
	}
	return clean(lastBytes(strings.Join(names, ", "), 500)) + more
}

// RemoveAll removes a tree even where directories are not writable.
func RemoveAll(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(path, 0o700) // the second attempt returns the error
		}
		return nil
	})
	return os.RemoveAll(dir)
}

// worse joins the outcome of a job to that of the build so far. The detail is the detail of the
// first job with the worst outcome.
func worse(end End, o queue.JobOutcome, detail string) End {
	if o == queue.JobTimeout {
		o = queue.JobFailed
	}
	if o == queue.JobPassed && detail != "" {
		o = queue.JobInfra // targets left unknown
	}
	if severity(o) > severity(end.Outcome) {
		return End{Outcome: o, Detail: detail}
	}
	return end
}

func severity(o queue.JobOutcome) int {
	switch o {
	case queue.JobPassed:
		return 0
	case queue.JobFailed, queue.JobTimeout:
		return 1
	case queue.JobInfra:
		return 2
	default:
		return 3
	}
}
