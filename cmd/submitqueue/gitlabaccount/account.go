package gitlabaccount

import (
	"cmp"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
)

// Flags say which GitLab to use, and as which account.
type Flags struct {
	URL    string `name:"url" env:"SUBMITQUEUE_GITLAB_URL" help:"Address of the GitLab instance (default: https://gitlab.com)." placeholder:"URL"`
	Token  string `name:"token-file" env:"SUBMITQUEUE_GITLAB_TOKEN_FILE" type:"path" help:"File with the token that the queue acts by on GitLab (default: gitlab-token in the data folder)." placeholder:"FILE"`
	Secret string `name:"secret-file" env:"SUBMITQUEUE_GITLAB_SECRET_FILE" type:"path" help:"File with what GitLab's webhooks prove themselves by: their signing token (whsec_...), or, on instances that do not sign, their secret token (default: gitlab-secret in the data folder)." placeholder:"FILE"`
}

// Site is the address of the instance.
func (g Flags) Site() string {
	return strings.TrimSuffix(cmp.Or(g.URL, "https://gitlab.com"), "/")
}

// TokenFile is the file of the token.
func (g Flags) TokenFile(data string) string {
	return cmp.Or(g.Token, filepath.Join(data, "gitlab-token"))
}

// SecretFile is the file of the webhooks' secret.
func (g Flags) SecretFile(data string) string {
	return cmp.Or(g.Secret, filepath.Join(data, "gitlab-secret"))
}

// ReadToken reads the token. Where there is none, the error says how to get one.
func (g Flags) ReadToken(data string) (string, error) {
	name := g.TokenFile(data)
	text, err := read(name)
	if errors.Is(err, os.ErrNotExist) {
		return "", print.Documented(print.UsageError(fmt.Sprintf("there is no token of GitLab in %s: make one with the scope api, for an account that is a maintainer of the project, and write it to that file (or name another with --gitlab-token-file); %s/-/user_settings/personal_access_tokens is the page for a user's, Settings > Access tokens that of a project or a group", name, g.Site())), "install-gitlab#the-token")
	}
	return text, err
}

// ProjectPath returns the path of a project or a group; text may also be its URL.
func ProjectPath(text string) string {
	if u, err := url.Parse(text); err == nil && u.Host != "" {
		text, _, _ = strings.Cut(u.Path, "/-/")
	}
	return strings.TrimSuffix(strings.Trim(text, "/"), ".git")
}

// ErrNone says that there is no secret yet.
var ErrNone = errors.New("there is no secret of GitLab's webhooks yet")

// LeastSecret is the least length of a secret token of webhooks: with a right guess, a
// stranger can give the queue commands in anybody's name.
const LeastSecret = 16

// SigningPrefix is the beginning of a key of signed webhooks.
const SigningPrefix = "whsec_"

// ReadSecret reads the webhooks' secret. ErrNone: there is none.
func (g Flags) ReadSecret(data string) (string, error) {
	name := g.SecretFile(data)
	text, err := read(name)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", print.Documented(fmt.Errorf("%w: %s is not there; submitqueue setup gitlab PROJECT makes it together with the webhook (or name another file with --gitlab-secret-file)", ErrNone, name), "install-gitlab#the-webhook")
	case err != nil:
		return "", err
	case !strings.HasPrefix(text, SigningPrefix) && len(text) < LeastSecret:
		return "", print.UsageError(fmt.Sprintf("the secret token in %s has less than %d characters; take the file away, and submitqueue setup gitlab PROJECT makes another", name, LeastSecret))
	}
	return text, nil
}

func read(name string) (string, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	if text := strings.TrimSpace(string(data)); text != "" {
		return text, nil
	}
	return "", print.UsageError(name + " is empty")
}

// NewSigning makes a key for signed webhooks.
func NewSigning() string { return SigningPrefix + base64.StdEncoding.EncodeToString(random()) }

// NewSecret makes a secret for webhooks that are not signed.
func NewSecret() string { return hex.EncodeToString(random()) }

func random() []byte {
	raw := make([]byte, 32)
	rand.Read(raw)
	return raw
}

// Draft is a file that is to replace another one, as a whole or not at all, and that only
// this user can read. Its room on the disk is reserved from the beginning: when Keep is
// called, its text may exist nowhere else.
type Draft struct {
	f    *os.File
	name string
}

// room is more bytes than any secret takes.
const room = 4096

// NewDraft begins a draft beside the file of this name.
func NewDraft(name string) (*Draft, error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*") // of mode 0600
	if err != nil {
		return nil, err
	}
	d := &Draft{f, name}
	_, err = f.Write(make([]byte, room))
	if err = errors.Join(err, f.Sync()); err != nil {
		return nil, errors.Join(err, d.Drop())
	}
	return d, nil
}

// Keep writes a text into the draft, and replaces the file by it.
func (d *Draft) Keep(text string) error {
	_, err := d.f.WriteAt([]byte(text+"\n"), 0)
	err = errors.Join(err, d.f.Truncate(int64(len(text)+1)), d.f.Sync(), d.f.Close())
	if err == nil {
		err = os.Rename(d.f.Name(), d.name)
	}
	return err
}

// Drop removes the draft.
func (d *Draft) Drop() error {
	return errors.Join(d.f.Close(), os.Remove(d.f.Name()))
}

// Chosen is the choice on the set-up page: the instance and the projects that a server
// serves where its command line names none.
type Chosen struct {
	URL      string   `json:"url,omitempty"`
	Projects []string `json:"projects"`
}

func chosenFile(data string) string { return filepath.Join(data, "gitlab.json") }

// ReadChosen reads the choice; it is zero where nobody has chosen.
func ReadChosen(data string) (c Chosen, err error) {
	raw, err := os.ReadFile(chosenFile(data))
	if errors.Is(err, os.ErrNotExist) {
		return c, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &c)
	}
	if err != nil {
		return Chosen{}, fmt.Errorf("%s cannot be read; take it away to choose anew on the set-up page: %w", chosenFile(data), err)
	}
	return c, nil
}

// Keep writes the choice down.
func (c Chosen) Keep(data string) error {
	raw, err := json.Marshal(c)
	if err != nil {
		return err
	}
	d, err := NewDraft(chosenFile(data))
	if err != nil {
		return err
	}
	return d.Keep(string(raw))
}
