package gitlab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Options says how a Server behaves. The zero value is a working GitLab of the free tier.
type Options struct {
	// Dir is where the bare repositories live. Empty: a temporary folder that Close removes.
	Dir string
	// Seed chooses the order of background jobs and of webhooks.
	Seed uint64
	// Held keeps background jobs until Settle or RunJob.
	Held bool
	// Premium switches on the endpoints that the free tier refuses with 403 or 404.
	Premium bool
	// Unsigned leaves webhooks unsigned, as before version 19 or with that feature off.
	Unsigned bool
	// Bot is the name of the bot's account. Empty: "submitqueue".
	Bot string
	// Dateless leaves out when approvals were given, as versions before 17 do.
	Dateless bool
	// NotesPerMinute is how many notes an account may write in a minute. 0: any number;
	// gitlab.com takes 60.
	NotesPerMinute int
	// Unchecked makes GraphQL not know the checks of a merge request, as before version
	// 16.5.
	Unchecked bool
	// BranchHooks is the largest number of changes of a kind in one push for which hooks
	// are sent. 0: GitLab's default, 3.
	BranchHooks int
	// Now is the clock, to which Server.Pass adds. Nil: time.Now.
	Now func() time.Time
	// Judge looks at each REST request and answer. Nil: there is no judge.
	Judge func(Exchange)
	// Logger gets one line per request at debug level. Nil: nothing is logged.
	Logger *slog.Logger
}

// Exchange is one request to the REST interface and its answer.
type Exchange struct {
	Request *http.Request // its body has been read
	Body    []byte
	Status  int
	Answer  []byte
}

// Server is a simulated GitLab. Make one with New; Close it.
type Server struct {
	opts   Options
	url    string
	http   *http.Server
	ownDir bool
	log    *slog.Logger
	done   sync.WaitGroup

	mu       sync.Mutex
	rng      *rand.Rand
	skew     time.Duration
	lastID   int
	users    map[string]*User // by name in lower case
	tokens   map[string]*User
	papers   map[string]*Token // by the same text
	projects []*Project
	groups   map[string][]int   // path in lower case → ids of users
	hooks    map[string][]*hook // of groups, by path in lower case
	jobs     []*backgroundJob
	letters  []*letter // webhooks to send
	faults   []*Fault
	outage   *outage
	requests []Request
	pulls    []Request // requests by git
	bot      *User
	botToken string
	noted    map[*User][]time.Time // when notes were written in the last minute
	acted    []Action              // quick actions that were executed as the bot
}

// User is an account.
type User struct {
	ID   int
	Name string
}

// Request is one request that reached the REST interface or git. The status is 0 where no
// answer was given, or not yet.
type Request struct {
	Method, Path string
	Status       int
}

// New starts a server on a port of the kernel's choice.
func New(o Options) (*Server, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.BranchHooks = cmp.Or(o.BranchHooks, 3)
	s := &Server{opts: o, log: o.Logger, rng: rand.New(rand.NewPCG(o.Seed, 1)), lastID: 100,
		users: map[string]*User{}, tokens: map[string]*User{}, papers: map[string]*Token{}, groups: map[string][]int{}}
	if o.Dir == "" {
		dir, err := os.MkdirTemp("", "gitlabtest-")
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
	s.bot = s.user(cmp.Or(o.Bot, "submitqueue"))
	s.botToken = s.token(s.bot)
	s.http = &http.Server{Handler: http.HandlerFunc(s.serve), ReadHeaderTimeout: 10 * time.Second}
	s.done.Go(func() {
		if err := s.http.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			s.log.Error("serve", "err", err)
		}
	})
	return s, nil
}

// Close stops the server and removes the repositories if the folder is its own.
func (s *Server) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	err := s.http.Shutdown(ctx) // requests that arrived are carried out
	if err != nil {
		err = s.http.Close()
	}
	s.done.Wait()
	if s.ownDir {
		err = errors.Join(err, os.RemoveAll(s.opts.Dir))
	}
	return err
}

// URL returns the server's address without a final slash.
func (s *Server) URL() string { return s.url }

// Bot returns the name of the account that the queue acts as.
func (s *Server) Bot() string { return s.bot.Name }

// BotToken returns a token of the bot.
func (s *Server) BotToken() string { return s.botToken }

// AddUser makes an account, unless there is one, and returns a token of it.
func (s *Server) AddUser(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.token(s.user(name))
}

// RenameUser gives an account another name. Anybody may take the former one.
func (s *Server) RenameUser(name, to string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.user(name)
	delete(s.users, strings.ToLower(name))
	u.Name, s.users[strings.ToLower(to)] = to, u
}

func (s *Server) user(name string) *User {
	key := strings.ToLower(name)
	if s.users[key] == nil {
		s.users[key] = &User{s.nextID(), name}
	}
	return s.users[key]
}

func (s *Server) userByID(id int) *User {
	for _, u := range s.users {
		if u.ID == id {
			return u
		}
	}
	return nil
}

func (s *Server) token(u *User) string {
	t := fmt.Sprintf("glpat-%d-%d", u.ID, s.nextID())
	s.tokens[t] = u
	s.papers[t] = &Token{id: s.lastID, Name: "token of " + u.Name, Scopes: []string{"api"}, Expires: s.now().Add(300 * 24 * time.Hour)}
	return t
}

// SetGroup makes a group of these accounts.
func (s *Server) SetGroup(path string, members ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []int
	for _, m := range members {
		ids = append(ids, s.user(m).ID)
	}
	s.groups[strings.ToLower(path)] = ids
}

func (s *Server) nextID() int {
	s.lastID++
	return s.lastID
}

func (s *Server) now() time.Time { return s.opts.Now().Add(s.skew).UTC() }

// Pass lets time pass: jobs that waited for it become due.
func (s *Server) Pass(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.skew += d
}

// Requests lists the requests to the REST interface, in order.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// GitRequests lists the requests of git, in order.
func (s *Server) GitRequests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.pulls...)
}

// Fault makes requests fail.
type Fault struct {
	Method string // empty: any
	Path   string // a part of the path; empty: any
	Status int
	Body   string // empty: a short JSON
	Header http.Header
	Done   bool // the request is carried out all the same; only its answer is lost
	Cut    bool // no answer is given: the connection ends
	Half   bool // only the first half of the answer arrives
	Hang   time.Duration
	Times  int // 0: once
}

// Fail makes the next matching requests fail.
func (s *Server) Fail(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.Times = max(f.Times, 1)
	s.faults = append(s.faults, &f)
}

// Throttle answers the next requests as GitLab's rate limit does: in plain text.
func (s *Server) Throttle(times, seconds int) {
	s.Fail(Fault{Status: http.StatusTooManyRequests, Body: "Retry later\n", Times: times, Header: http.Header{
		"Content-Type": {"text/plain"}, "Retry-After": {fmt.Sprint(seconds)}, "Ratelimit-Limit": {"2000"}, "Ratelimit-Remaining": {"0"}}})
}

func (s *Server) fault(r *http.Request) *Fault {
	for _, f := range s.faults {
		if f.Times > 0 && (f.Method == "" || f.Method == r.Method) && strings.Contains(r.URL.EscapedPath(), f.Path) {
			f.Times--
			return f
		}
	}
	return s.outage.fault()
}

// AddProject makes a private project with one commit on its default branch. Path is
// "group/name" or deeper; maintainers have the level 40.
func (s *Server) AddProject(path, branch string, maintainers ...string) (*Project, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &Project{s: s, id: s.nextID(), path: path, main: branch, members: map[int]int{s.bot.ID: 40},
		mrs: map[int]*mergeRequest{}, guards: map[string]Guard{}, cached: map[string]bool{},
		set: Settings{MergeMethod: "merge", VariablesFrom: 40, AutoCancel: true, Runners: 1, Reset: s.opts.Premium}}
	p.dir = filepath.Join(s.opts.Dir, fmt.Sprintf("%d.git", p.id))
	for _, m := range maintainers {
		p.members[s.user(m).ID] = 40
	}
	if err := initBare(p.dir, branch); err != nil {
		return nil, err
	}
	id, err := p.commit("", map[string]string{"README.md": "# " + path + "\n"}, "Begin", s.now())
	if err == nil {
		_, err = p.git(nil, "update-ref", "refs/heads/"+branch, id)
	}
	p.cached[branch] = true
	s.projects = append(s.projects, p)
	return p, err
}
