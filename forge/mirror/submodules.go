package mirror

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Bounds on the data that one checkout fetches from other repositories.
const (
	maxModuleDepth = 8
	maxModules     = 500
	maxModuleFile  = 1 << 20 // bytes of a .gitmodules
	maxModuleRefs  = 100     // commits in a cache; one more, and it is begun anew
)

// Checkouts makes the checkouts of a repository's builds.
type Checkouts struct {
	Mirror *Mirror
	Forge  Remoter
}

// Remoter says where git reaches a repository, as every Forge does.
type Remoter interface {
	Remote(context.Context) (forge.Remote, error)
}

// Checkout is Mirror.Checkout.
func (c Checkouts) Checkout(ctx context.Context, commit queue.CommitID, dir string) (release func() error, err error) {
	return c.Mirror.Checkout(ctx, commit, dir)
}

// Restore is Mirror.Restore.
func (c Checkouts) Restore(ctx context.Context, commit queue.CommitID, dir string) (changed []string, err error) {
	return c.Mirror.Worktrees.Restore(ctx, commit, dir)
}

// Fill puts into a checkout the content that git does not have in the commit:
// submodules, and files that Git LFS keeps, those of filled submodules included.
//
// Each submodule is fetched by the commit that the tree names, from the address in the
// .gitmodules beside it, and kept in the mirror for later builds; git checks that the
// fetched commit is the named one. Each file of LFS is fetched by its SHA-256 from the LFS
// server of the repository that has its pointer, and kept in the mirror, too. Our
// credentials are shown only to repositories of the same owner at the same host; where they
// are refused, the fetch is tried without them. No repository is made in dir, and no
// command in .gitmodules or .lfsconfig is run. Errors say which submodule or file failed
// and what to do; a text in them may be hostile.
func (c Checkouts) Fill(ctx context.Context, commit queue.CommitID, dir string, want config.Checkout) error {
	if want.Plain() {
		return nil
	}
	r, err := c.Forge.Remote(ctx)
	if err == nil {
		err = c.Mirror.mending(ctx, func() error { return c.Mirror.Worktrees.fillMore(ctx, r, commit, dir, want) }, commit)
	}
	if err != nil {
		return fmt.Errorf("filling the checkout: %w", err)
	}
	return nil
}

func (m *Worktrees) fillMore(ctx context.Context, r forge.Remote, commit queue.CommitID, dir string, want config.Checkout) error {
	dir, err := realPath(dir)
	if err != nil {
		return err
	}
	if !isID(string(commit)) {
		return fmt.Errorf("%q is not a commit id", commit)
	}
	h := holder{git: m.repo.dir, index: m.indexOf(dir), commit: string(commit), url: r.URL, dir: dir}
	f := moduleFiller{m: m, own: r, want: want, left: maxModules}
	if want.LFS.On() {
		if err := f.lfs(ctx, h); err != nil {
			return err
		}
	}
	if !want.Submodules.On() {
		return nil
	}
	if err := os.WriteFile(m.filledMark(dir), nil, 0o644); err != nil {
		return err
	}
	links, err := m.links(ctx, h)
	if err != nil {
		return err
	}
	return f.fill(ctx, h, links, 1)
}

// filledMark returns the path of a file that exists while submodules of a checkout
// may be filled.
func (m *Worktrees) filledMark(dir string) string { return m.indexOf(dir) + ".filled" }

// holder is a checked-out commit that may have submodules.
type holder struct {
	git    string // the repository that has it
	index  string // git's index of dir
	commit string
	url    string // of that repository
	dir    string
	at     string // from the root of the checkout, with a slash at the end
}

type moduleFiller struct {
	m    *Worktrees
	own  forge.Remote
	want config.Checkout
	left int // how many more submodules are fetched
}

// moduleError is why a submodule cannot be filled. Its text is short enough to be shown
// whole, with any answer of a host in it.
type moduleError struct {
	name string
	err  error
}

func (e *moduleError) Error() string {
	const head, end = 240, 120
	text := e.err.Error()
	if len(text) > head+end {
		text = strings.ToValidUTF8(text[:head]+" … "+text[len(text)-end:], "")
	}
	return fmt.Sprintf("submodule %.80q: %s", e.name, text)
}

func (e *moduleError) Unwrap() error { return e.err }

// fill fills submodules of a commit.
func (f *moduleFiller) fill(ctx context.Context, h holder, links []link, depth int) error {
	for _, l := range links {
		name := h.at + l.Path
		if err := f.another(name, depth); err != nil {
			return err
		}
		below, next, err := f.one(ctx, h, l)
		if err != nil {
			return &moduleError{name: name, err: err}
		}
		if err := f.fill(ctx, below, next, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// another counts a submodule, and returns an error if there are too many, or they
// are nested too deep.
func (f *moduleFiller) another(name string, depth int) error {
	if f.left--; f.left < 0 {
		return fmt.Errorf("submodule %.200q: there are more than %d", name, maxModules)
	}
	if depth > maxModuleDepth {
		return fmt.Errorf("submodule %.200q is the %dth of submodules in one another; at most %d are followed", name, depth, maxModuleDepth)
	}
	return nil
}

// address returns where a submodule is.
func (f *moduleFiller) address(h holder, l link) (string, error) {
	if l.url == "" {
		return "", errors.New(".gitmodules has no address for it: add it there, or take the folder out of the commit")
	}
	return moduleURL(f.own.URL, h.url, l.url)
}

// one fills one submodule, and returns the submodules in it that must be filled. The
// cache is locked during this call: one repository may be a submodule in several places.
func (f *moduleFiller) one(ctx context.Context, h holder, l link) (below holder, links []link, err error) {
	address, err := f.address(h, l)
	if err != nil {
		return below, nil, err
	}
	dir, err := emptyFolder(h.dir, l.Path)
	if err != nil {
		return below, nil, err
	}
	cache, unlock, err := f.m.moduleCache(ctx, address)
	if err != nil {
		return below, nil, err
	}
	defer unlock()
	if err := f.fetch(ctx, cache, address, l.OID); err != nil {
		return below, nil, fmt.Errorf("fetching from %.100s: %w", address, err)
	}
	below = holder{git: cache, index: filepath.Join(cache, moduleIndex), commit: l.OID, url: address, dir: dir, at: h.at + l.Path + "/"}
	if err := f.m.placeModule(ctx, below); err != nil {
		return below, nil, errors.Join(err, os.RemoveAll(cache)) // so that a damaged one does not stay
	}
	if f.want.LFS.On() {
		if err := f.lfs(ctx, below); err != nil {
			return below, nil, err
		}
	}
	if f.want.Submodules == config.SubmodulesAll {
		links, err = f.m.links(ctx, below)
	}
	return below, links, err
}

// fetch brings a commit into a cache: with our credentials where they may be shown, and
// without them where they are refused.
func (f *moduleFiller) fetch(ctx context.Context, cache, address, commit string) error {
	if _, err := f.m.repo.inModule(ctx, cache, nil, "rev-parse", "--verify", "--quiet", moduleRef+commit); err == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	var err error
	if sameOwner(f.own.URL, address) && len(f.own.Header) > 0 {
		if err = f.m.fetchModule(ctx, cache, address, commit, f.own.Header); err == nil || !isDenied(err) {
			return err
		}
	}
	if err = f.m.fetchModule(ctx, cache, address, commit, nil); isDenied(err) {
		return fmt.Errorf("it is not there, or not to be read without credentials other than the queue's: "+
			"let everybody read it, or have the forge's CI run the step (checks: in place of run:) (%w)", err)
	}
	return err
}

// FS is Mirror.FS.
func (c Checkouts) FS(ctx context.Context, commit queue.CommitID) (fs.FS, error) {
	return c.Mirror.FS(ctx, commit)
}

// ObjectsOf is Mirror.ObjectsOf.
func (c Checkouts) ObjectsOf(ctx context.Context, commit queue.CommitID) (dir string, err error) {
	return c.Mirror.ObjectsOf(ctx, commit)
}
