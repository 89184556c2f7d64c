package live

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"path/filepath"
	"sync"
	"time"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/demo"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/server"
	"github.com/submitqueue/submitqueue/forge"
	fake "github.com/submitqueue/submitqueue/forge/forgetest/gitlab"
	"github.com/submitqueue/submitqueue/forge/gitlab"
)

// labKey is the key that the simulated GitLab signs its webhooks with.
const labKey = "whsec_dGhlLXNpbXVsYXRlZC1naXRsYWItc2lnbnMtd2l0aC10aGlz"

// labTick is how often the simulated GitLab does GitLab's work in the background.
const labTick = 10 * time.Millisecond

// lab is the simulated GitLab.
type lab struct {
	server  *fake.Server
	project *fake.Project
	reader  string // token of a user with the right to read
	sending sync.Mutex
	stop    context.CancelFunc
	done    chan struct{}
}

func newLab(dir string) (host, error) {
	s, err := fake.New(fake.Options{Dir: filepath.Join(dir, "forge")})
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	l := &lab{server: s, stop: stop, done: make(chan struct{})}
	go l.work(ctx)
	return l, nil
}

// work runs GitLab's background jobs and sends its webhooks until ctx ends.
func (l *lab) work(ctx context.Context) {
	defer close(l.done)
	tick := time.NewTicker(labTick)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		l.server.Settle()
		l.sending.Lock()
		l.server.Deliver(ctx)
		l.sending.Unlock()
	}
}

func (l *lab) receiver() (string, forge.Receiver, error) {
	r, err := gitlab.NewReceiver(gitlab.Secret{Signing: labKey})
	return "gitlab", r, err
}

func (l *lab) make(ctx context.Context, p *demo.Plan, name string) (first string, err error) {
	if l.project, err = l.server.AddProject(demoOwner+"/"+name, p.Branch); err != nil {
		return "", err
	}
	level := 30
	if p.Bare != "" {
		level = 50 // it is the user's own repository: every file may change
		if err := pushAll(ctx, p.Bare, l.project.Dir()); err != nil {
			return "", err
		}
		l.project.LookAgain()
	} else {
		first = l.project.Begin(firstMessage, p.Base)
	}
	l.reader = l.server.AddUser("reader")
	l.project.SetLevel("reader", 20)
	l.project.SetLevel(demoOwner, 50)
	for _, login := range p.Authors() {
		l.server.AddUser(login)
		l.project.SetLevel(login, level)
	}
	l.project.Protect(p.Branch, fake.Guard{Push: 40, Merge: 40})
	return first, nil
}

func (l *lab) queue(branch string, log *slog.Logger) (server.Queue, error) {
	f, err := gitlab.New(gitlab.Options{BaseURL: l.server.URL(), Token: l.server.BotToken(), Project: l.project.Path(), Logger: log})
	_, page, _ := l.links()
	return server.Queue{Repository: l.project.Path(), Branch: branch, Forge: f, URL: page, Mark: gitlab.Mark}, err
}

func (l *lab) listen(address string) {
	l.project.AddHook(fake.Hook{URL: "http://" + address + gitlab.HookPath, Signing: labKey})
}

func (l *lab) commit(author string, c commit) (string, error) {
	return l.project.Commit(author, fake.Commit{Branch: c.branch, From: c.from, Message: c.message, Files: c.files})
}

func (l *lab) open(c demo.Change, base string) (int, string, error) {
	head := l.project.Tip(c.Branch)
	if head == "" {
		return 0, "", errors.New("there is no branch " + c.Branch)
	}
	return l.project.Open(fake.Opening{Author: c.Author, Source: c.Branch, Target: base, Title: c.Title, Body: c.Body}), head, nil
}

func (l *lab) comment(author string, number int, text string) {
	l.project.Comment(author, number, text)
}

func (l *lab) play() (string, error) { return l.project.Play(player) }

func (l *lab) hold() func() {
	l.sending.Lock()
	return l.sending.Unlock
}

func (l *lab) links() (clone, page, label string) {
	u, err := url.Parse(l.server.URL())
	if err == nil {
		u.User, u.Path = url.UserPassword("reader", l.reader), "/"+l.project.Path()+".git"
		clone = u.String()
	}
	return clone, l.server.URL() + "/" + l.project.Path(), "Merge requests"
}

func (l *lab) Close() error {
	l.stop()
	<-l.done
	return l.server.Close()
}
