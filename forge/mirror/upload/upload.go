package upload

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
)

// Ref is the one ref that a client sees.
const Ref = "refs/submitqueue/job"

// Grant says what a token gives access to.
type Grant struct {
	Commit queue.CommitID
	// Objects returns the folder of git's objects that has the commit.
	Objects func(context.Context) (dir string, err error)
	// Path is the path of the repository on this server, without .git; submodules with
	// addresses relative to it are found beside it. "": every path leads to the
	// repository.
	Path string
	// Outside returns the content that a checkout needs beside the commit; nil: there
	// is none.
	Outside func(context.Context) (*mirror.Outside, error)
	// Ends is closed when the token is no longer valid; nil: Access alone tells.
	Ends <-chan struct{}
}

// Options are the settings of a handler. Zero values mean the defaults.
type Options struct {
	Access func(token string) (Grant, bool) // required; in constant time for all tokens
	Dir    string                           // for the handler's own repositories, emptied at the start; required
	Base   func() string                    // the address under which clients reach the handler, for links to files of Git LFS; default: the request's host
	AtOnce int                              // uploads; default 16
	Limit  time.Duration                    // an answer of which a client has taken nothing for so long ends; default 10 min
	Log    *slog.Logger                     // required
}

// Handler answers git clients below a path that ends in .git.
type Handler struct {
	o    Options
	turn chan struct{}

	mu      sync.Mutex
	views   map[view]*repository
	order   []view           // oldest first
	outside map[string]*held // by token, as long as it is valid
}

// view names one of the handler's own repositories.
type view struct {
	objects string
	commit  queue.CommitID
	alone   bool // without the commit's history
}

// repository has one ref to one commit, and borrows the mirror's objects.
type repository struct {
	view
	dir  string
	made sync.Once
	err  error

	once  sync.Once
	trees map[string]bool // objects of the commit's tree
	fault error
}

// keptViews bounds the handler's repositories: four small files each.
const keptViews = 256

// maxRequest bounds what a client may ask in one request: wants and haves.
const maxRequest = 8 << 20

// New returns a handler.
func New(o Options) (*Handler, error) {
	if o.Access == nil || o.Dir == "" || o.Log == nil {
		return nil, errors.New("upload: Access, Dir and Log are required")
	}
	o.AtOnce = cmp.Or(o.AtOnce, 16)
	o.Limit = cmp.Or(o.Limit, 10*time.Minute)
	if err := errors.Join(os.RemoveAll(o.Dir), os.MkdirAll(o.Dir, 0o700)); err != nil {
		return nil, err
	}
	return &Handler{o: o, turn: make(chan struct{}, o.AtOnce), views: map[view]*repository{}, outside: map[string]*held{}}, nil
}

// ServeHTTP answers a request of git's smart HTTP for reading, of Git LFS, and of our own
// runner.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	serve := h.route(r)
	if serve == nil {
		http.NotFound(w, r)
		return
	}
	if strings.HasSuffix(r.URL.Path, "/info/refs") && r.URL.Query().Get("service") != "git-upload-pack" {
		http.Error(w, "This repository can be fetched from, by clients of git 1.6.6 and newer, and not be pushed to.", http.StatusForbidden)
		return
	}
	_, token, ok := r.BasicAuth()
	g, good := h.o.Access(token)
	if !ok || !good || token == "" {
		w.Header().Set("WWW-Authenticate", `Basic realm="the token of a running job"`)
		http.Error(w, "The password is the token of a job that runs; this one is none, or its job has ended.", http.StatusUnauthorized)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	quiet := time.AfterFunc(h.o.Limit, cancel)
	defer quiet.Stop()
	go func() {
		select {
		case <-g.Ends:
			cancel()
		case <-ctx.Done():
		}
	}()
	control := http.NewResponseController(w)
	// A client that reads nothing must not keep a write, and its turn, waiting. A connection of no
	// kind that we know has no deadlines.
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		_ = control.SetWriteDeadline(time.Now())
	})
	serve(ctx, &taken{w, func() { quiet.Reset(h.o.Limit) }}, opened{g, token})
	if !stop() { // the next request of the connection has time again
		<-ended
		_ = control.SetWriteDeadline(time.Time{})
	}
}

// taken is an answer that tells when the client has taken a part of it: a large repository over a
// slow line takes as long as it takes, since git would begin a clone anew that is cut off.
type taken struct {
	http.ResponseWriter
	tell func()
}

// Write implements io.Writer.
func (t *taken) Write(p []byte) (int, error) {
	n, err := t.ResponseWriter.Write(p)
	if n > 0 {
		t.tell()
	}
	return n, err
}

// Unwrap returns the answer, for http.ResponseController.
func (t *taken) Unwrap() http.ResponseWriter { return t.ResponseWriter }

// inTurn makes an answer wait while too many are being sent.
func (h *Handler) inTurn(serve func(context.Context, http.ResponseWriter, opened)) func(context.Context, http.ResponseWriter, opened) {
	return func(ctx context.Context, w http.ResponseWriter, o opened) {
		select {
		case h.turn <- struct{}{}:
			defer func() { <-h.turn }()
		case <-ctx.Done():
			w.Header().Set("Retry-After", "10")
			http.Error(w, "Too many runners fetch at once; try again.", http.StatusServiceUnavailable)
			return
		}
		serve(ctx, w, o)
	}
}

// opened is the grant of a request's token.
type opened struct {
	Grant
	token string
}

// route returns the function that answers a request, or nil.
func (h *Handler) route(r *http.Request) func(context.Context, http.ResponseWriter, opened) {
	repo, rest, ok := strings.Cut(r.URL.Path, ".git/")
	if !ok || repo == "" {
		return nil
	}
	if modules, below, ok := strings.Cut(rest, ".git/"); ok && strings.HasPrefix(modules, "submodules/") {
		repo, rest = repo+".git/"+modules, below
	}
	switch {
	case rest == "info/refs" && r.Method == http.MethodGet:
		return h.inTurn(func(ctx context.Context, w http.ResponseWriter, o opened) {
			if view, ok := h.find(ctx, w, o, repo); ok {
				h.advertise(ctx, w, view)
			}
		})
	case rest == "git-upload-pack" && r.Method == http.MethodPost:
		return h.inTurn(func(ctx context.Context, w http.ResponseWriter, o opened) {
			if view, ok := h.find(ctx, w, o, repo); ok {
				h.upload(ctx, w, r, view)
			}
		})
	case rest == "info/lfs/objects/batch" && r.Method == http.MethodPost:
		return func(ctx context.Context, w http.ResponseWriter, o opened) { h.batch(ctx, w, r, o) }
	case strings.HasPrefix(rest, objectsPath) && r.Method == http.MethodGet:
		return h.inTurn(func(ctx context.Context, w http.ResponseWriter, o opened) {
			h.object(ctx, w, o, strings.TrimPrefix(rest, objectsPath))
		})
	case rest == "submitqueue/outside" && r.Method == http.MethodGet:
		return h.list
	}
	return nil
}

// find returns the repository that a request is about: the submodule's that its path
// names, else the job's. If the repository cannot be read, find answers the request
// itself.
func (h *Handler) find(ctx context.Context, w http.ResponseWriter, o opened, path string) (*repository, bool) {
	key := view{commit: o.Commit}
	m, isModule, err := h.module(ctx, o, path)
	switch {
	case err != nil:
	case isModule:
		key = view{filepath.Join(m.Git, "objects"), m.Commit, true}
	default:
		key.objects, err = o.Objects(ctx)
	}
	var repo *repository
	if err == nil {
		repo, err = h.view(key)
	}
	if err != nil {
		h.o.Log.Warn("serve a commit to a runner", "commit", key.commit, "error", err)
		http.Error(w, "The commit cannot be read; the server's log says why.", http.StatusInternalServerError)
		return nil, false
	}
	return repo, true
}

// view returns the repository of a view.
func (h *Handler) view(key view) (*repository, error) {
	h.mu.Lock()
	repo := h.views[key]
	if repo == nil {
		dir, err := os.MkdirTemp(h.o.Dir, "view-*")
		if err != nil {
			h.mu.Unlock()
			return nil, err
		}
		repo = &repository{dir: dir, view: key}
		h.views[key] = repo
		h.order = append(h.order, key)
		if len(h.order) > keptViews { // a fetch under way has its files open, or asks again
			old := h.order[0]
			_ = os.RemoveAll(h.views[old].dir)
			delete(h.views, old)
			h.order = h.order[1:]
		}
	}
	h.mu.Unlock()
	repo.made.Do(func() { repo.err = repo.make() })
	return repo, repo.err
}

// config lets clients fetch parts of the commit: shallow, and without blobs. The handler
// checks what they may want (request.go).
const config = `[core]
	repositoryformatversion = 0
	bare = true
[uploadpack]
	allowFilter = true
	allowAnySHA1InWant = true
[gc]
	auto = 0
`

func (repo *repository) make() error {
	files := map[string]string{
		"HEAD": "ref: " + Ref + "\n", "config": config, Ref: string(repo.commit) + "\n",
		"objects/info/alternates": repo.objects + "\n", "objects/pack/.keep": "",
	}
	if repo.alone {
		files["shallow"] = string(repo.commit) + "\n"
	}
	for name, content := range files {
		path := filepath.Join(repo.dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// git returns a git command in the repository. The configuration of the user and of
// the machine does not apply, and git speaks protocol 0 only.
func (repo *repository) git(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = repo.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + repo.dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "LC_ALL=C", "GIT_OPTIONAL_LOCKS=0",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // pack-objects, too
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// advertise answers with the one ref of the repository.
func (h *Handler) advertise(ctx context.Context, w http.ResponseWriter, repo *repository) {
	var out, errs bytes.Buffer
	cmd := repo.git(ctx, "upload-pack", "--stateless-rpc", "--strict", "--http-backend-info-refs", ".")
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		h.o.Log.Warn("advertise a commit", "error", err, "git", last(errs.String()))
		http.Error(w, "The commit cannot be read; the server's log says why.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
	_, _ = io.WriteString(w, "001e# service=git-upload-pack\n0000")
	_, _ = w.Write(out.Bytes()) // the client may have hung up
}

// upload sends the objects that a client wants, if it may have them.
func (h *Handler) upload(ctx context.Context, w http.ResponseWriter, r *http.Request, repo *repository) {
	in := io.Reader(http.MaxBytesReader(w, r.Body, maxRequest))
	if r.Header.Get("Content-Encoding") == "gzip" {
		zipped, err := gzip.NewReader(in)
		if err != nil {
			http.Error(w, "The body is no gzip.", http.StatusBadRequest)
			return
		}
		in = zipped
	}
	raw, err := io.ReadAll(io.LimitReader(in, maxRequest+1))
	if err != nil || len(raw) > maxRequest {
		http.Error(w, "The request cannot be read, or asks for too much.", http.StatusBadRequest)
		return
	}
	wants, err := wanted(raw)
	if err != nil {
		http.Error(w, "No request of git's upload-pack: "+err.Error(), http.StatusBadRequest)
		return
	}
	for _, oid := range wants {
		if oid == string(repo.commit) {
			continue
		}
		if ok, err := repo.has(ctx, oid); err != nil {
			h.o.Log.Warn("list a commit's objects", "commit", repo.commit, "error", err)
			http.Error(w, "The commit cannot be read; the server's log says why.", http.StatusInternalServerError)
			return
		} else if !ok {
			w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
			_, _ = fmt.Fprint(w, packet("ERR upload-pack: not our ref "+oid+"\n"))
			return
		}
	}
	w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
	var errs bytes.Buffer
	cmd := repo.git(ctx, "upload-pack", "--stateless-rpc", "--strict", ".")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(raw), w, &errs
	if err := cmd.Run(); err != nil && ctx.Err() == nil {
		h.o.Log.Debug("send a commit", "commit", repo.commit, "error", err, "git", last(errs.String())) // the client sees it cut off
	}
}

// last returns the end of git's messages.
func last(s string) string {
	s = strings.TrimSpace(s)
	return s[max(0, len(s)-500):]
}
