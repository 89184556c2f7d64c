//go:build unix

package chaos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Options are what a Run needs.
type Options struct {
	Program string        // the product's binary
	Dir     string        // an empty folder for all that it makes
	Seed    uint64        // of all random draws
	For     time.Duration // how long faults come
	Settle  time.Duration // how long after the last fault each change must have its verdict; 0: a minute
	Pending int           // how many changes are asked for at a time; 0: 8
	Faults  []string      // of the names that Faults returns; none: all
	Out     io.Writer     // gets a line for each thing that is done
}

// Report is the result of a Run.
type Report struct {
	Seed       uint64         `json:"seed"`
	Took       time.Duration  `json:"took"`
	Faults     map[string]int `json:"faults"`
	Left       []string       `json:"left_out,omitempty"` // faults that this machine does not allow, with the reason
	Asked      int            `json:"asked"`
	Landed     int            `json:"landed"`
	Rejected   int            `json:"rejected"`
	Others     int            `json:"others"` // cancelled, or nothing left to land
	Commits    int            `json:"commits"`
	Settled    time.Duration  `json:"settled"` // from the last fault to the last verdict
	Violations []string       `json:"violations,omitempty"`
}

const (
	endLimit   = 30 * time.Second // for a server to end when it is told to
	auditEvery = 10               // faults between two looks at main
)

// run is a Run under way. The authors and the faults run in separate goroutines.
type run struct {
	o      Options
	dir    string
	began  time.Time
	draw   *rand.Rand // of the faults
	world  *world     // guarded by worldMu
	redis  *redis
	log    *os.File
	pasts  int
	lossy  atomic.Bool // Redis has lost writes, or its content was too old by the clock
	report *Report

	worldMu sync.Mutex
	mu      sync.Mutex // guards the fields below
	server  *server
	outMu   sync.Mutex
}

// Run runs a server under faults. The error is about the harness; errors of the product are
// violations in the report.
func Run(ctx context.Context, o Options) (*Report, error) {
	if o.Settle == 0 {
		o.Settle = time.Minute
	}
	if o.Pending == 0 {
		o.Pending = 8
	}
	if len(o.Faults) == 0 {
		o.Faults = Faults()
	}
	for _, name := range o.Faults {
		if !slices.Contains(Faults(), name) {
			return nil, noFault(name)
		}
	}
	if _, err := exec.LookPath("redis-server"); err != nil {
		return nil, errors.New("chaos kills and starts a redis-server of its own, and there is none on the PATH")
	}
	r := &run{o: o, dir: o.Dir, began: time.Now(), draw: rand.New(rand.NewPCG(o.Seed, 1)),
		report: &Report{Seed: o.Seed, Faults: map[string]int{}}}
	return r.report, r.all(ctx)
}

func (r *run) all(ctx context.Context) (err error) {
	defer func() { r.report.Took = time.Since(r.began) }()
	data := filepath.Join(r.dir, "data")
	if err := errors.Join(os.Chmod(r.dir, 0o711), os.MkdirAll(data, 0o700)); err != nil {
		return err
	}
	if slices.Contains(r.o.Faults, "disk") {
		if why := mountSmall(data); why != nil {
			r.report.Left = append(r.report.Left, "disk: "+why.Error())
			r.o.Faults = slices.DeleteFunc(slices.Clone(r.o.Faults), func(name string) bool { return name == "disk" })
		} else {
			defer func() { err = errors.Join(err, syscall.Unmount(data, 0)) }()
		}
	}
	if r.log, err = os.Create(filepath.Join(r.dir, "server.log")); err != nil {
		return err
	}
	defer r.log.Close()
	if r.world, err = newWorld(ctx, filepath.Join(r.dir, "repo.git"), rand.New(rand.NewPCG(r.o.Seed, 2))); err != nil {
		return err
	}
	if r.redis, err = newRedis(ctx, filepath.Join(r.dir, "redis")); err != nil {
		return err
	}
	defer r.redis.close()
	r.server = r.newServer(data)
	if err := r.server.start(ctx); err != nil {
		return err
	}
	if err := r.under(ctx); err != nil {
		_, ended := r.now().end(syscall.SIGKILL, time.Minute)
		return errors.Join(err, ended)
	}
	r.settle(ctx)
	code, err := r.server.end(syscall.SIGTERM, endLimit)
	if err != nil {
		return err
	}
	if code != 0 {
		r.wrong("told to end at the end, the server ends with %d", code)
	}
	if err := until(ctx, 10*time.Second, func() bool { return len(left(data)) == 0 }); err != nil && ctx.Err() == nil {
		r.wrong("the server has left processes: %s", strings.Join(left(data), "; "))
	}
	return ctx.Err()
}

func (r *run) newServer(data string) *server {
	return &server{program: r.o.Program, data: data, env: []string{"SUBMITQUEUE_CLOCK=" + r.clock()}, log: r.log, args: []string{"serve", "--forge", "local", "--repo", r.world.dir, "--data", data,
		"--redis", "redis://" + r.redis.wire.addr(), "--listen", "127.0.0.1:0", "--runners", "2", "--slots-dir", r.slots(data)}}
}

// slots is the folder in which the steps of a server run, perhaps as other users than the
// server's.
func (r *run) slots(data string) string { return filepath.Join(r.dir, "slots-"+filepath.Base(data)) }

// now is the server that authors talk to.
func (r *run) now() *server {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.server
}

func (r *run) use(s *server) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.server = s
}

// under injects faults while authors ask to land changes.
func (r *run) under(ctx context.Context) error {
	asking, stop := context.WithCancel(ctx)
	var authors sync.WaitGroup
	var failed error
	authors.Go(func() { failed = r.authors(asking) })
	defer authors.Wait()
	defer stop()
	for n := 0; time.Since(r.began) < r.o.For && ctx.Err() == nil; n++ {
		pause(ctx, time.Duration(500+r.draw.IntN(4000))*time.Millisecond)
		name := r.o.Faults[r.draw.IntN(len(r.o.Faults))]
		r.report.Faults[name]++
		if err := r.fault(ctx, name); err != nil && ctx.Err() == nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if n%auditEvery == auditEvery-1 {
			if err := r.look(ctx); err != nil {
				return err
			}
		}
	}
	stop()
	authors.Wait()
	if failed != nil && ctx.Err() == nil {
		return failed
	}
	return ctx.Err()
}

// authors asks for changes, so that some are always pending.
func (r *run) authors(ctx context.Context) error {
	var open []*change
	for ctx.Err() == nil {
		open = slices.DeleteFunc(open, func(c *change) bool { return r.phaseOf(ctx, c).final })
		for len(open) < r.o.Pending && ctx.Err() == nil {
			r.worldMu.Lock()
			c, err := r.world.next(ctx)
			r.worldMu.Unlock()
			if err != nil {
				if ctx.Err() != nil {
					err = nil // ctx ended while the fault ran
				}
				return err
			}
			r.ask(ctx, c)
			open = append(open, c)
			if c.moves && c.number != 0 {
				r.worldMu.Lock()
				err = r.world.push(ctx, c)
				r.worldMu.Unlock()
				if err != nil && ctx.Err() == nil {
					return err
				}
			}
		}
		pause(ctx, 200*time.Millisecond)
	}
	return nil
}

// ask asks for a change again and again, until a server says that it has the command.
// The key makes all requests one command.
func (r *run) ask(ctx context.Context, c *change) {
	for ctx.Err() == nil {
		var accepted struct{ Number int }
		err := r.now().land(ctx, c.branch, map[string]any{"branch": c.branch}, &accepted)
		if err == nil {
			c.number = accepted.Number
			return
		}
		pause(ctx, 100*time.Millisecond)
	}
}

// phase is what the API says of a change.
type phase struct {
	name, why string
	final     bool
}

func (r *run) phaseOf(ctx context.Context, c *change) phase {
	if c.number == 0 {
		return phase{why: "no server has taken it"}
	}
	var v struct {
		Phase  string
		Final  bool
		Reason struct{ Text string }
		Notice struct{ Text string } // the answer to a command that was not followed
	}
	if err := r.now().get(ctx, fmt.Sprintf("/api/change?id=%d", c.number), &v); err != nil {
		// A store that was emptied has forgotten old verdicts. A change without a verdict
		// is asked for again from the repository, and is known then.
		forgotten := r.lossy.Load() && strings.Contains(err.Error(), "404")
		return phase{name: "forgotten", why: strings.TrimSpace(err.Error()), final: forgotten}
	}
	if v.Phase == "" && v.Notice.Text != "" {
		return phase{"refused", v.Notice.Text, true}
	}
	return phase{v.Phase, v.Reason.Text, v.Final}
}

// settle waits for the verdicts that are left, and judges all changes.
func (r *run) settle(ctx context.Context) {
	r.note("no more faults: each change is to have its verdict within %v", r.o.Settle)
	from := time.Now()
	var open []*change
	for _, c := range r.world.changes {
		if c.number != 0 { // the authors had not finished asking for the others when the faults ended
			open = append(open, c)
			r.report.Asked++
		}
	}
	ended, again := map[*change]phase{}, map[*change]bool{}
	_ = until(ctx, r.o.Settle, func() bool {
		open = slices.DeleteFunc(open, func(c *change) bool {
			p := r.phaseOf(ctx, c)
			if p.final {
				ended[c] = p
			}
			if p.name == "parked" && !again[c] { // its author reads why, and tries once more
				again[c] = r.now().land(ctx, c.branch+" again", map[string]any{"branch": c.branch, "retry": true}, new(any)) == nil
			}
			return p.final
		})
		return len(open) == 0
	})
	r.report.Settled = time.Since(from)
	l, wrong, err := r.world.audit(ctx)
	if err != nil && ctx.Err() == nil {
		wrong = append(wrong, err.Error())
	}
	r.report.Commits = l.commits
	for _, text := range wrong {
		r.wrong("%s", text)
	}
	for _, c := range open {
		if p := r.phaseOf(ctx, c); !p.final && ctx.Err() == nil {
			r.wrong("#%d %s has no verdict after %v: %s %s", c.number, c.branch, r.o.Settle, p.name, p.why)
		}
	}
	for _, c := range r.world.changes {
		p, ok := ended[c]
		if !ok {
			continue
		}
		switch {
		case l.landed(c):
			r.report.Landed++
		case p.name == "rejected":
			r.report.Rejected++
		default:
			r.report.Others++
		}
		if p.name == "refused" && !c.moves {
			r.wrong("#%d %s was refused: %s", c.number, c.branch, p.why)
		}
		if text := l.verdict(c, p.name); text != "" {
			r.wrong("#%d %s (%s)", c.number, text, p.why)
		}
	}
}

// look audits main while the faults go on.
func (r *run) look(ctx context.Context) error {
	r.worldMu.Lock()
	l, wrong, err := r.world.audit(ctx)
	r.worldMu.Unlock()
	if err != nil {
		return err
	}
	r.note("main has %d commits", l.commits)
	for _, text := range wrong {
		r.wrong("%s", text)
	}
	return nil
}

func (r *run) note(format string, args ...any) {
	r.outMu.Lock()
	defer r.outMu.Unlock()
	d := time.Since(r.began)
	fmt.Fprintf(r.o.Out, "%2d:%04.1f  %s\n", int(d.Minutes()), d.Seconds()-60*float64(int(d.Minutes())), fmt.Sprintf(format, args...))
}

// wrong notes a violation, once.
func (r *run) wrong(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !slices.Contains(r.report.Violations, text) {
		r.report.Violations = append(r.report.Violations, text)
		r.note("VIOLATION  %s", text)
	}
}

// Print writes the report.
func (p *Report) Print(to io.Writer) {
	fmt.Fprintf(to, "seed %d, %v: %d changes asked for, %d landed, %d rejected, %d otherwise; %d commits on main; the last verdict %v after the last fault\n",
		p.Seed, p.Took.Round(time.Second), p.Asked, p.Landed, p.Rejected, p.Others, p.Commits, p.Settled.Round(100*time.Millisecond))
	var did []string
	for _, name := range slices.Sorted(maps.Keys(p.Faults)) {
		did = append(did, fmt.Sprintf("%s %d", name, p.Faults[name]))
	}
	fmt.Fprintf(to, "faults: %s\n", strings.Join(did, ", "))
	for _, text := range p.Left {
		fmt.Fprintf(to, "left out: %s\n", text)
	}
	fmt.Fprintf(to, "violations: %d\n", len(p.Violations))
	for _, text := range p.Violations {
		fmt.Fprintf(to, "  %s\n", text)
	}
}
