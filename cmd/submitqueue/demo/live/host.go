package live

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os/exec"
	"path/filepath"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/demo"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/server"
	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/forge/github"
)

// host is a simulated forge, with the demo's repository on it once make has made it.
type host interface {
	// receiver returns the receiver of the forge's webhooks, and the forge's name.
	receiver() (name string, r forge.Receiver, err error)
	// make makes the repository: with the plan's files as its first commit, which it
	// returns, or with all branches of its bare repository. The branch is protected, and
	// all authors may write.
	make(ctx context.Context, p *demo.Plan, name string) (first string, err error)
	// queue returns the product's queue of the repository.
	queue(branch string, log *slog.Logger) (server.Queue, error)
	// listen sends webhooks to a server at an address from now on.
	listen(address string)
	// commit puts a commit on a branch, which begins at from where it is new.
	commit(author string, c commit) (string, error)
	// open opens a pull request, and returns its number and its head.
	open(c demo.Change, base string) (number int, head string, err error)
	// comment writes a comment.
	comment(author string, number int, text string)
	// play lets a person act on the pages and with git, and returns the address for git.
	play() (clone string, err error)
	// hold keeps webhooks back until it is released.
	hold() (release func())
	// links returns the addresses for git and for people, and the forge's word for pull
	// requests.
	links() (clone, page, label string)
	Close() error
}

// commit is a commit to put on a branch.
type commit struct {
	branch, from, message string
	files                 demo.Files
}

const (
	player     = "guest" // the user that a person plays
	demoOwner  = "acme"
	demoSecret = "the-simulated-forge-signs-with-this"
)

// hub is the simulated GitHub.
type hub struct {
	server *forgetest.Server
	repo   *forgetest.Repository
}

func newHub(dir string) (host, error) {
	s, err := forgetest.New(forgetest.Options{Dir: filepath.Join(dir, "forge"), WebhookSecret: demoSecret, RateLimit: 1 << 30})
	if err != nil {
		return nil, err
	}
	return &hub{server: s}, nil
}

func (h *hub) receiver() (string, forge.Receiver, error) {
	return "github", github.NewReceiver(demoSecret), nil
}

func (h *hub) make(ctx context.Context, p *demo.Plan, name string) (first string, err error) {
	if h.repo, err = h.server.AddRepository(demoOwner, name, p.Branch); err != nil {
		return "", err
	}
	role := "write"
	if p.Bare != "" {
		role = "admin" // it is the user's own repository: every file may change
		err = pushAll(ctx, p.Bare, h.repo.Dir())
	} else {
		first, err = h.repo.Commit(demoOwner, forgetest.Commit{Branch: p.Branch, Message: firstMessage, Files: p.Base})
	}
	if err != nil {
		return "", err
	}
	for _, login := range p.Authors() {
		h.server.AddUser(login)
		h.repo.SetPermission(login, role)
	}
	h.repo.ProtectBranch(p.Branch, forgetest.Protection{AllowPushers: []string{"submitqueue", demoOwner}})
	return first, nil
}

// firstMessage is the message of a repository's first commit.
const firstMessage = "A web shop"

func (h *hub) queue(branch string, log *slog.Logger) (server.Queue, error) {
	f, err := github.New(github.Options{BaseURL: h.server.APIURL(), AppID: h.server.AppID(), PrivateKey: h.server.AppKey(),
		Owner: demoOwner, Name: h.repo.Name(), Logger: log})
	_, page, _ := h.links()
	return server.Queue{Repository: demoOwner + "/" + h.repo.Name(), Branch: branch, Forge: f, URL: page}, err
}

func (h *hub) listen(address string) { h.server.SetWebhook("http://"+address+"/webhook", demoSecret) }

func (h *hub) commit(author string, c commit) (string, error) {
	return h.repo.Commit(author, forgetest.Commit{Branch: c.branch, From: c.from, Message: c.message, Files: c.files})
}

func (h *hub) open(c demo.Change, base string) (int, string, error) {
	n, err := h.repo.Open(forgetest.Pull{Author: c.Author, Branch: c.Branch, Base: base, Title: c.Title, Body: c.Body})
	return n, h.repo.Head(c.Branch), err
}

func (h *hub) comment(author string, number int, text string) { h.repo.Comment(author, number, text) }

func (h *hub) play() (string, error) { return h.repo.Play(player) }

func (h *hub) hold() func() {
	h.server.HoldWebhooks()
	return h.server.ReleaseWebhooks
}

func (h *hub) links() (clone, page, label string) {
	return h.repo.CloneURL(), h.server.URL() + "/" + demoOwner + "/" + h.repo.Name(), "Pull requests"
}

func (h *hub) Close() error { return h.server.Close() }

// pushAll copies all branches of a bare repository into another.
func pushAll(ctx context.Context, from, to string) error {
	cmd := exec.CommandContext(ctx, "git", "push", "--quiet", to, "+refs/heads/*:refs/heads/*")
	cmd.Dir = from
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("copying the repository: %w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}
