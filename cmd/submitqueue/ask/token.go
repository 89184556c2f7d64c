package ask

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/submitqueue/submitqueue/app/access"
	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/client"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
)

// Token manages the tokens of a server, in its data folder. A running server sees
// changes at once; no server needs to run.
type Token struct {
	Add    tokenAddCommand    `cmd:"" help:"Make a token for somebody, or for a program, and print it once."`
	List   tokenListCommand   `cmd:"" help:"List the tokens."`
	Remove tokenRemoveCommand `cmd:"" help:"Take a token away; sessions of browsers that it has opened end with it."`
	Link   tokenLinkCommand   `cmd:"" help:"Print a link that signs one browser in, once, within an hour."`
}

// tokenFlags name the server that has the tokens.
type tokenFlags struct {
	Data string `default:"${data}" env:"SUBMITQUEUE_DATA" help:"Data folder of the server." type:"path"`
}

// open returns the tokens of the folder, which must exist.
func (f tokenFlags) open() (*access.Tokens, error) {
	if info, err := os.Stat(f.Data); errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return nil, fmt.Errorf("no server has its data in %s: say the --data that it was started with, or start it first", f.Data)
	}
	return access.NewTokens(f.Data), nil
}

// tokenAddCommand makes a token.
type tokenAddCommand struct {
	tokenFlags
	Name    string `arg:"" help:"Its owner: requests made with it are made in this name. To land on GitHub, use the name of the account."`
	Role    string `enum:"read,land,admin" default:"read" help:"Its role: read; land, which is to land and cancel as well; or admin, which is everything (read, land, admin)."`
	Expires string `default:"90d" help:"When it ends: 12h, 90d, a day such as 2027-01-31, or never." placeholder:"WHEN"`
}

// Run implements the command.
func (l *tokenAddCommand) Run() error {
	now := time.Now().UTC().Truncate(time.Second)
	expires, err := expiry(l.Expires, now)
	if err != nil {
		return err
	}
	role, err := access.ParseRole(l.Role)
	if err != nil {
		return print.UsageError(err.Error())
	}
	tokens, err := l.open()
	if err != nil {
		return err
	}
	secret, err := tokens.Add(access.Token{Name: l.Name, Role: role, Made: now, Expires: expires})
	if err != nil {
		return err
	}
	// Only the token is on the standard output, so that it can be redirected into a file.
	fmt.Fprintf(os.Stderr, "%s, until %s. This is shown once:\n", mayDo(l.Name, role), until(expires))
	fmt.Println(secret)
	return nil
}

func mayDo(name string, role access.Role) string {
	switch role {
	case access.Admin:
		return name + " may do everything"
	case access.Land:
		return name + " may read, land and cancel"
	}
	return name + " may read"
}

func until(expires time.Time) string {
	if expires.IsZero() {
		return "it is removed"
	}
	return expires.UTC().Format("2006-01-02 15:04 MST")
}

// expiry returns the moment that a text names; zero means never.
func expiry(text string, now time.Time) (time.Time, error) {
	if text == "never" {
		return time.Time{}, nil
	}
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		if !day.After(now) {
			return time.Time{}, print.UsageError("--expires " + text + " is over")
		}
		return day, nil
	}
	d, err := time.ParseDuration(text)
	if days, is := strings.CutSuffix(text, "d"); is {
		var n int
		n, err = strconv.Atoi(days)
		if n > 100*365 {
			err = errors.New("too long")
		}
		d = time.Duration(n) * 24 * time.Hour
	}
	if err != nil || d <= 0 {
		return time.Time{}, print.UsageError(fmt.Sprintf("--expires %q is no time: write 12h, 90d, a day such as 2027-01-31, or never", text))
	}
	return now.Add(d), nil
}

// tokenListCommand lists the tokens.
type tokenListCommand struct{ tokenFlags }

// Run implements the command.
func (l *tokenListCommand) Run() error {
	tokens, err := l.open()
	if err != nil {
		return err
	}
	list, err := tokens.List()
	if err != nil {
		return err
	}
	if len(list) == 0 {
		fmt.Println("There are no tokens; make one with: submitqueue token add NAME --role read")
		return nil
	}
	return printTokens(os.Stdout, list, time.Now())
}

func printTokens(out io.Writer, list []access.Token, now time.Time) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, t := range list {
		ends := "never ends"
		switch {
		case t.Expired(now):
			ends = "has ended"
		case !t.Expires.IsZero():
			ends = "until " + until(t.Expires)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\tmade %s\n", print.OneLine(t.Name), print.OneLine(string(t.Role)), ends, t.Made.UTC().Format(time.DateOnly))
	}
	return w.Flush()
}

// tokenRemoveCommand takes a token away.
type tokenRemoveCommand struct {
	tokenFlags
	Name string `arg:"" help:"Whose; console ends the sessions that the links of starts and the server's own token have opened."`
}

// Run implements the command.
func (l *tokenRemoveCommand) Run() error {
	tokens, err := l.open()
	if err != nil {
		return err
	}
	if err := tokens.Remove(l.Name, time.Now()); err != nil {
		if errors.Is(err, access.ErrNoToken) {
			return fmt.Errorf("%s has no token here; see: submitqueue token list", print.OneLine(l.Name))
		}
		return err
	}
	if l.Name == access.Console {
		fmt.Println("the sessions of the console have ended; sign in again with: submitqueue token link")
		return nil
	}
	fmt.Printf("%s has no token any more\n", print.OneLine(l.Name))
	return nil
}

// tokenLinkCommand asks the server for a link.
type tokenLinkCommand struct{ client.Flags }

// Run implements the command.
func (l *tokenLinkCommand) Run(ctx context.Context) error {
	c, err := l.Flags.Open()
	if err != nil {
		return err
	}
	var link api.Link
	if err := c.Post(ctx, "/api/link", nil, &link); err != nil {
		return err
	}
	base := c.Base
	if link.URL != "" {
		base = link.URL
	}
	if link.Public {
		fmt.Fprintln(os.Stderr, "Everybody may read here (--public); nobody needs to sign in.")
		fmt.Println(base)
		return nil
	}
	fmt.Fprintln(os.Stderr, "Open this in a browser within an hour; it is good once:")
	fmt.Println(base + link.Path)
	return nil
}
