package client

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
	"path/filepath"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
)

// Flags say which server a command talks to.
type Flags struct {
	Server string `env:"SUBMITQUEUE_SERVER" help:"Address of the server; default: the one that this user runs." placeholder:"URL"`
	Data   string `default:"${data}" env:"SUBMITQUEUE_DATA" help:"Data folder of the server that this user runs." type:"path"`
	Queue  string `env:"SUBMITQUEUE_QUEUE" help:"Name of the queue, where the server has several." placeholder:"NAME"`
}

// Client talks to a server's JSON API.
type Client struct {
	Base, Token string
}

// noServer is the place in the documentation about servers that are not found.
const noServer = "troubleshoot#no-server-was-found"

// Open returns a client of the server that the flags name, or of the one that this user
// runs. Its error says how to name one.
func (f Flags) Open() (*Client, error) {
	c := &Client{Token: os.Getenv(api.TokenVariable)}
	if f.Server != "" {
		var err error
		if c.Base, err = baseOf(f.Server); err != nil {
			return nil, err
		}
	}
	if c.Base == "" || c.Token == "" {
		known, err := ReadFile(f.Data)
		switch {
		case err == nil:
			if c.Base == "" {
				c.Base = known.URL
			}
			if c.Token == "" && c.Base == known.URL {
				c.Token = known.Token
			}
		case c.Base == "":
			return nil, print.Documented(fmt.Errorf("no server has its data in %s. Start one with: submitqueue serve --forge local --repo /path/to/repository.git; say the --data that yours was started with; or name it with --server", f.Data), noServer)
		}
	}
	return c, nil
}

// baseOf returns the URL of a server that a person has named.
func baseOf(server string) (string, error) {
	text := server
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(strings.TrimSuffix(text, "/"))
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", print.UsageError(fmt.Sprintf("--server %q is no address: write http://HOST:PORT", server))
	}
	return u.String(), nil
}

// Answered is a server's answer that a request did not work.
type Answered struct {
	Status int
	text   string
}

// Error implements error, in the server's own words.
func (e *Answered) Error() string { return e.text }

// Get reads the server's answer at a path into out.
func (c *Client) Get(ctx context.Context, path string, out any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.Base+path, nil)
	if err != nil {
		return err
	}
	return c.do(req, out)
}

// Post sends a command, nil for none, and reads the answer into out.
func (c *Client) Post(ctx context.Context, path string, in, out any) error {
	var body bytes.Buffer
	if in != nil {
		if err := json.NewEncoder(&body).Encode(in); err != nil {
			return err
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.Base+path, &body)
	if err != nil {
		return err
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return c.do(req, out)
}

// documented matches the address of a place in the documentation, as a server gives it.
var documented = regexp.MustCompile(`^/docs/([a-z-]+#[a-z0-9_-]+)$`)

// placeIn returns the place in the documentation that an address names; "": it names none.
func placeIn(address string) string {
	if m := documented.FindStringSubmatch(address); m != nil {
		return m[1]
	}
	return ""
}

// do sends a request and reads the answer into out.
func (c *Client) do(req *http.Request, out any) error {
	ctx, cancel := context.WithTimeout(req.Context(), 30*time.Second)
	defer cancel()
	req = req.WithContext(ctx)
	if c.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.Token)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		return print.Documented(fmt.Errorf("the server at %s does not answer; start it with: submitqueue serve (%w)", c.Base, errors.Unwrap(err)), noServer)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(res.Body, 16<<20))
	if err != nil {
		return err
	}
	if res.StatusCode == http.StatusUnauthorized {
		return print.Documented(&Answered{res.StatusCode, fmt.Sprintf("%s wants a token that counts: set %s to yours, which submitqueue token add NAME makes where the server runs; the server's own is in %s of its data folder (--data)",
			c.Base, api.TokenVariable, filepath.Base(PathOf("")))}, "troubleshoot#the-token-is-missing-or-wrong")
	}
	if res.StatusCode/100 != 2 {
		var e api.Error
		if json.Unmarshal(raw, &e) == nil && e.Error != "" {
			return print.Documented(&Answered{res.StatusCode, e.Error}, placeIn(e.Doc))
		}
		return &Answered{res.StatusCode, fmt.Sprintf("%s answered %s; is it a submitqueue server?", c.Base, res.Status)}
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return fmt.Errorf("%s does not answer as a submitqueue server: %w", c.Base, err)
	}
	return nil
}

// UserName returns the name of the user that runs this program.
func UserName() string {
	if u, err := user.Current(); err == nil && u.Username != "" && !strings.ContainsFunc(u.Username, unicode.IsSpace) {
		return u.Username
	}
	return "operator"
}

// Command gives a command about the queue and waits until the queue has followed it.
func (c *Client) Command(ctx context.Context, path string, cmd any, followed func(q api.Queue, at time.Time) bool) (q api.Queue, err error) {
	var ok api.Accepted
	if err := c.Post(ctx, path, cmd, &ok); err != nil {
		return q, err
	}
	name := url.Values{"queue": {ok.Queue}}.Encode()
	end := time.After(commandLimit)
	for {
		q = api.Queue{} // a field that this answer leaves out must not keep its earlier value
		if err := c.Get(ctx, "/api/queue?"+name, &q); err != nil {
			return q, err
		}
		if followed(q, ok.At) {
			return q, nil
		}
		var notes []api.Note
		if err := c.Get(ctx, "/api/history?max=20&"+name, &notes); err != nil {
			return q, err
		}
		for _, n := range notes {
			if n.What == "command-refused" && n.Reason != nil && !n.At.Before(ok.At) {
				return q, print.Documented(errors.New(print.OneLine(n.Reason.Text)), strings.TrimPrefix(n.Reason.Doc, "/docs/"))
			}
		}
		select {
		case <-ctx.Done():
			return q, ctx.Err()
		case <-end:
			return q, errors.New("the command is stored, and nothing has come of it yet; see: submitqueue status")
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// Until waits, without a limit, until wanted is true for a queue.
func (c *Client) Until(ctx context.Context, name string, wanted func(api.Queue) bool) error {
	path := "/api/queue?" + url.Values{"queue": {name}}.Encode()
	for {
		var q api.Queue
		if err := c.Get(ctx, path, &q); err != nil {
			return err
		}
		if wanted(q) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// commandLimit bounds how long Command waits.
const commandLimit = 20 * time.Second

// Print prints what the API answers, indented.
func (c *Client) Print(ctx context.Context, path string) error {
	var raw json.RawMessage
	if err := c.Get(ctx, path, &raw); err != nil {
		return err
	}
	return print.JSON(os.Stdout, raw)
}
