package githubapp

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
)

// Flags say which App to work as, and at which GitHub.
type Flags struct {
	App           string `name:"github-app" env:"SUBMITQUEUE_GITHUB_APP" type:"existingfile" help:"File with the App's credentials, as the set-up page makes it; default: github-app.json in the data folder." placeholder:"FILE"`
	AppID         int64  `env:"SUBMITQUEUE_GITHUB_APP_ID" help:"Id of the GitHub App, without such a file." placeholder:"ID"`
	AppKey        string `env:"SUBMITQUEUE_GITHUB_APP_KEY" type:"existingfile" help:"File with the App's private key (PEM)." placeholder:"FILE"`
	GithubURL     string `env:"SUBMITQUEUE_GITHUB_URL" help:"REST address of GitHub Enterprise: https://HOST/api/v3/." placeholder:"URL"`
	WebhookSecret string `env:"SUBMITQUEUE_WEBHOOK_SECRET" help:"File with the webhook's secret." type:"existingfile" placeholder:"FILE"`
}

// File is the credentials of a GitHub App. Every reader of the file can act as the
// App.
type File struct {
	API           string `json:"api,omitempty"` // REST address; empty: GitHub's own
	ID            int64  `json:"id"`
	Slug          string `json:"slug,omitempty"`
	URL           string `json:"url,omitempty"` // page of the App, for people
	ClientID      string `json:"client_id,omitempty"`
	ClientSecret  string `json:"client_secret,omitempty"`
	WebhookSecret string `json:"webhook_secret"`
	Key           string `json:"key"` // PEM
}

// PathOf returns the path of the file with an App's credentials in a data folder.
func PathOf(data string) string { return filepath.Join(data, "github-app.json") }

// ErrNone: neither flags nor a file name an App.
var ErrNone = errors.New("no GitHub App is given")

// Load returns the App's credentials from the flags or from the file. ErrNone: there
// are neither.
func (g Flags) Load(data string) (File, error) {
	a, err := g.load(data)
	return a, print.Documented(err, "install#credentials-of-the-app")
}

func (g Flags) load(data string) (File, error) {
	if g.AppID != 0 || g.AppKey != "" || g.WebhookSecret != "" {
		return g.parts()
	}
	name := g.App
	if name == "" {
		name = PathOf(data)
	}
	raw, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) && g.App == "" {
		return File{}, ErrNone
	} else if err != nil {
		return File{}, fmt.Errorf("the App's credentials: %w", err)
	}
	var a File
	if err := json.Unmarshal(raw, &a); err != nil || a.ID == 0 || a.Key == "" || a.WebhookSecret == "" {
		return File{}, fmt.Errorf("the App's credentials: %s is not a file that the set-up page has made; take it away to make an App anew", name)
	}
	if g.GithubURL != "" {
		a.API = g.GithubURL
	}
	return a, nil
}

func (g Flags) parts() (File, error) {
	if g.AppID == 0 || g.AppKey == "" || g.WebhookSecret == "" {
		return File{}, errors.New("GitHub needs --app-id, --app-key and --webhook-secret (or their environment variables); without all three, the server makes an App on its set-up page")
	}
	key, err := os.ReadFile(g.AppKey)
	if err != nil {
		return File{}, fmt.Errorf("the App's key: %w", err)
	}
	raw, err := os.ReadFile(g.WebhookSecret)
	if err != nil {
		return File{}, fmt.Errorf("the webhook's secret: %w", err)
	}
	secret := strings.TrimSpace(string(raw))
	if len(secret) < 16 {
		return File{}, errors.New("the webhook's secret is shorter than 16 characters; make one with: openssl rand -hex 32")
	}
	return File{API: g.GithubURL, ID: g.AppID, Key: string(key), WebhookSecret: secret}, nil
}

// Save writes the credentials to a file that only this user can read, as a whole or not
// at all.
func (a File) Save(path string) (err error) {
	raw, err := json.MarshalIndent(a, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".github-app-*") // of mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	_, err = f.Write(append(raw, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// OwnerAndName takes "OWNER/NAME" apart; a URL, and a .git at the end, are accepted, too.
func OwnerAndName(text string) (owner, name string, err error) {
	given := text
	if u, err := url.Parse(text); err == nil && u.Host != "" {
		text = u.Path
	}
	owner, name, ok := strings.Cut(strings.TrimSuffix(strings.Trim(text, "/"), ".git"), "/")
	if !ok || owner == "" || name == "" || strings.Contains(name, "/") {
		return "", "", print.UsageError(fmt.Sprintf("%q is not OWNER/NAME", given))
	}
	return owner, name, nil
}
