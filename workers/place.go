package workers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// Place is a slot for whoever runs scripts that are made elsewhere (package agent): a
// checkout, a home and a folder for temporary files, isolated as the slots of a pool are.
// It is used by one script at a time.
type Place struct {
	o     RunnerOptions
	files slotFiles
}

// OpenPlaces makes the slots of a pool's options, of which only Slots, SlotsDir, Dir,
// Isolate, UIDs, Hide, Show and Runner count, and ends what an earlier process left running
// in them. release gives their users back.
func OpenPlaces(o PoolOptions) (places []*Place, release func(), err error) {
	setDefault(&o.SlotsDir, filepath.Join(o.Dir, "slots"))
	setDefault(&o.Runner.Grace, 5*time.Second)
	setDefault(&o.Runner.MinFree, 32<<20)
	if o.Runner.Env == nil {
		o.Runner.Env = os.Environ()
	}
	if err := o.isolate(); err != nil {
		return nil, nil, fmt.Errorf("workers: isolate %s: %w", o.Isolate, err)
	}
	defer func() {
		if err != nil {
			o.releaseGuests()
		}
	}()
	for i := range o.Slots {
		dir := filepath.Join(o.SlotsDir, fmt.Sprint(i+1))
		g, err := o.guest(dir)
		if err != nil {
			return nil, nil, err
		}
		p := &Place{o: o.Runner}
		if p.files, err = newSlotFiles(dir, g); err != nil {
			return nil, nil, fmt.Errorf("workers: slot: %w", err)
		}
		p.files.keep, p.files.seed = o.Runner.KeepHome, o.Runner.HomeSeed
		if left := p.end(); left > 0 {
			return nil, nil, fmt.Errorf("workers: slot %s: %d processes of an earlier run cannot be killed", p.files.root, left)
		}
		places = append(places, p)
	}
	return places, o.releaseGuests, nil
}

// end ends whatever runs in the place, and returns how many processes it could not.
func (p *Place) end() (left int) {
	left = (session{mark: p.files.root}).end(p.o.Grace)
	if g := p.files.guest; g.uidOf() != 0 {
		left += (session{uid: g.uid}).end(p.o.Grace)
	}
	return left
}

// Root is the place's folder, in which scripts write nothing but in the folders below it.
func (p *Place) Root() string { return p.files.root }

// Checkout is the folder of the files that scripts work on. The caller fills it while
// nothing runs, and then calls Hand.
func (p *Place) Checkout() string { return p.files.checkout }

// Fresh makes the place ready for a job: a new home, no temporary files, and nothing that
// runs. The checkout stays.
func (p *Place) Fresh() error {
	if free, ok := freeBytes(p.files.root); ok && free < p.o.MinFree {
		return fmt.Errorf("disk full: %d MiB free in %s", free>>20, p.files.root)
	}
	if left := p.end(); left > 0 {
		return fmt.Errorf("%d processes in %s cannot be killed", left, p.files.root)
	}
	if p.files.guest != nil {
		if err := p.files.makeOwn(p.files.checkout); err != nil {
			return err
		}
	}
	return errors.Join(os.MkdirAll(p.files.checkout, 0o755), p.files.fresh())
}

// Hand gives the checkout to the user that scripts run as.
func (p *Place) Hand() error { return p.files.hand() }

// Write writes a file beside the checkout, which scripts can read and not change, and
// returns its path. name is a plain name.
func (p *Place) Write(name string, content []byte) (path string, err error) {
	path = filepath.Join(p.files.root, "file-"+filepath.Base(name))
	_ = os.Remove(path)
	return path, p.files.write(path, content)
}

// Forget removes the files that Write has made, and what a job must not leave.
func (p *Place) Forget() error {
	written, err := filepath.Glob(filepath.Join(p.files.root, "file-*"))
	for _, path := range written {
		err = errors.Join(err, os.Remove(path))
	}
	return errors.Join(err, p.files.forget())
}

// PlaceRun is a script to be run.
type PlaceRun struct {
	Script  string            // for sh
	Env     map[string]string // beside what steps get from this process (Runner)
	Timeout time.Duration
	Out     io.Writer
}

// Run runs a script in the checkout, and returns when nothing of it is left. The error
// says that it could not be started, or that something of it cannot be killed.
func (p *Place) Run(ctx context.Context, r PlaceRun) (Exit, error) {
	path, err := p.Write("script.sh", []byte(r.Script))
	if err != nil {
		return Exit{}, err
	}
	env := map[string]string{}
	for _, pair := range environment(p.o, queue.Build{}, queue.Job{}, p.files) {
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
	e, err := command{argv: []string{"sh", path}, dir: p.files.checkout, env: all, mark: p.files.root, guest: p.files.guest,
		timeout: cmp.Or(r.Timeout, time.Hour), grace: p.o.Grace, out: r.Out}.run(ctx)
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
