package mirror

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/submitqueue/submitqueue/forge/lfs"
)

// largeFile is a file of a checkout that Git LFS keeps.
type largeFile struct {
	path       string // from the folder of its holder; hostile text
	executable bool
	blob       string // its object in the commit
	pointer    lfs.Pointer
}

// lfs replaces the pointers of a commit by the files that Git LFS keeps. A step sees all
// of them or does not run: its failure would accuse a sound change.
func (f *moduleFiller) lfs(ctx context.Context, h holder) error {
	files, config, err := f.m.largeFiles(ctx, h)
	if err != nil || len(files) == 0 {
		return err
	}
	want := make([]lfs.Pointer, len(files))
	paths := map[lfs.Pointer]string{}
	for i, file := range files {
		want[i], paths[file.pointer] = file.pointer, file.path
	}
	for range 2 { // a content in the store may turn out to be damaged
		if err = f.fetchLarge(ctx, h, config, want); err != nil {
			break
		}
		if err = f.m.placeLarge(ctx, h.dir, files); !errors.As(err, new(*lfs.MissingError)) {
			break
		}
	}
	var missing *lfs.MissingError
	switch {
	case errors.As(err, &missing):
		return fmt.Errorf("%.200q, a file of Git LFS: %w", h.at+paths[missing.Pointer], missing)
	case err != nil:
		return fmt.Errorf("files of Git LFS: %w", err)
	}
	return nil
}

// largeFiles lists the files of a commit that have filter=lfs and are pointers, and
// returns the address of the LFS server that .lfsconfig names, if it does.
func (m *Worktrees) largeFiles(ctx context.Context, h holder) (files []largeFile, address string, err error) {
	small, config, err := m.trackedFiles(ctx, h)
	if err != nil || len(small) == 0 {
		return nil, "", err
	}
	root, err := os.OpenRoot(h.dir)
	if err != nil {
		return nil, "", err
	}
	defer root.Close()
	for _, file := range small {
		text, err := root.ReadFile(filepath.FromSlash(file.path))
		if err != nil {
			return nil, "", err
		}
		var ok bool
		if file.pointer, ok = lfs.Parse(text); ok {
			files = append(files, file)
		}
	}
	if config != "" && len(files) > 0 {
		address, err = m.lfsAddress(ctx, h, config)
	}
	return files, address, err
}

// trackedFiles lists the files of a commit that have filter=lfs, by h.index, and are small
// enough to be pointers. config is the blob of .lfsconfig; "": there is none.
func (m *Worktrees) trackedFiles(ctx context.Context, h holder) (tracked []largeFile, config string, err error) {
	out, err := m.repo.inModule(ctx, h.git, nil, "ls-tree", "-r", "-z", "-l", h.commit)
	if err != nil {
		return nil, "", err
	}
	var small []largeFile
	var asked bytes.Buffer
	attributes := false
	for entry := range strings.SplitSeq(string(out), "\x00") {
		head, name, _ := strings.Cut(entry, "\t")
		f := strings.Fields(head)
		if len(f) != 4 || f[0] != "100644" && f[0] != "100755" {
			continue
		}
		attributes = attributes || path.Base(name) == ".gitattributes"
		if name == ".lfsconfig" {
			config = f[2]
		}
		if size, err := strconv.Atoi(f[3]); err == nil && size >= lfs.MinPointer && size <= lfs.MaxPointer {
			small = append(small, largeFile{path: name, executable: f[0] == "100755", blob: f[2]})
			fmt.Fprintf(&asked, "%s\x00", name)
		}
	}
	if !attributes || len(small) == 0 {
		return nil, "", nil
	}
	filters, _, err := m.repo.run(ctx, invocation{args: []string{"check-attr", "--cached", "--stdin", "-z", "filter"}, dir: h.dir, stdin: asked.Bytes(),
		env: []string{"GIT_DIR=" + h.git, "GIT_INDEX_FILE=" + h.index, "GIT_WORK_TREE=" + h.dir}})
	if err != nil {
		return nil, "", err
	}
	said := strings.Split(string(filters), "\x00") // path, "filter", value, of each
	if len(said) != 3*len(small)+1 {
		return nil, "", fmt.Errorf("git says the filter of %d files, and was asked for %d", len(said)/3, len(small))
	}
	for i, file := range small {
		if said[3*i+2] == "lfs" {
			tracked = append(tracked, file)
		}
	}
	return tracked, config, nil
}

// lfsAddress reads lfs.url of a .lfsconfig; "": it has none.
func (m *Worktrees) lfsAddress(ctx context.Context, h holder, blob string) (string, error) {
	out, err := m.repo.inModule(ctx, h.git, nil, "config", "--no-includes", "--blob", blob, "-z", "--list")
	if err != nil {
		return "", fmt.Errorf(".lfsconfig cannot be read: %w", err)
	}
	written := ""
	for entry := range strings.SplitSeq(string(out), "\x00") {
		if value, ok := strings.CutPrefix(entry, "lfs.url\n"); ok {
			written = value
		}
	}
	if written == "" {
		return "", nil
	}
	u, err := url.Parse(written)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return "", fmt.Errorf(".lfsconfig has the url %.120q, from where nothing is fetched: write its https address", redacted(written))
	}
	if _, secret := u.User.Password(); secret {
		return "", fmt.Errorf(".lfsconfig has a url at %.80q with a password: take it out, everybody who reads the repository has it", u.Host)
	}
	u.User = nil
	return strings.TrimSuffix(u.String(), "/"), nil
}

// fetchLarge brings contents into the store, from the server or folder that git-lfs
// would use.
func (f *moduleFiller) fetchLarge(ctx context.Context, h holder, address string, want []lfs.Pointer) error {
	store := f.m.lfs
	if address == "" {
		if folder := localDir(h.url); folder != "" {
			return store.Fetch(ctx, lfs.Folder(filepath.Join(folder, "lfs", "objects")), want)
		}
		address = strings.TrimSuffix(strings.TrimSuffix(h.url, "/"), ".git") + ".git/info/lfs"
	}
	server := lfs.Server{URL: address}
	if len(f.own.Header) > 0 && sameOwner(f.own.URL, strings.TrimSuffix(address, "/info/lfs")) {
		server.Header = http.Header{}
		for _, line := range f.own.Header {
			name, value, _ := strings.Cut(line, ":")
			server.Header.Set(name, strings.TrimSpace(value))
		}
		if err := store.Fetch(ctx, server, want); !errors.Is(err, lfs.ErrDenied) {
			return err
		}
		server.Header = nil
	}
	err := store.Fetch(ctx, server, want)
	if errors.Is(err, lfs.ErrDenied) {
		return fmt.Errorf("%.100s is not there, or not to be read without credentials other than the queue's: "+
			"let everybody read it, or have the forge's CI run the step (checks: in place of run:) (%w)", address, err)
	}
	return err
}

// placeLarge replaces pointers by their contents. The next checkout in the folder
// removes the contents: git sees that the files differ from its index.
func (m *Worktrees) placeLarge(ctx context.Context, dir string, files []largeFile) error {
	root, err := os.OpenRoot(dir) // so that no symbolic link leads out of it
	if err != nil {
		return err
	}
	defer root.Close()
	for _, file := range files {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := m.placeOne(root, file); err != nil {
			return err
		}
	}
	return nil
}

func (m *Worktrees) placeOne(root *os.Root, file largeFile) error {
	name, mode := filepath.FromSlash(file.path), fs.FileMode(0o644)
	if file.executable {
		mode = 0o755
	}
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	to, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	return errors.Join(m.lfs.Copy(file.pointer, to), to.Close())
}
