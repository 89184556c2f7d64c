package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/submitqueue/submitqueue/app/access"
	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/app/docs"
	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/app/web"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/workers"
)

// DefaultAddress is where a server listens unless it is told otherwise: on
// this machine only.
const DefaultAddress = "127.0.0.1:8080"

// ServerOptions are what a Server needs. The comment of each field says what its zero
// value means.
type ServerOptions struct {
	Address     string     // default: DefaultAddress; port 0 takes a free one
	Hosts       []string   // names or URLs that requests may use for it, besides its address, IP addresses and localhost
	Source      api.Source // required
	Metrics     *Metrics
	Intake      http.Handler             // nil: webhooks are answered with 404
	Ready       func() error             // nil: always ready
	Words       texts.Words              // of the forge; zero: pull requests and comments
	Token       string                   // the server's own token, which may do everything; "": it has none
	TokenName   string                   // the name in which it commands; default: operator
	Access      string                   // folder with named tokens and sessions, see package access; "": there are no named tokens, and sessions end with the server
	Public      bool                     // everybody may read
	URL         string                   // under which people reach it; "": unknown
	Requests    api.Requests             // of a forge without pull requests; nil: it has them
	Runners     func() api.RunnersAnswer // the machines that run builds; nil: unknown
	Mounts      map[string]http.Handler  // further handlers by path prefix, e.g. "/api/v4/"; they set their own deadlines, and check callers and host names themselves
	Isolation   workers.Isolation        // of the steps that this server runs; "": it runs none, or they run as its own user, not isolated
	KeepHomes   bool                     // homes of steps stay from build to build
	Gaps        []string                 // what the isolation leaves open here, for people
	Log         *slog.Logger             // nil: no logs
	Now         func() time.Time         // default: time.Now
	Random      func() string            // default: crypto/rand.Text
	ReadTimeout time.Duration            // of a whole request; default 30 s
	Beat        time.Duration            // between signs of life on a live page; default 20 s
	Pace        time.Duration            // least time between two updates of a live page; default 500 ms
	WrongWait   time.Duration            // before a wrong token is answered; default 1 s
}

// Server is the server's HTTP side: webhooks, pages, JSON API, metrics, health.
type Server struct {
	o       ServerOptions
	pages   *web.Pages
	log     *slog.Logger
	hosts   hosts
	gate    *gate
	http    *http.Server
	closing chan struct{} // closed when Shutdown begins: ends live pages
	api     *api.Handlers

	mu       sync.Mutex
	listener net.Listener
	silent   map[net.Conn]bool // connections that have asked for nothing yet; nil once Shutdown has begun
}

// NewServer returns a server that does not listen yet.
func NewServer(o ServerOptions) *Server {
	if o.Address == "" {
		o.Address = DefaultAddress
	}
	if o.Metrics == nil {
		o.Metrics = NewMetrics()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Random == nil {
		o.Random = rand.Text
	}
	o.ReadTimeout = orDefault(o.ReadTimeout, 30*time.Second)
	o.Beat = orDefault(o.Beat, 20*time.Second)
	o.Pace = orDefault(o.Pace, 500*time.Millisecond)
	o.WrongWait = orDefault(o.WrongWait, wrongWait)
	if o.TokenName == "" {
		o.TokenName = "operator"
	}
	s := &Server{
		o:       o,
		pages:   web.New(web.Options{Words: o.Words, WordsOf: func(v queue.QueueView) web.Words { return o.Words.Of(v.Main.Branch, v.Mark) }, Warning: texts.Isolation(o.Isolation, o.KeepHomes), Notice: texts.Gaps(o.Gaps), Closed: !o.Public}),
		log:     orSilent(o.Log),
		hosts:   hostsOf(o.Address, o.Hosts),
		closing: make(chan struct{}),
		silent:  map[net.Conn]bool{},
	}
	s.api = api.New(api.Options{Source: o.Source, Caller: callerOf, Words: o.Words, Requests: o.Requests, Runners: o.Runners, Isolation: string(o.Isolation), Log: s.log, Now: o.Now, Random: o.Random})
	s.gate = s.newGate()
	s.http = &http.Server{
		Handler:           s.routes(),
		ReadTimeout:       o.ReadTimeout,
		ReadHeaderTimeout: min(o.ReadTimeout, 10*time.Second),
		WriteTimeout:      2 * o.ReadTimeout,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}
	s.http.ConnState = s.connected
	s.http.RegisterOnShutdown(sync.OnceFunc(func() { close(s.closing) }))
	return s
}

// connected keeps the connections that have asked for nothing yet. Browsers and clients
// open such connections in advance, and net/http counts them as busy for 5 seconds.
func (s *Server) connected(c net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case state != http.StateNew:
		delete(s.silent, c)
	case s.silent == nil:
		_ = c.Close()
	default:
		s.silent[c] = true
	}
}

// dismiss ends the connections that have asked for nothing, and those that are opened from now
// on.
func (s *Server) dismiss() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.silent {
		_ = c.Close()
	}
	s.silent = nil
}

// Handler returns all routes as one handler.
func (s *Server) Handler() http.Handler { return s.http.Handler }

// Listen takes the server's address.
func (s *Server) Listen() error {
	l, err := net.Listen("tcp", s.o.Address)
	if err != nil {
		return unheard(s.o.Address, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listener = l
	return nil
}

// unheard says why an address cannot be listened on, and what to do.
func unheard(address string, err error) error {
	advice := "give --listen an address of this host, such as 127.0.0.1:8080 or :8080"
	var malformed *net.AddrError
	switch {
	case errors.As(err, &malformed) && !strings.Contains(address, ":"):
		if _, number := strconv.ParseUint(address, 10, 16); number == nil {
			advice = "write a port as :" + address + " (every address of this host) or 127.0.0.1:" + address + " (this host alone)"
		}
	case errors.Is(err, syscall.EADDRINUSE):
		advice = "another program listens there, perhaps a server of yours that still runs: end it, or give another port by --listen"
	case errors.Is(err, fs.ErrPermission):
		advice = "ports below 1024 need rights that this user lacks: give a higher port by --listen"
	}
	return fmt.Errorf("the server cannot listen on %s: %s (%w)", address, advice, err)
}

// Addr returns the address the server listens on, e.g. "127.0.0.1:8080", and
// "" before Listen.
func (s *Server) Addr() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener == nil {
		return ""
	}
	return s.listener.Addr().String()
}

// Serve answers requests until Shutdown, then returns nil. It calls Listen
// where that has not been done.
func (s *Server) Serve() error {
	if s.Addr() == "" {
		if err := s.Listen(); err != nil {
			return err
		}
	}
	s.mu.Lock()
	l := s.listener
	s.mu.Unlock()
	s.log.Info("listening", "address", s.Addr())
	if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("app: serving on %s: %w", s.Addr(), err)
	}
	return nil
}

// Shutdown takes no more requests, ends live pages, and waits for the requests
// under way until ctx ends; then it cuts them off and returns ctx's error.
func (s *Server) Shutdown(ctx context.Context) error {
	s.dismiss()
	err := s.http.Shutdown(ctx)
	if err != nil {
		_ = s.http.Close()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener != nil {
		_ = s.listener.Close() // Serve may never have had it
	}
	return err
}

func (s *Server) routes() http.Handler {
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	e.HTTPErrorHandler = s.fail
	e.Use(s.observe, secure, s.recovered, s.known, s.closed)
	get := func(path string, h echo.HandlerFunc) { e.Match([]string{http.MethodGet, http.MethodHead}, path, h) }

	get("/healthz", func(c echo.Context) error { return c.String(http.StatusOK, "alive\n") })
	get("/readyz", s.ready)
	get("/metrics", echo.WrapHandler(s.o.Metrics.Handler()))
	if s.o.Intake != nil {
		e.Any("/webhook", echo.WrapHandler(s.o.Intake))
		e.Any("/webhook/:forge", echo.WrapHandler(s.o.Intake))
	}

	s.api.Register(api.Routes{Get: get, Post: func(path string, may access.Role, what string, h echo.HandlerFunc) {
		e.POST(path, h, s.needs(may, what))
	}})
	e.POST("/api/link", s.apiLink)

	get(enterPath, s.enterPage)
	e.POST(enterPath, s.enter)
	get(leavePath, s.leavePage)
	e.POST(leavePath, s.leave)

	get("/", s.homePage)
	get("/queue", s.queuePage)
	get("/change", s.changePage)
	get("/changes", s.searchPage)
	get("/log", s.logPage)
	get("/runners", s.runnersPage)
	get("/flakes", s.flakesPage)
	e.GET("/events", s.events)
	get(docsPath, s.docsPage)
	get(docsPath+"/:page", s.docsPage)
	get(docsPath+"/img/*", echo.WrapHandler(http.StripPrefix(docsPath+"/img/", web.Files(docs.Images, "img"))))
	get("/static/*", echo.WrapHandler(http.StripPrefix("/static/", web.Static())))

	for prefix, h := range s.o.Mounts {
		e.Any(prefix+"*", mounted(h))
	}
	return e
}

func (s *Server) ready(c echo.Context) error {
	if s.o.Ready != nil {
		if err := s.o.Ready(); err != nil {
			why := err.Error() // names repositories
			if !s.still(c) {
				why = "whoever asks with a token or a session is told why"
			}
			return c.String(http.StatusServiceUnavailable, "not ready: "+why+"\n")
		}
	}
	return c.String(http.StatusOK, "ready\n")
}

// observe logs each request, without its query, which may name a private
// branch.
func (s *Server) observe(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		began := s.o.Now()
		err := next(c)
		if err != nil {
			c.Error(err) // written here, so that its status is logged
		}
		s.log.Debug("request", "method", c.Request().Method, "route", c.Path(), "status", c.Response().Status, "took", s.o.Now().Sub(began))
		return nil
	}
}

// recovered turns a panic of one request into an error of that request.
func (s *Server) recovered(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			r := recover()
			if r == nil {
				return
			}
			if r == http.ErrAbortHandler { // the handler's way to cut the connection
				panic(r)
			}
			s.o.Metrics.panics.Inc()
			s.log.Error("a request panicked", "route", c.Path(), "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
			err = api.ErrPanicked
		}()
		return next(c)
	}
}

// secure sets the headers that keep hostile text on a page from becoming code.
func secure(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		h := c.Response().Header()
		h.Set("Content-Security-Policy", policy("'none'"))
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		return next(c)
	}
}

// policy is the content security policy of a page that may send its forms to the given sources.
func policy(forms string) string {
	return "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action " + forms + "; frame-ancestors 'none'"
}

// mounted serves a handler that keeps its own deadlines: a git fetch or a
// runner's poll may take longer than a page.
func mounted(h http.Handler) echo.HandlerFunc {
	return func(c echo.Context) error {
		unhurried(c.Response())
		h.ServeHTTP(c.Response(), c.Request())
		return nil
	}
}

// unhurried lifts the server's deadlines from one request.
func unhurried(w http.ResponseWriter) {
	rc := http.NewResponseController(w)
	// Writers without deadlines (tests, proxies) are unhurried as they are.
	_ = rc.SetReadDeadline(time.Time{})
	_ = rc.SetWriteDeadline(time.Time{})
}

func orDefault(d, otherwise time.Duration) time.Duration {
	if d <= 0 {
		return otherwise
	}
	return d
}

func orSilent(log *slog.Logger) *slog.Logger {
	if log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return log
}
