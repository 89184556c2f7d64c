package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/submitqueue/submitqueue/app"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/demo"
	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/forge/github"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
)

// demoCommand runs the whole product against a simulated GitHub.
type demoCommand struct {
	demo.Flags
	Redis string `default:"auto" env:"REDIS_URL" help:"redis://... or auto: a private redis-server, or one in memory."`
}

// Run implements the command.
func (c *demoCommand) Run(ctx context.Context) error {
	err := demo.Run(ctx, c.Flags, demo.Deps{
		Start: func(ctx context.Context, runners int) (demo.Stack, error) { return startDemo(runners, c.Redis) },
		Out:   os.Stdout, Getenv: os.Getenv, Now: time.Now,
	})
	if errors.Is(err, demo.ErrWrong) || errors.Is(err, demo.ErrStuck) {
		return exitCode(1)
	}
	return err
}

const (
	demoOwner  = "acme"
	demoName   = "shop"
	demoSecret = "the-simulated-forge-signs-with-this"
)

// demoStack is a simulated GitHub and the product beside it, in one process.
type demoStack struct {
	dir     string
	log     *slog.Logger
	logFile *os.File
	hub     *forgetest.Server
	repo    *forgetest.Repository
	stack   *stack
	options stackOptions
	branch  string
	first   string // the commit that the changes start from

	builds, main atomic.Int64
}

var _ demo.Stack = (*demoStack)(nil)

func startDemo(runners int, redis string) (_ *demoStack, err error) {
	dir, err := os.MkdirTemp("", "submitqueue-demo-")
	if err != nil {
		return nil, err
	}
	d := &demoStack{dir: dir}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.Close())
		}
	}()
	if d.logFile, err = os.Create(filepath.Join(dir, "server.log")); err != nil {
		return nil, err
	}
	d.log = slog.New(slog.NewTextHandler(d.logFile, nil))
	d.hub, err = forgetest.New(forgetest.Options{Dir: filepath.Join(dir, "forge"), WebhookSecret: demoSecret, RateLimit: 1 << 30})
	if err != nil {
		return nil, err
	}
	d.options = stackOptions{Data: filepath.Join(dir, "data"), Redis: redis, Runners: runners, Listen: "127.0.0.1:0", Log: d.log,
		Receiver: map[string]forge.Receiver{"github": github.NewReceiver(demoSecret)}, Observer: d.count}
	return d, nil
}

func (d *demoStack) count(t speculation.Turn) {
	for _, n := range t.Notes {
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
	var err error
	if d.repo, err = d.hub.AddRepository(demoOwner, demoName, p.Branch); err != nil {
		return err
	}
	d.branch = p.Branch
	role := "write"
	if p.Bare != "" {
		role = "admin" // it is the user's own repository: all of it may change
		if err := pushAll(ctx, p.Bare, d.repo.Dir()); err != nil {
			return err
		}
	} else if d.first, err = d.repo.Commit(demoOwner, forgetest.Commit{Branch: p.Branch, Message: "The shop", Files: p.Base}); err != nil {
		return err
	}
	for _, login := range p.Authors() {
		d.hub.AddUser(login)
		d.repo.SetPermission(login, role)
	}
	d.repo.ProtectBranch(p.Branch, forgetest.Protection{AllowPushers: []string{"submitqueue"}})
	f, err := github.New(github.Options{BaseURL: d.hub.APIURL(), AppID: d.hub.AppID(), PrivateKey: d.hub.AppKey(),
		Owner: demoOwner, Name: demoName, Logger: d.log})
	if err != nil {
		return err
	}
	d.options.Queues = []stackQueue{{Repository: demoOwner + "/" + demoName, Branch: p.Branch, Forge: f, URL: d.hub.URL() + "/" + demoOwner + "/" + demoName}}
	if d.stack, err = startStack(ctx, d.options); err != nil {
		return err
	}
	d.hub.SetWebhook("http://"+d.stack.server.Addr()+"/webhook", demoSecret)
	return d.proven(ctx)
}

// proven waits until the queue has looked at main: what it finds there on its
// first start it builds before anything else.
func (d *demoStack) proven(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	owner := d.stack.owners[0]
	for {
		changed := owner.Changed()
		done, broken := false, ""
		owner.Read(func(c *speculation.Core) {
			m := c.State().Main
			done = m.Tip != "" && m.Surveyed == m.Tip && m.Root == ""
			if m.Config == nil {
				broken = m.Broken
			}
		})
		switch {
		case done:
			return nil
		case broken != "":
			return fmt.Errorf("%s: %s", d.branch, broken)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("%s was not proven green in time; the server's log is %s", d.branch, d.logFile.Name())
		}
	}
}

// pushAll copies all branches of a bare repository into another.
func pushAll(ctx context.Context, from, to string) error {
	cmd := exec.CommandContext(ctx, "git", "push", "--quiet", to, "+refs/heads/*:refs/heads/*")
	cmd.Dir = from
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("copying the repository: %w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

// Open implements demo.Stack.
func (d *demoStack) Open(_ context.Context, c demo.Change) (demo.Pull, error) {
	if len(c.Files) > 0 {
		if _, err := d.repo.Commit(c.Author, forgetest.Commit{Branch: c.Branch, From: d.first, Message: c.Title, Files: c.Files}); err != nil {
			return demo.Pull{}, err
		}
	}
	n, err := d.repo.OpenPull(c.Author, c.Branch, d.branch, c.Title)
	return demo.Pull{Number: n, Head: d.repo.Head(c.Branch), Change: c}, err
}

// Land implements demo.Stack.
func (d *demoStack) Land(_ context.Context, p demo.Pull) error {
	d.repo.Comment(p.Change.Author, p.Number, "/land")
	return nil
}

// Rows implements demo.Stack.
func (d *demoStack) Rows(context.Context) ([]demo.Row, error) {
	var rows []demo.Row
	now := queue.At(time.Now())
	d.stack.owners[0].Read(func(c *speculation.Core) {
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
			row := demo.RowOf(v, app.ReasonText(why), now)
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
	return demo.Links{Clone: d.repo.CloneURL(), Dashboard: d.stack.base,
		Notes: []string{"Redis: " + d.stack.redis, "Server log: " + d.logFile.Name()}}
}

// Close implements demo.Stack.
func (d *demoStack) Close() error {
	var errs []error
	if d.stack != nil {
		errs = append(errs, d.stack.close())
	}
	if d.hub != nil {
		errs = append(errs, d.hub.Close())
	}
	if d.logFile != nil {
		errs = append(errs, d.logFile.Close())
	}
	return errors.Join(append(errs, os.RemoveAll(d.dir))...)
}
