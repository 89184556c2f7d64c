package agent

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/submitqueue/submitqueue/workers/protocol"
)

// Bounds on the content of a checkout beside its commit.
const (
	maxSubmodules = 500
	maxLarge      = 50_000
)

// outside puts content beside the commit into a checkout, as the server lists and gives it. No
// process of the place runs, and only this process writes there.
type outside struct {
	slot *slot
	base string // address of the job's repository
	auth string // the header with the job's token
	out  *trace
}

// fill puts submodules into their folders, and contents of Git LFS into the place of their
// pointers. unfill empties the folders of submodules again.
func (o outside) fill(ctx context.Context) error {
	var all protocol.Outside
	if err := o.ask(ctx, http.MethodGet, "/submitqueue/outside", nil, &all); err != nil {
		return fmt.Errorf("submodules and files of Git LFS: %w", err)
	}
	if err := valid(all); err != nil {
		return fmt.Errorf("the server lists %w", err)
	}
	root, err := os.OpenRoot(o.slot.place.Checkout())
	if err != nil {
		return err
	}
	defer root.Close()
	var paths []string
	for _, m := range all.Submodules {
		paths = append(paths, m.Path)
	}
	raw, err := json.Marshal(paths)
	if err != nil {
		return err
	}
	if err := os.WriteFile(o.slot.filled(), raw, 0o600); err != nil {
		return err
	}
	for i, m := range all.Submodules {
		o.out.say("Fetching submodule %q", m.Path)
		if err := o.submodule(ctx, root, i, m); err != nil {
			return fmt.Errorf("submodule %.200q: %w", m.Path, err)
		}
	}
	if len(all.Large) == 0 {
		return nil
	}
	o.out.say("Fetching %d files of Git LFS", len(all.Large))
	return o.large(ctx, root, all.Large)
}

// filled is the file that lists the submodules of a slot's checkout.
func (s *slot) filled() string {
	return filepath.Join(s.agent.o.Dir, fmt.Sprintf("filled-%d.json", s.number))
}

// unfill empties the folders of submodules that an earlier job has filled: git does not look
// into them.
func (s *slot) unfill() error {
	raw, err := os.ReadFile(s.filled())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var paths []string
	if err != nil || json.Unmarshal(raw, &paths) != nil {
		paths = []string{"."} // the list is lost: everything goes
	}
	root, err := os.OpenRoot(s.place.Checkout())
	if errors.Is(err, fs.ErrNotExist) {
		return os.Remove(s.filled())
	}
	if err != nil {
		return err
	}
	defer root.Close()
	for _, path := range paths {
		if path == "." {
			if err := emptyFolder(root); err != nil {
				return err
			}
		} else if err := removeModule(root, path); err != nil {
			return err
		}
	}
	return os.Remove(s.filled())
}

// removeModule removes the folder of a submodule. A link or a file that a step has put in the
// place of a folder above it goes, and not what the link leads to: no step keeps the next jobs from
// the slot.
func removeModule(root *os.Root, name string) error {
	parts := strings.Split(name, "/")
	for i := 1; i < len(parts); i++ {
		above := filepath.Join(parts[:i]...)
		switch info, err := root.Lstat(above); {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case !info.IsDir():
			return root.Remove(above)
		}
	}
	return removeBelow(root, name)
}

// removeBelow removes the file or tree at a path. A link on the way to it, which a step may
// have put there, is not followed out of the checkout.
func removeBelow(root *os.Root, name string) error {
	name = filepath.FromSlash(name)
	if root.RemoveAll(name) == nil {
		return nil
	}
	_ = fs.WalkDir(root.FS(), filepath.ToSlash(name), func(at string, d fs.DirEntry, err error) error { // folders that cannot be written
		if err == nil && d.IsDir() {
			_ = root.Chmod(filepath.FromSlash(at), 0o700) // RemoveAll returns the error
		}
		return nil
	})
	return root.RemoveAll(name)
}

func emptyFolder(root *os.Root) error {
	list, err := fs.ReadDir(root.FS(), ".")
	for _, d := range list {
		err = errors.Join(err, removeBelow(root, d.Name()))
	}
	return err
}

// submodule puts the files of a submodule into its folder.
func (o outside) submodule(ctx context.Context, root *os.Root, number int, m protocol.Submodule) error {
	if err := plainFolder(root, m.Path); err != nil {
		return err
	}
	s := o.slot
	repo := repository{dir: filepath.Join(s.agent.o.Dir, "git", fmt.Sprint(s.number), "m-"+m.Name+".git"), tree: filepath.Join(s.place.Checkout(), filepath.FromSlash(m.Path)), out: o.out}
	if err := repo.open(ctx); err != nil {
		return err
	}
	err := repo.fetch(ctx, o.auth, []string{"fetch", "-q", "--no-tags", "--no-write-fetch-head", "--force", "--update-shallow", "--depth=1",
		o.base + "/submodules/" + strconv.Itoa(number) + ".git", "+refs/submitqueue/job:refs/submitqueue/job"})
	if err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(repo.dir, "index")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err = repo.git(ctx, "", "read-tree", "--reset", "-u", "--no-recurse-submodules", m.Commit)
	if repo.discarded(ctx, err) {
		err = fmt.Errorf("the slot's repository of it is damaged; the next job makes it anew: %w", err)
	}
	return err
}

// plainFolder returns an error unless a path of the checkout is an empty folder to which no
// link leads. It makes folders that are missing.
func plainFolder(root *os.Root, name string) error {
	parts := strings.Split(name, "/")
	for i := range parts {
		at := filepath.Join(parts[:i+1]...)
		info, err := root.Lstat(at)
		if errors.Is(err, fs.ErrNotExist) {
			if err = root.Mkdir(at, 0o755); err == nil {
				continue
			}
		}
		if err != nil {
			return err
		}
		if !info.IsDir() {
			return fmt.Errorf("%.200q is no folder in the checkout", filepath.ToSlash(at))
		}
	}
	left, err := fs.ReadDir(root.FS(), name)
	if err == nil && len(left) > 0 {
		err = errors.New("its folder is not empty")
	}
	return err
}

// valid refuses a list that leads out of the checkout, or asks for too much.
func valid(all protocol.Outside) error {
	if len(all.Submodules) > maxSubmodules || len(all.Large) > maxLarge {
		return fmt.Errorf("%d submodules and %d files of Git LFS; at most %d and %d are fetched", len(all.Submodules), len(all.Large), maxSubmodules, maxLarge)
	}
	for _, m := range all.Submodules {
		if !below(m.Path) || !isHex(m.Commit, 40, 64) || !isHex(m.Name, 8, 64) {
			return fmt.Errorf("a submodule that is none: %.200q", m.Path)
		}
	}
	for _, f := range all.Large {
		if !below(f.Path) || !isHex(f.OID, 64, 64) || f.Size < 0 {
			return fmt.Errorf("a file of Git LFS that is none: %.200q", f.Path)
		}
	}
	return nil
}

// below reports whether a path is inside of a checkout, and not a file of git itself.
func below(name string) bool {
	if !fs.ValidPath(name) || name == "." || path.IsAbs(name) || strings.ContainsAny(name, "\\\x00") {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if strings.EqualFold(part, ".git") {
			return false
		}
	}
	return true
}

func isHex(s string, least, most int) bool {
	return len(s) >= least && len(s) <= most && strings.Trim(s, "0123456789abcdef") == ""
}

// ask sends a request to the server's git endpoint, and reads the answer into out.
func (o outside) ask(ctx context.Context, method, at string, in, out any) error {
	body, err := o.open(ctx, method, at, in)
	if err != nil {
		return err
	}
	defer body.Close()
	raw, err := io.ReadAll(io.LimitReader(body, maxAnswer))
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, out)
}

// open sends a request, three times at most, and returns the body of its answer.
func (o outside) open(ctx context.Context, method, at string, in any) (io.ReadCloser, error) {
	raw, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	client := *o.slot.agent.o.HTTP
	client.Timeout = 0 // ctx has one, and contents may be large
	var pause backOff
	for try := 1; ; try++ {
		body, again, err := o.once(ctx, &client, method, at, raw)
		if err == nil || !again || try == 3 || !pause.wait(ctx, nil) {
			return body, err
		}
	}
}

func (o outside) once(ctx context.Context, client *http.Client, method, at string, raw []byte) (body io.ReadCloser, again bool, err error) {
	var in io.Reader
	if method == http.MethodPost {
		in = strings.NewReader(string(raw))
	}
	req, err := http.NewRequestWithContext(ctx, method, o.base+at, in)
	if err != nil {
		return nil, false, err
	}
	name, value, _ := strings.Cut(o.auth, ": ")
	req.Header.Set(name, value)
	req.Header.Set("Accept", lfsType)
	req.Header.Set("Content-Type", lfsType)
	res, err := client.Do(req)
	if err != nil {
		return nil, true, err
	}
	if res.StatusCode == http.StatusOK {
		return res.Body, false, nil
	}
	said, _ := io.ReadAll(io.LimitReader(res.Body, 4<<10)) // as much as there is
	_ = res.Body.Close()
	return nil, res.StatusCode >= 500, fmt.Errorf("the server answers %d: %s", res.StatusCode, strings.TrimSpace(string(said)))
}

// basic is the header with a job's token.
func basic(user, password string) string {
	return "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}
