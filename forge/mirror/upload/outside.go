package upload

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/submitqueue/submitqueue/forge/lfs"
	"github.com/submitqueue/submitqueue/forge/mirror"
)

// objectsPath is the path of contents of Git LFS, after a repository's .git/.
const objectsPath = "info/lfs/objects/"

// mediaType is the media type of Git LFS (docs/api/batch.md of git-lfs).
const mediaType = "application/vnd.git-lfs+json"

// maxBatch is how many contents one request may ask for; git-lfs asks for 100.
const maxBatch = 1000

// held is the content of a job's checkout beside its commit, found once for a
// token.
type held struct {
	turn sync.Mutex
	out  *mirror.Outside // nil: not found yet
}

// outsideOf returns the content of a job's checkout beside its commit.
func (h *Handler) outsideOf(ctx context.Context, o opened) (*mirror.Outside, error) {
	if o.Outside == nil {
		return &mirror.Outside{}, nil
	}
	h.mu.Lock()
	it := h.outside[o.token]
	if it == nil {
		it = &held{}
		if o.Ends != nil {
			h.outside[o.token] = it
			go func() {
				<-o.Ends
				h.mu.Lock()
				defer h.mu.Unlock()
				delete(h.outside, o.token)
			}()
		}
	}
	h.mu.Unlock()
	it.turn.Lock()
	defer it.turn.Unlock()
	if it.out == nil {
		out, err := o.Outside(ctx)
		if err != nil {
			return nil, err
		}
		it.out = out
	}
	return it.out, nil
}

// module returns the submodule that a path names: by its number in the list that our own
// runner has read, or, for a stock client, by an address relative to the job's
// repository, which is served under its path on the forge.
func (h *Handler) module(ctx context.Context, o opened, path string) (m mirror.Module, ok bool, err error) {
	_, number, numbered := strings.Cut(path, ".git/submodules/")
	if o.Outside == nil && !numbered || path == "/"+o.Path {
		return m, false, nil
	}
	out, err := h.outsideOf(ctx, o)
	if err != nil {
		return m, false, err
	}
	for i, m := range out.Modules {
		u, err := url.Parse(m.URL)
		switch {
		case numbered && number == strconv.Itoa(i):
			return m, true, nil
		case numbered || o.Path == "":
		case err == nil && strings.TrimSuffix(strings.Trim(u.Path, "/"), ".git") == strings.Trim(path, "/"):
			return m, true, nil
		}
	}
	if numbered {
		return m, false, errors.New("the commit has no such submodule")
	}
	return m, false, nil
}

// Listed is the content of a checkout beside the commit, as our own runner reads
// it.
type Listed struct {
	Submodules []ListedModule `json:"submodules,omitempty"` // each after the one that contains it; number N is fetched from submodules/N.git
	Large      []ListedFile   `json:"large,omitempty"`      // files of Git LFS
}

// ListedModule is a submodule.
type ListedModule struct {
	Path   string `json:"path"`
	Commit string `json:"commit"`
	Name   string `json:"name"` // the same for the same repository
}

// ListedFile is a file of Git LFS.
type ListedFile struct {
	Path       string `json:"path"`
	OID        string `json:"oid"`
	Size       int64  `json:"size"`
	Executable bool   `json:"executable,omitempty"`
}

// list answers with the content of a checkout beside the commit.
func (h *Handler) list(ctx context.Context, w http.ResponseWriter, o opened) {
	out, err := h.outsideOf(ctx, o)
	if err != nil {
		h.o.Log.Warn("find what a checkout holds beside its commit", "commit", o.Commit, "error", err)
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	var all Listed
	for _, m := range out.Modules {
		all.Submodules = append(all.Submodules, ListedModule{m.Path, string(m.Commit), m.Name()})
	}
	for _, f := range out.Large {
		all.Large = append(all.Large, ListedFile{f.Path, f.Pointer.OID, f.Pointer.Size, f.Executable})
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(all) // the reader may have hung up
}

// Messages of the batch API of Git LFS.
type (
	batchRequest struct {
		Operation string        `json:"operation"`
		Transfers []string      `json:"transfers"`
		Objects   []batchObject `json:"objects"`
	}
	batchAnswer struct {
		Transfer string        `json:"transfer"`
		Objects  []batchObject `json:"objects"`
	}
	batchObject struct {
		OID           string       `json:"oid"`
		Size          int64        `json:"size"`
		Authenticated bool         `json:"authenticated,omitempty"`
		Actions       *batchAction `json:"actions,omitempty"`
		Error         *batchError  `json:"error,omitempty"`
	}
	batchAction struct {
		Download batchLink `json:"download"`
	}
	batchLink struct {
		Href   string            `json:"href"`
		Header map[string]string `json:"header"`
	}
	batchError struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}
)

// batch fetches contents of the job's commit, and says where each is.
func (h *Handler) batch(ctx context.Context, w http.ResponseWriter, r *http.Request, o opened) {
	var q batchRequest
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest)).Decode(&q); err != nil || len(q.Objects) > maxBatch {
		lfsError(w, http.StatusUnprocessableEntity, "no request of Git LFS, or one for too many files")
		return
	}
	if q.Operation != "download" {
		lfsError(w, http.StatusForbidden, "files can be read here, and none be put")
		return
	}
	out, err := h.outsideOf(ctx, o)
	if err != nil {
		h.o.Log.Warn("find a commit's files of Git LFS", "commit", o.Commit, "error", err)
		lfsError(w, http.StatusBadGateway, err.Error())
		return
	}
	var want []lfs.Pointer
	for _, x := range q.Objects {
		if p := (lfs.Pointer{OID: x.OID, Size: x.Size}); out.Has(p) {
			want = append(want, p)
		}
	}
	whole := out.Fetch(ctx, want)
	if whole != nil {
		h.o.Log.Warn("fetch files of Git LFS for a runner", "commit", o.Commit, "error", whole)
	}
	a := batchAnswer{Transfer: "basic", Objects: []batchObject{}}
	for _, x := range q.Objects {
		p, item := lfs.Pointer{OID: x.OID, Size: x.Size}, batchObject{OID: x.OID, Size: x.Size}
		err := whole
		if errors.As(whole, new(*lfs.MissingError)) { // the error is about one content, perhaps another one
			err = out.Fetch(ctx, []lfs.Pointer{p})
		}
		switch {
		case !out.Has(p):
			item.Error = &batchError{http.StatusNotFound, "the job's commit has no such file, or the job asks for none (checkout: {lfs: true})"}
		case err != nil:
			item.Error = &batchError{http.StatusBadGateway, err.Error()}
		default:
			item.Authenticated = true
			item.Actions = &batchAction{batchLink{Href: h.base(r) + strings.TrimSuffix(r.URL.Path, "batch") + p.OID, Header: map[string]string{"Authorization": r.Header.Get("Authorization")}}}
		}
		a.Objects = append(a.Objects, item)
	}
	w.Header().Set("Content-Type", mediaType)
	_ = json.NewEncoder(w).Encode(a) // the reader may have hung up
}

// base returns the address under which clients reach the handler.
func (h *Handler) base(r *http.Request) string {
	switch {
	case h.o.Base != nil:
		return strings.TrimSuffix(h.o.Base(), "/")
	case r.TLS != nil:
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// object sends a content of the job's commit.
func (h *Handler) object(ctx context.Context, w http.ResponseWriter, o opened, oid string) {
	out, err := h.outsideOf(ctx, o)
	if err != nil {
		lfsError(w, http.StatusBadGateway, err.Error())
		return
	}
	for _, f := range out.Large {
		if f.Pointer.OID != oid {
			continue
		}
		if err := out.Fetch(ctx, []lfs.Pointer{f.Pointer}); err != nil {
			lfsError(w, http.StatusBadGateway, err.Error())
			return
		}
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("Content-Length", strconv.FormatInt(f.Pointer.Size, 10))
		if err := out.Copy(f.Pointer, w); err != nil && ctx.Err() == nil { // the client sees it cut off
			h.o.Log.Warn("send a file of Git LFS", "commit", o.Commit, "oid", oid, "error", err)
		}
		return
	}
	lfsError(w, http.StatusNotFound, "the job's commit has no such file")
}

func lfsError(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", mediaType)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"message": text})
}
