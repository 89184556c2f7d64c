package forgetest

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Options says how a Server behaves. The zero value is a working GitHub with no
// webhook configured.
type Options struct {
	// Dir is where the bare repositories live. Empty: a temporary folder that
	// Close removes.
	Dir string
	// Slug is the App's name in URLs; the bot's login is Slug + "[bot]".
	// Empty: "submitqueue".
	Slug string
	// Permissions are the permissions that the App was granted, such as "contents":
	// "write". Nil: contents, pull_requests, issues, checks and actions "write",
	// metadata and statuses "read".
	Permissions map[string]string
	// WebhookURL is where webhooks go. Empty: none are sent until SetWebhook.
	WebhookURL string
	// WebhookSecret signs webhooks. Empty: they are sent without a signature.
	WebhookSecret string
	// TokenLife is how long an installation token lives. 0: one hour.
	TokenLife time.Duration
	// RateLimit is the number of REST requests the installation, the App and each
	// user have per hour. 0: a million, since simulated days pass in minutes;
	// GitHub's own is 5,000.
	RateLimit int
	// Points is the same for GraphQL, in points. 0: a million; GitHub's own is 5,000
	// ("Rate limits and query limits for the GraphQL API").
	Points int
	// Secondary switches on GitHub's secondary limit on creating content: one Creation
	// for each client that has a RateLimit.
	Secondary bool
	// Key is the App's private key. Nil: a key that is made once for the process, since
	// making one takes about as long as a whole test.
	Key *rsa.PrivateKey
	// Now is the clock for the times in answers and webhooks; credentials expire by the
	// real clock. Nil: time.Now.
	Now func() time.Time
	// Judge looks at each REST request and answer. Nil: there is no judge.
	Judge Judge
	// Logger gets one line per request at debug level. Nil: nothing is logged.
	Logger *slog.Logger
}

// Server is a simulated GitHub. Make one with New; Close it.
type Server struct {
	App *App // the App of the queue, and where it is installed
	web *web // HTTP

	opts   Options
	url    string
	http   *http.Server
	ownDir bool
	log    *slog.Logger
	stop   context.CancelFunc
	done   sync.WaitGroup

	active sync.WaitGroup // requests being answered

	mu       sync.Mutex
	closed   bool
	changed  chan struct{} // closed and replaced whenever something changes
	lastID   int64
	users    map[string]*user
	teams    map[string][]string // "org/team" → logins, all in small letters
	teamIDs  map[string]int64
	repos    map[string]*Repository
	tokens   map[string]*token
	faults   []*Fault
	outage   *outage
	requests []Request
	hooks    hooks
	former   map[string]int64 // former full names in lower case → repository
}

const (
	appID          = 1001
	installationID = 2002
)

var processKey = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 1024) })

// New starts a server on a port of the kernel's choice.
func New(o Options) (*Server, error) {
	if o.Slug == "" {
		o.Slug = "submitqueue"
	}
	if o.Permissions == nil {
		o.Permissions = map[string]string{
			"contents": "write", "pull_requests": "write", "issues": "write",
			"checks": "write", "metadata": "read", "actions": "write", "statuses": "read",
		}
	}
	if o.TokenLife == 0 {
		o.TokenLife = time.Hour
	}
	if o.RateLimit == 0 {
		o.RateLimit = 1_000_000
	}
	if o.Points == 0 {
		o.Points = 1_000_000
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Key == nil {
		key, err := processKey()
		if err != nil {
			return nil, fmt.Errorf("make the App's key: %w", err)
		}
		o.Key = key
	}
	s := &Server{
		opts: o, log: o.Logger, changed: make(chan struct{}), lastID: 10_000,
		users: map[string]*user{}, repos: map[string]*Repository{},
		tokens: map[string]*token{},
	}
	s.App = &App{server: s, installs: map[string]*installation{everyAccount: {id: installationID}}}
	s.web = &web{server: s}
	if o.Dir == "" {
		dir, err := os.MkdirTemp("", "forgetest-")
		if err != nil {
			return nil, err
		}
		s.opts.Dir, s.ownDir = dir, true
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s.url = "http://" + ln.Addr().String()
	s.users[strings.ToLower(s.Bot())] = &user{id: 3003, login: s.Bot(), kind: "Bot", site: s.url}

	ctx, cancel := context.WithCancel(context.Background())
	s.stop = cancel
	s.hooks.url, s.hooks.secret = o.WebhookURL, o.WebhookSecret
	s.hooks.wake = make(chan struct{}, 1)
	s.http = &http.Server{Handler: s.web.handler(), ReadHeaderTimeout: 10 * time.Second}
	s.done.Go(func() {
		if err := s.http.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			s.log.Error("serve", "err", err)
		}
	})
	s.done.Go(func() { s.deliver(ctx) })
	return s, nil
}

// Close stops the server and removes the repositories if the folder is its own.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.stop()
	err := s.http.Close()
	s.done.Wait()
	s.active.Wait() // a push that arrived is carried out
	if s.ownDir {
		err = errors.Join(err, os.RemoveAll(s.opts.Dir))
	}
	return err
}

// URL returns the server's address without a final slash. REST is at
// URL()+"/api/v3/".
func (s *Server) URL() string { return s.url }

// APIURL returns the base URL to give to a client of the REST interface.
func (s *Server) APIURL() string { return s.url + "/api/v3/" }

// AppID returns the id of the GitHub App that the server knows.
func (s *Server) AppID() int64 { return appID }

// InstallationID is the id of the App's one installation.
func (s *Server) InstallationID() int64 { return installationID }

// AppKey returns the App's private key as PEM.
func (s *Server) AppKey() []byte {
	return pem.EncodeToMemory(&pem.Block{
		Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(s.opts.Key),
	})
}

// Bot returns the login under which the App acts.
func (s *Server) Bot() string { return s.opts.Slug + "[bot]" }

// AddRepository makes an empty public repository; its owner becomes a user with
// admin permission. The first commit goes to defaultBranch by Repository.Commit.
func (s *Server) AddRepository(owner, name, defaultBranch string) (*Repository, error) {
	dir := filepath.Join(s.opts.Dir, owner, name+".git")
	if err := initBare(dir, defaultBranch); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addRepository(owner, name, defaultBranch, dir), nil
}

func (s *Server) addRepository(owner, name, defaultBranch, dir string) *Repository {
	r := (&Repository{
		s: s, id: s.nextID(), owner: s.addUser(owner), name: name, dir: dir, main: defaultBranch,
		roles:  map[string]string{strings.ToLower(owner): "admin"},
		pulls:  map[int]*pull{},
		guards: map[string]Protection{},
		known:  map[string]bool{},
	}).assemble()
	s.repos[strings.ToLower(owner+"/"+name)] = r
	s.touch()
	return r
}

// Repository returns a repository that was added before, or nil.
func (s *Server) Repository(owner, name string) *Repository {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.repos[strings.ToLower(owner+"/"+name)]
}

func (s *Server) nextID() int64 {
	s.lastID++
	return s.lastID
}

// Changed returns a channel that is closed at the next change on the server: take
// it, look, and wait for it before looking again.
func (s *Server) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// touch wakes all that wait for a change. The caller holds s.mu.
func (s *Server) touch() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// wait returns when ok, called with s.mu held, returns true.
func (s *Server) wait(ctx context.Context, ok func() bool) error {
	for {
		s.mu.Lock()
		if ok() {
			s.mu.Unlock()
			return nil
		}
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *Server) now() time.Time { return s.opts.Now().UTC().Truncate(time.Second) }
