package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/user"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/submitqueue/submitqueue/app"
)

// clientFlags say which server a command talks to.
type clientFlags struct {
	Server string `env:"SUBMITQUEUE_SERVER" help:"Address of the server; default: the one that this user runs." placeholder:"URL"`
	Data   string `default:"${data}" env:"SUBMITQUEUE_DATA" help:"Data folder of the server that this user runs." type:"path"`
	Queue  string `env:"SUBMITQUEUE_QUEUE" help:"Name of the queue, where the server has several." placeholder:"NAME"`
}

// client talks to a server's JSON API.
type client struct {
	base, token string
}

func (f clientFlags) open() (*client, error) {
	c := &client{base: strings.TrimSuffix(f.Server, "/"), token: os.Getenv(app.TokenVariable)}
	if c.base == "" || c.token == "" {
		known, err := readClient(f.Data)
		switch {
		case err == nil:
			if c.base == "" {
				c.base = known.URL
			}
			if c.token == "" && c.base == known.URL {
				c.token = known.Token
			}
		case c.base == "":
			return nil, errors.New("no server is known here. Start one with: submitqueue serve --forge local --repo /path/to/repository.git; or name one with --server")
		}
	}
	return c, nil
}

// call sends a request and reads the answer into out.
func (c *client) call(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		raw, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(raw)
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return err
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		return fmt.Errorf("the server at %s does not answer; start it with: submitqueue serve (%w)", c.base, errors.Unwrap(err))
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(res.Body, 16<<20))
	if err != nil {
		return err
	}
	if res.StatusCode/100 != 2 {
		var e app.APIError
		if json.Unmarshal(raw, &e) == nil && e.Error != "" {
			return errors.New(e.Error)
		}
		return fmt.Errorf("the server answered %s", res.Status)
	}
	return json.Unmarshal(raw, out)
}

func userName() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "unknown"
}

// landCommand asks to land.
type landCommand struct {
	clientFlags
	What string `arg:"" help:"Branch of a local repository, or number of a pull request." placeholder:"BRANCH|NUMBER"`
	Wait bool   `help:"Wait for the verdict; exit 1 unless it landed."`
}

// Run implements the command.
func (l *landCommand) Run(ctx context.Context) error {
	c, err := l.open()
	if err != nil {
		return err
	}
	cmd := app.LandCommand{Queue: l.Queue, User: userName(), Branch: l.What}
	if n, err := strconv.Atoi(strings.TrimPrefix(l.What, "#")); err == nil && n > 0 {
		cmd.Number, cmd.Branch = n, ""
	}
	var ok app.APIAccepted
	if err := c.call(ctx, http.MethodPost, "/api/land", cmd, &ok); err != nil {
		return err
	}
	fmt.Printf("asked to land as #%d\n", ok.Number)
	if !l.Wait {
		return nil
	}
	return c.wait(ctx, ok.Queue, strconv.Itoa(ok.Number))
}

// wait follows a change to its verdict.
func (c *client) wait(ctx context.Context, queue, id string) error {
	shown := ""
	for {
		var ch app.APIChange
		err := c.call(ctx, http.MethodGet, "/api/change?"+url.Values{"queue": {queue}, "id": {id}}.Encode(), nil, &ch)
		if err == nil {
			if line := sentence(ch); line != shown {
				fmt.Println(line)
				shown = line
			}
			switch {
			case ch.Phase == "landed":
				return nil
			case ch.Final:
				p := sheet{out: os.Stdout, width: columnsOf(os.Stdout), now: time.Now(), base: c.base}
				p.reasons(ch)
				p.evidence(ch)
				return exitCode(1)
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(300 * time.Millisecond):
		}
	}
}

// cancelCommand takes a change out.
type cancelCommand struct {
	clientFlags
	ID string `arg:"" help:"Id of a change, or number of a pull request or request."`
}

// Run implements the command.
func (l *cancelCommand) Run(ctx context.Context) error {
	c, err := l.open()
	if err != nil {
		return err
	}
	cmd := app.CancelCommand{Queue: l.Queue, User: userName(), ID: l.ID}
	if n, err := strconv.Atoi(strings.TrimPrefix(l.ID, "#")); err == nil && n > 0 {
		cmd.Number, cmd.ID = n, ""
	}
	var ok app.APIAccepted
	if err := c.call(ctx, http.MethodPost, "/api/cancel", cmd, &ok); err != nil {
		return err
	}
	fmt.Printf("asked to cancel #%d; see: submitqueue status %d\n", ok.Number, ok.Number)
	return nil
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// oneLine and printable keep hostile text from speaking to the terminal.
func oneLine(s string) string { return strings.ReplaceAll(printable(s), "\n", " ") }

func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp): // what turns the text around, and what nobody sees
			return -1
		case r == '\n' || r == '\t' || r >= ' ' && r != 0x7f && (r < 0x80 || r > 0x9f):
			return r
		}
		return '?'
	}, s)
}
