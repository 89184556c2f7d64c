package mirror

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/submitqueue/submitqueue/forge/lfs"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Outside lists the content of a commit's checkout that git does not have in the commit,
// for a caller that makes the checkout elsewhere (package upload). Paths are from the
// root of the checkout, and hostile text.
type Outside struct {
	Modules []Module // each after the one that contains it
	Large   []LargeFile

	from    Checkouts
	sources map[lfs.Pointer]largeSource
}

// Module is a submodule.
type Module struct {
	Path   string
	Commit queue.CommitID
	URL    string // of its repository, without credentials
	Git    string // a repository that has the commit, usually without its history
}

// Name returns hexadecimal digits, the same for submodules of the same repository.
func (m Module) Name() string { return filepath.Base(m.Git) }

// LargeFile is a file that Git LFS keeps.
type LargeFile struct {
	Path       string
	Executable bool
	Pointer    lfs.Pointer
}

// largeSource is the repository that has a pointer, and the address that its
// .lfsconfig names.
type largeSource struct{ url, address string }

// Outside returns the wanted content of a commit that is outside of git. It fetches
// submodules, as Fill does; contents of LFS are fetched only by Fetch. Errors as Fill's.
func (c Checkouts) Outside(ctx context.Context, commit queue.CommitID, want config.Checkout) (*Outside, error) {
	out := &Outside{from: c, sources: map[lfs.Pointer]largeSource{}}
	if want.Plain() {
		return out, nil
	}
	if _, err := c.Mirror.ObjectsOf(ctx, commit); err != nil { // written, for git to read
		return nil, err
	}
	r, err := c.Forge.Remote(ctx)
	if err == nil {
		m := c.Mirror.Worktrees
		f := moduleFiller{m: m, own: r, want: want, left: maxModules}
		err = f.outside(ctx, holder{git: m.repo.dir, commit: string(commit), url: r.URL}, out, 1)
	}
	if err != nil {
		return nil, fmt.Errorf("what the checkout holds beside git: %w", err)
	}
	return out, nil
}

// outside adds the content outside of one commit. depth is the depth of its
// submodules.
func (f *moduleFiller) outside(ctx context.Context, h holder, out *Outside, depth int) error {
	if f.want.LFS.On() {
		files, address, err := f.m.pointers(ctx, h)
		if err != nil {
			return fmt.Errorf("files of Git LFS: %w", err)
		}
		for _, file := range files {
			out.Large = append(out.Large, LargeFile{h.at + file.path, file.executable, file.pointer})
			out.sources[file.pointer] = largeSource{h.url, address}
		}
	}
	if !f.want.Submodules.On() || depth > 1 && f.want.Submodules != config.SubmodulesAll {
		return nil
	}
	links, err := f.m.links(ctx, h)
	if err != nil {
		return err
	}
	for _, l := range links {
		name := h.at + l.Path
		if err := f.another(name, depth); err != nil {
			return err
		}
		below, err := f.fetched(ctx, h, l)
		if err != nil {
			return &moduleError{name: name, err: err}
		}
		out.Modules = append(out.Modules, Module{Path: name, Commit: queue.CommitID(l.OID), URL: below.url, Git: below.git})
		if err := f.outside(ctx, below, out, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// fetched brings a submodule's commit into its cache.
func (f *moduleFiller) fetched(ctx context.Context, h holder, l link) (below holder, err error) {
	address, err := f.address(h, l)
	if err != nil {
		return below, err
	}
	cache, unlock, err := f.m.moduleCache(ctx, address)
	if err != nil {
		return below, err
	}
	defer unlock()
	if err := f.fetch(ctx, cache, address, l.OID); err != nil {
		return below, fmt.Errorf("fetching from %.100s: %w", address, err)
	}
	return holder{git: cache, commit: l.OID, url: address, at: h.at + l.Path + "/"}, nil
}

// pointers is largeFiles for a commit that is not checked out.
func (m *Worktrees) pointers(ctx context.Context, h holder) (files []largeFile, address string, err error) {
	if h.dir, err = os.MkdirTemp("", "submitqueue-pointers-*"); err != nil {
		return nil, "", err
	}
	defer os.RemoveAll(h.dir)
	h.index = filepath.Join(h.dir, "index")
	if _, _, err := m.repo.run(ctx, invocation{args: []string{"read-tree", h.commit}, dir: h.git, env: []string{"GIT_DIR=" + h.git, "GIT_INDEX_FILE=" + h.index}}); err != nil {
		return nil, "", err
	}
	tracked, config, err := m.trackedFiles(ctx, h)
	if err != nil || len(tracked) == 0 {
		return nil, "", err
	}
	var asked bytes.Buffer
	for _, file := range tracked {
		fmt.Fprintln(&asked, file.blob)
	}
	texts, _, err := m.repo.run(ctx, invocation{args: []string{"cat-file", "--batch"}, dir: h.git, stdin: asked.Bytes(), env: []string{"GIT_DIR=" + h.git}})
	if err != nil {
		return nil, "", err
	}
	for _, file := range tracked { // OID SP KIND SP SIZE LF CONTENT LF, of each
		head, rest, _ := bytes.Cut(texts, []byte{'\n'})
		words := strings.Fields(string(head))
		if len(words) != 3 || words[0] != file.blob {
			return nil, "", fmt.Errorf("%.200q cannot be read", file.path)
		}
		n, err := strconv.Atoi(words[2])
		if err != nil || n < 0 || n >= len(rest) {
			return nil, "", fmt.Errorf("%.200q cannot be read whole", file.path)
		}
		var ok bool
		if file.pointer, ok = lfs.Parse(rest[:n]); ok {
			files = append(files, file)
		}
		texts = rest[n+1:]
	}
	if config != "" && len(files) > 0 {
		address, err = m.lfsAddress(ctx, h, config)
	}
	return files, address, err
}

// Has reports whether a content belongs to the commit or to its submodules.
func (o *Outside) Has(p lfs.Pointer) bool { _, ok := o.sources[p]; return ok }

// Fetch brings contents into the mirror, from the same servers as Fill. It leaves out
// contents that the commit does not have.
func (o *Outside) Fetch(ctx context.Context, want []lfs.Pointer) error {
	r, err := o.from.Forge.Remote(ctx) // earlier credentials may have expired
	if err != nil {
		return err
	}
	f := moduleFiller{m: o.from.Mirror.Worktrees, own: r}
	by := map[largeSource][]lfs.Pointer{}
	for _, p := range want {
		if s, ok := o.sources[p]; ok {
			by[s] = append(by[s], p)
		}
	}
	var failed []error
	for s, some := range by {
		failed = append(failed, f.fetchLarge(ctx, holder{url: s.url}, s.address, some))
	}
	return errors.Join(failed...)
}

// Copy writes a content that Fetch has fetched.
func (o *Outside) Copy(p lfs.Pointer, to io.Writer) error {
	if !o.Has(p) {
		return os.ErrNotExist
	}
	return o.from.Mirror.Worktrees.lfs.Copy(p, to)
}
