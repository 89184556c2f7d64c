package model

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"time"

	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/client"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
	"github.com/submitqueue/submitqueue/queue"
)

// Command shows the models that a server has learned of a queue, and chooses among them.
type Command struct {
	List  list   `cmd:"" default:"withargs" help:"The models that are kept, how good each is, and which is planned with."`
	Use   choose `cmd:"" help:"Plan with an earlier model, with none, or with the newest that is better than none. It takes the permission over the queue."`
	Learn learn  `cmd:"" help:"Have the server learn a new model now."`
}

type list struct {
	client.Flags
	JSON bool `name:"json" help:"Print the answer as JSON."`
}

// Run implements the command.
func (l *list) Run(ctx context.Context) error {
	c, err := l.Open()
	if err != nil {
		return err
	}
	path := "/api/models?" + query(l.Queue).Encode()
	if l.JSON {
		return c.Print(ctx, path)
	}
	var m api.Models
	if err := c.Get(ctx, path, &m); err != nil {
		return err
	}
	listed(m)
	return nil
}

func query(name string) url.Values {
	q := url.Values{}
	if name != "" {
		q.Set("queue", name)
	}
	return q
}

func listed(m api.Models) {
	p := print.Stdout()
	fmt.Printf("%s: %s\n", print.OneLine(m.Queue), print.OneLine(m.Text))
	if m.Tried != nil && m.Tried.Why != "" {
		fmt.Println("the latest attempt to learn has made no model: " + print.OneLine(m.Tried.Why))
	}
	if m.Learning {
		fmt.Println("a new model is being learned")
	}
	for _, v := range m.Versions {
		in := ""
		if v.Version == m.Using {
			in = ", in use"
		}
		fmt.Println()
		fmt.Printf("model %d%s, made %s of %s\n", v.Version, in, p.Clock(v.At), print.Counted(v.Changes, "change"))
		fmt.Println("  chances of changes: " + print.OneLine(v.Good.Text))
		fmt.Println("  durations: " + print.OneLine(v.Took.Text))
	}
}

type choose struct {
	client.Flags
	Model string `arg:"" help:"A version, none, or newest." placeholder:"VERSION"`
}

// Run implements the command.
func (u *choose) Run(ctx context.Context) error {
	version, err := strconv.Atoi(u.Model)
	if err != nil && u.Model != queue.ModelNone && u.Model != queue.ModelNewest {
		return print.UsageError(fmt.Sprintf("%q is no model: name a version, none or newest", u.Model))
	}
	c, err := u.Open()
	if err != nil {
		return err
	}
	q, err := c.Command(ctx, "/api/model", api.ModelCommand{Queue: u.Queue, Choose: u.Model}, func(q api.Queue, _ time.Time) bool {
		return q.Away == "" && q.Model.Fixed == (u.Model != queue.ModelNewest) && (u.Model == queue.ModelNewest || q.Model.Using == version)
	})
	if err != nil {
		return err
	}
	if q.Model.Using == 0 {
		fmt.Println("no model is planned with")
		return nil
	}
	fmt.Printf("model %d is planned with from now on; earlier predictions stay\n", q.Model.Using)
	return nil
}

type learn struct{ client.Flags }

// Run implements the command.
func (l *learn) Run(ctx context.Context) error {
	c, err := l.Open()
	if err != nil {
		return err
	}
	cmd := api.ModelCommand{Queue: l.Queue, Choose: queue.ModelLearn}
	q, err := c.Command(ctx, "/api/model", cmd, func(q api.Queue, at time.Time) bool { return q.Model.Learning || !q.Model.Latest.Before(at) })
	if err != nil {
		return err
	}
	if q.Model.Learning {
		fmt.Fprintln(os.Stderr, "submitqueue: the server learns; to leave it to that, press Ctrl-C")
	}
	if err := c.Until(ctx, q.Name, func(q api.Queue) bool { return !q.Model.Learning }); err != nil {
		return err
	}
	var m api.Models
	if err := c.Get(ctx, "/api/models?"+query(q.Name).Encode(), &m); err != nil {
		return err
	}
	listed(m)
	return nil
}
