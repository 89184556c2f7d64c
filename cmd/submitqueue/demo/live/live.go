package live

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/demo"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/server"
	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
)

// Command runs the whole product against a simulated forge.
type Command struct {
	demo.Flags
	Redis string `default:"auto" placeholder:"URL" help:"A Redis that runs already, as redis://HOST:PORT/DB; the data of the demo stays there. Unless told, a private redis-server, or where there is none one in memory."`
}

// Run implements the command.
func (c *Command) Run(ctx context.Context) error {
	file, err := os.CreateTemp("", "submitqueue-demo-*.log")
	if err != nil {
		return err
	}
	dir, err := demoFolder()
	if err != nil {
		return errors.Join(err, file.Close(), os.Remove(file.Name()))
	}
	err = demo.Run(ctx, c.Flags, demo.Deps{
		Start: func(_ context.Context, runners int) (demo.Stack, error) {
			return startDemo(demoOptions{Dir: dir, Runners: runners, Redis: c.Redis, Forge: c.Forge, Log: file})
		},
		Out: os.Stdout, Getenv: os.Getenv, Now: time.Now,
	})
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, "Some of the demo's files are left:", err)
	}
	interrupted := errors.Is(err, context.Canceled)
	if interrupted {
		fmt.Fprintln(os.Stderr, "Interrupted; everything is stopped and removed.")
	}
	err = errors.Join(err, file.Close())
	kept, keepErr := keepLog(file.Name(), err != nil && !interrupted)
	if kept {
		fmt.Fprintln(os.Stderr, "The server's log is kept in", file.Name())
	}
	if errors.Is(err, demo.ErrWrong) || errors.Is(err, demo.ErrStuck) {
		return print.ExitCode(1)
	}
	return errors.Join(err, keepErr)
}

// demoFolder makes the one folder of a demo and points TMPDIR into it for the rest of
// the process: so files that a killed build leaves are removed with the folder.
func demoFolder() (string, error) {
	dir, err := os.MkdirTemp("", "submitqueue-demo-")
	if err != nil {
		return "", err
	}
	tmp := filepath.Join(dir, "tmp")
	return dir, errors.Join(os.Mkdir(tmp, 0o700), os.Setenv("TMPDIR", tmp))
}

// keepLog removes a demo's log, unless the demo failed and the log has a warning or an error.
func keepLog(path string, failed bool) (kept bool, err error) {
	if failed {
		text, err := os.ReadFile(path)
		if err != nil || bytes.Contains(text, []byte("level=WARN")) || bytes.Contains(text, []byte("level=ERROR")) {
			return err == nil, err
		}
	}
	return false, os.Remove(path)
}

// hosts are the simulated forges, by the name of the flag.
var hosts = map[string]func(dir string) (host, error){"github": newHub, "gitlab": newLab}

// demoOptions are what a demoStack needs beside the plan.
type demoOptions struct {
	Dir     string // empty but for tmp; the code that made it removes it
	Runners int
	Redis   string // as in server.Options
	Forge   string // "github" or "gitlab"
	Log     *os.File
}

// demoStack is a simulated forge and the product beside it, in one process.
type demoStack struct {
	log     *slog.Logger
	logFile string
	host    host
	stack   *server.Stack
	options server.Options
	branch  string
	mark    string // the forge's sign before a number
	first   string // the commit that the changes start from
	keeps   bool   // its Redis outlives it, so no two demos may have the same names

	builds, main atomic.Int64

	timing  sync.Mutex
	asked   map[queue.BuildID]queue.Instant // builds of main
	slowest time.Duration                   // the slowest of them
}

var _ demo.Stack = (*demoStack)(nil)

func startDemo(o demoOptions) (_ *demoStack, err error) {
	d := &demoStack{logFile: o.Log.Name(), log: slog.New(slog.NewTextHandler(o.Log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.Close())
		}
	}()
	d.keeps = o.Redis != "" && o.Redis != "auto"
	if d.host, err = hosts[o.Forge](o.Dir); err != nil {
		return nil, err
	}
	name, receiver, err := d.host.receiver()
	if err != nil {
		return nil, err
	}
	d.options = server.Options{Data: filepath.Join(o.Dir, "data"), Redis: o.Redis, Runners: o.Runners, Listen: "127.0.0.1:0", Log: d.log,
		Receiver: map[string]forge.Receiver{name: receiver}, Observer: d.count}
	return d, nil
}

func (d *demoStack) count(t speculation.Turn) {
	for _, n := range t.Notes {
		d.time(t.Now, n)
		switch {
		case n.What != "build-asked":
		case n.Change == "":
			d.main.Add(1)
		default:
			d.builds.Add(1)
		}
	}
}

// Publish implements demo.Stack.
func (d *demoStack) Publish(ctx context.Context, p *demo.Plan) error {
	name := p.Name
	if d.keeps {
		name += "-" + strings.ToLower(rand.Text()[:8])
	}
	var err error
	if d.first, err = d.host.make(ctx, p, name); err != nil {
		return err
	}
	d.branch = p.Branch
	q, err := d.host.queue(p.Branch, d.log)
	if err != nil {
		return err
	}
	d.options.Open = p.Bare == "" // a repository that the demo has made is no secret
	d.mark = q.Mark
	d.options.Queues = []server.Queue{q}
	if d.stack, err = server.Start(ctx, d.options); err != nil {
		return err
	}
	d.host.listen(d.stack.Server.Addr())
	return d.proven(ctx)
}

// surveyed is how long the queue may take to look at main, without its builds.
const surveyed = 5 * time.Minute

// proven waits until main is proven: at its first start, the queue builds main before
// anything else. The steps say how long such a build may take.
func (d *demoStack) proven(ctx context.Context) error {
	owner := d.stack.Owners[0]
	limit := time.NewTimer(surveyed)
	defer limit.Stop()
	for {
		changed := owner.Changed()
		var v queue.QueueView
		var why []string
		owner.Read(func(c *speculation.Core) {
			v = c.Queue(owner.Queue)
			why = redKeys(c.State().Ledger, v.Red)
		})
		switch m := v.Main; {
		case m.Tip != "" && m.Surveyed == m.Tip && m.Root == "":
			return nil
		case m.Config == nil && m.Broken != "":
			return fmt.Errorf("%s: %s", d.branch, m.Broken)
		case len(v.Red) > 0:
			return fmt.Errorf("%s itself is red, so nothing can land on it; mend it first:%s", d.branch, strings.Join(why, ""))
		case len(v.MainBuilds) > 0:
			limit.Reset(surveyed)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		case <-limit.C:
			return fmt.Errorf("%s was not proven green in time", d.branch)
		}
	}
}

// redKeys says, in a line for each target, what failed on it.
func redKeys(ledger map[queue.Digest]*queue.Entry, targets []string) []string {
	var lines []string
	for _, target := range targets {
		line := "\n  " + target
		for _, e := range ledger {
			if len(e.Failures) > 0 && slices.ContainsFunc(e.Keys, func(k queue.Key) bool { return k.Target == target }) {
				line += ": " + demo.Telling(e.Failures[len(e.Failures)-1].Tail)
				break
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// Open implements demo.Stack.
func (d *demoStack) Open(_ context.Context, c demo.Change) (demo.Pull, error) {
	if len(c.Files) > 0 {
		if _, err := d.host.commit(c.Author, commit{branch: c.Branch, from: d.first, message: c.Title, files: c.Files}); err != nil {
			return demo.Pull{}, err
		}
	}
	n, head, err := d.host.open(c, d.branch)
	return demo.Pull{Number: n, Mark: d.mark, Head: head, Change: c}, err
}

// Land implements demo.Stack.
func (d *demoStack) Land(_ context.Context, p demo.Pull) error {
	d.host.comment(p.Change.Author, p.Number, "/land")
	return nil
}

// Retry implements demo.Stack.
func (d *demoStack) Retry(_ context.Context, p demo.Pull) error {
	d.host.comment(p.Change.Author, p.Number, "/land retry")
	return nil
}

// Play implements demo.Stack.
func (d *demoStack) Play() (string, error) { return d.host.play() }

// Rows implements demo.Stack.
func (d *demoStack) Rows(context.Context) ([]demo.Row, error) {
	var rows []demo.Row
	now := queue.At(time.Now())
	d.stack.Owners[0].Read(func(c *speculation.Core) {
		for n := range c.State().Pulls {
			v, ok := c.PullView(n)
			if !ok {
				continue
			}
			why := v.Change.Reason
			if len(v.Waits) > 0 {
				why = v.Waits[0]
			}
			if v.Change.ID == "" {
				why = v.Notice
			}
			row := demo.RowOf(v, texts.Words{Mark: d.mark}.Reason(queue.Change{}, why), now)
			row.Number = n
			rows = append(rows, row)
		}
	})
	return rows, nil
}

// Stats implements demo.Stack.
func (d *demoStack) Stats(context.Context) (demo.Stats, error) {
	return demo.Stats{Builds: int(d.builds.Load()), Main: int(d.main.Load())}, nil
}

// Links implements demo.Stack.
func (d *demoStack) Links() demo.Links {
	redis := d.stack.Redis
	if d.keeps {
		redis += "; the demo's keys begin with sq:{" + d.options.Queues[0].Key() + "}"
	}
	dashboard := d.stack.Base
	if !d.options.Open {
		dashboard += d.stack.Server.Link()
	}
	clone, page, label := d.host.links()
	return demo.Links{Clone: clone, Dashboard: dashboard, Pulls: page, Label: label,
		Notes: []string{"Redis: " + redis, "Server log: " + d.logFile}}
}

// Close implements demo.Stack.
func (d *demoStack) Close() error {
	var errs []error
	if d.stack != nil {
		errs = append(errs, d.stack.Close())
	}
	if d.host != nil {
		errs = append(errs, d.host.Close())
	}
	return errors.Join(errs...)
}
