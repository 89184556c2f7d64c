package workers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// Place is a slot for scripts that another program makes (package agent): a checkout, a home
// and a folder for temporary files, isolated as the slots of a pool are. It is used by one
// script at a time.
type Place struct {
	r *Runner // of which only the slot is used
}

// OpenPlaces makes the slots of a pool's options, of which only Slots, SlotsDir, Dir, Isolate,
// UIDs, Hide, Show and Runner count, and ends the processes that an earlier process left in
// them. survey runs environment commands apart from them. release gives their users back.
func OpenPlaces(o PoolOptions) (places []*Place, survey *Survey, release func(), err error) {
	setDefault(&o.SlotsDir, filepath.Join(o.Dir, "slots"))
	setDefault(&o.Runner.Grace, 5*time.Second)
	setDefault(&o.Runner.MinFree, 32<<20)
	if o.Runner.Log == nil {
		o.Runner.Log = slog.New(slog.DiscardHandler)
	}
	if o.Runner.Env == nil {
		o.Runner.Env = os.Environ()
	}
	if err := o.takeSlots(); err != nil {
		return nil, nil, nil, err
	}
	defer func() {
		if err != nil {
			o.releaseGuests()
		}
	}()
	if err := o.isolate(); err != nil {
		return nil, nil, nil, fmt.Errorf("workers: isolate %s: %w", o.Isolate, err)
	}
	for i := range o.Slots {
		dir := filepath.Join(o.SlotsDir, fmt.Sprint(i+1))
		g, err := o.guest(dir)
		if err != nil {
			return nil, nil, nil, err
		}
		p := &Place{&Runner{o: o.Runner, mask: newMask(o.Runner.Mask)}}
		if p.r.files, err = newSlotFiles(dir, g); err != nil {
			return nil, nil, nil, fmt.Errorf("workers: slot: %w", err)
		}
		p.r.files.keep, p.r.files.seed = o.Runner.KeepHome, o.Runner.HomeSeed
		if left := p.end(); left > 0 {
			return nil, nil, nil, fmt.Errorf("workers: slot %s: %d processes of an earlier run cannot be killed", p.r.files.root, left)
		}
		if err := p.r.openCaches(); err != nil {
			return nil, nil, nil, fmt.Errorf("workers: caches of slot %s: %w", p.r.files.root, err)
		}
		places = append(places, p)
	}
	if err := o.openTools(); err != nil {
		return nil, nil, nil, err
	}
	return places, &Survey{o: o.Runner, dir: o.tools.dir, guest: o.tools.guest}, o.releaseGuests, nil
}

// end ends all processes in the place, and returns how many it could not end.
func (p *Place) end() (left int) {
	left = (session{mark: p.r.files.root}).end(p.r.o.Grace)
	if g := p.r.files.guest; g.uidOf() != 0 {
		left += (session{uid: g.uid}).end(p.r.o.Grace)
	}
	return left
}

// Root is the place's folder. Scripts can write only in folders below it.
func (p *Place) Root() string { return p.r.files.root }

// Checkout is the folder of the files that scripts work on. The caller fills it while
// nothing runs, and then calls Hand.
func (p *Place) Checkout() string { return p.r.files.checkout }

// Fresh makes the place ready for a job: a new home, no temporary files, and no processes. The
// checkout stays.
func (p *Place) Fresh() error {
	if full := p.Room(); full != "" {
		return errors.New(full)
	}
	if left := p.end(); left > 0 {
		return fmt.Errorf("%d processes in %s cannot be killed", left, p.r.files.root)
	}
	if p.r.files.guest != nil {
		if err := p.r.files.makeOwn(p.r.files.checkout); err != nil {
			return err
		}
	}
	return errors.Join(os.MkdirAll(p.r.files.checkout, 0o755), p.r.files.fresh())
}

// Full says for people that the place's disk is full, or "". A failure on a full disk says
// nothing of a change.
func (p *Place) Full() string { return p.r.lowDisk() }

// Room is Full of a place in which nothing runs: files that an earlier script left in the
// checkout are removed first.
func (p *Place) Room() string {
	if full := p.r.lowDisk(); full == "" {
		return ""
	}
	if err := RemoveAll(p.r.files.checkout); err != nil {
		p.r.o.Log.Warn("empty the checkout on a full disk", "dir", p.r.files.checkout, "error", err)
	}
	return p.r.lowDisk()
}

// Hand gives the checkout to the user that scripts run as.
func (p *Place) Hand() error { return p.r.files.hand() }

// Write writes a file beside the checkout, which scripts can read and not change, and
// returns its path. name is a plain name.
func (p *Place) Write(name string, content []byte) (path string, err error) {
	path = filepath.Join(p.r.files.root, "file-"+filepath.Base(name))
	_ = os.Remove(path)
	return path, p.r.files.write(path, content)
}

// Forget removes the files that Write has made, the temporary files, and the home unless it is
// kept.
func (p *Place) Forget() error {
	written, err := filepath.Glob(filepath.Join(p.r.files.root, "file-*"))
	for _, path := range written {
		err = errors.Join(err, os.Remove(path))
	}
	return errors.Join(err, p.r.files.forget())
}

// PlaceRun is a script to be run.
type PlaceRun struct {
	Script  string            // for sh
	Env     map[string]string // besides the variables that steps get from this process (Runner)
	Timeout time.Duration
	Out     io.Writer
}

// Run runs a script in the checkout, and returns when all its processes have ended. The error
// says that it could not be started, or that some of its processes cannot be killed.
func (p *Place) Run(ctx context.Context, r PlaceRun) (Exit, error) {
	path, err := p.Write("script.sh", []byte(r.Script))
	if err != nil {
		return Exit{}, err
	}
	env := map[string]string{}
	for _, pair := range environment(p.r.o, queue.Build{}, queue.Job{}, p.r.files) {
		if name, value, _ := strings.Cut(pair, "="); !strings.HasPrefix(name, "SUBMITQUEUE_") || name == markVar {
			env[name] = value
		}
	}
	for name, value := range r.Env {
		if name != markVar {
			env[name] = value
		}
	}
	var all []string
	for name, value := range env {
		all = append(all, name+"="+value)
	}
	sort.Strings(all)
	start := time.Now()
	e, err := command{argv: []string{"sh", path}, dir: p.r.files.checkout, env: all, mark: p.r.files.root, guest: p.r.files.guest,
		timeout: cmp.Or(r.Timeout, time.Hour), grace: p.r.o.Grace, out: r.Out}.run(ctx)
	if err != nil {
		return Exit{}, err
	}
	x := Exit{Code: e.code, Took: time.Since(start), Stopped: e.stopped, Lost: lost(e), How: how(e)}
	if e.timedOut {
		x.TimedOut = cmp.Or(r.Timeout, time.Hour)
	}
	if e.left > 0 {
		return x, fmt.Errorf("%d processes of the script cannot be killed", e.left)
	}
	return x, nil
}

// Mask returns a function that shows secrets as ***, as they are and as programs encode
// them.
func Mask(values []string) func(string) string { return newMask(values) }
