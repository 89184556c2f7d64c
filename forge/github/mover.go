package github

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/submitqueue/submitqueue/forge"
)

// mover knows the present name of a repository that was renamed or transferred. The
// configured name stays its name with us; requests go to the present name.
//
// GitHub answers the old name with a redirect. It is followed with the same method
// and body, and only to the host of the REST interface: the transport below the
// mover adds our credentials to each request.
type mover struct {
	owner, name string   // as configured
	base        *url.URL // of the REST interface

	mu  sync.Mutex
	now string // "owner/name"; empty: as configured
}

// moves is a transport that goes through a mover.
type moves struct {
	*mover
	next http.RoundTripper
}

// maxMoves bounds the redirects of one request.
const maxMoves = 3

// errElsewhere is a redirect that leaves the host we trust.
var errElsewhere = errors.New("github: the answer redirects to another host; it is not followed, because our credentials are for this one")

// followNone leaves redirects to the mover: net/http would follow the others to
// any host, through a transport that adds our credentials.
func followNone(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// RoundTrip sends a request to the present name of the repository.
func (m moves) RoundTrip(req *http.Request) (*http.Response, error) {
	req = m.there(req)
	for n := 0; ; n++ {
		resp, err := m.next.RoundTrip(req)
		if err != nil {
			return resp, err
		}
		if resp.StatusCode == http.StatusFound && strings.Contains(req.URL.Path, "/actions/jobs/") && strings.HasSuffix(req.URL.Path, "/logs") {
			return resp, nil // where the log is, for a request without our credentials
		}
		switch resp.StatusCode {
		case http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		default:
			return resp, nil
		}
		to, err := req.URL.Parse(resp.Header.Get("Location"))
		io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<16))
		resp.Body.Close()
		switch {
		case err != nil || resp.Header.Get("Location") == "":
			return nil, fmt.Errorf("github: a redirect without an address that can be read")
		case to.Scheme != m.base.Scheme || to.Host != m.base.Host:
			return nil, errElsewhere
		case n == maxMoves:
			return nil, fmt.Errorf("github: more than %d redirects", maxMoves)
		}
		again := req.Clone(req.Context())
		again.URL, again.Host = to, ""
		if req.Body != nil {
			if req.GetBody == nil {
				return nil, fmt.Errorf("github: a redirect of a request that cannot be sent again")
			}
			if again.Body, err = req.GetBody(); err != nil {
				return nil, err
			}
		}
		req = again
	}
}

// there rewrites the path of a request about the repository.
func (m *mover) there(req *http.Request) *http.Request {
	now := m.place()
	old := m.base.Path + "repos/" + m.owner + "/" + m.name
	rest, ours := strings.CutPrefix(req.URL.EscapedPath(), old)
	if now == m.owner+"/"+m.name || !ours || rest != "" && rest[0] != '/' {
		return req
	}
	req = req.Clone(req.Context())
	u := *req.URL
	raw := m.base.Path + "repos/" + now + rest
	u.RawPath = raw
	if u.Path, _ = url.PathUnescape(raw); u.Path == raw {
		u.RawPath = ""
	}
	if q := u.Query(); strings.HasPrefix(q.Get("head"), m.owner+":") {
		owner, _, _ := strings.Cut(now, "/")
		q.Set("head", owner+strings.TrimPrefix(q.Get("head"), m.owner))
		u.RawQuery = q.Encode()
	}
	req.URL = &u
	return req
}

// place is the name that the repository has.
func (m *mover) place() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.now == "" {
		return m.owner + "/" + m.name
	}
	return m.now
}

// moved takes in the present name of the repository, and reports whether it is new.
func (m *mover) moved(to string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	was := m.now
	if was == "" {
		was = m.owner + "/" + m.name
	}
	m.now = to
	return !strings.EqualFold(was, to)
}

// Locate finds the repository by its id, under any name, and goes on with that one:
// a new repository under the old name is another. Without an id, it finds the
// repository of the configured name.
func (f *Forge) Locate(ctx context.Context, id int64) (forge.Place, error) {
	f.known(id)
	path := fmt.Sprintf("repositories/%d", id)
	if id == 0 {
		path = "repos/" + f.o.Owner + "/" + f.o.Name
	}
	var repo struct {
		ID       int64  `json:"id"`
		FullName string `json:"full_name"`
		Default  string `json:"default_branch"`
	}
	req, err := f.client.NewRequest(http.MethodGet, path, nil)
	if err != nil {
		return forge.Place{}, err
	}
	var raw json.RawMessage
	if _, err = f.client.Do(ctx, req, &raw); err == nil {
		err = json.Unmarshal(raw, &repo)
	}
	if err != nil {
		return forge.Place{}, failure(ctx, "find the repository", err)
	}
	if repo.ID == 0 || strings.Count(repo.FullName, "/") != 1 {
		return forge.Place{}, fmt.Errorf("github: find the repository: the answer names none")
	}
	if f.mover.moved(repo.FullName) {
		f.log.Warn("the repository has another name; the queue goes on under the one it has", "queue of", f.o.Owner+"/"+f.o.Name, "now", repo.FullName)
		f.Reset()
	}
	return forge.Place{ID: repo.ID, Name: repo.FullName, Default: repo.Default}, nil
}

// BranchNow implements forge.Locator: GitHub answers the old name of a renamed
// branch with a redirect to the new name, until a new branch takes the old name.
func (f *Forge) BranchNow(ctx context.Context, branch string) (string, error) {
	var b struct {
		Name string `json:"name"`
	}
	if _, err := f.get(ctx, "branches/"+url.PathEscape(branch), &b); err != nil {
		return "", failure(ctx, "find branch "+branch, err)
	}
	if b.Name == "" {
		return "", fmt.Errorf("github: find branch %s: the answer names none", branch)
	}
	return b.Name, nil
}

// Reset forgets what is remembered of our access. It is called when a webhook tells
// of our access.
func (f *Forge) Reset() {
	f.session.forget()
	f.git.forget()
	f.merge.forget()
}
