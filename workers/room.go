package workers

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/user"
	"path/filepath"

	"github.com/submitqueue/submitqueue/workers/cage"
)

// isolate prepares what the agents of this process keep apart.
func (o *PoolOptions) isolate() error {
	switch o.Isolate {
	case IsolateUID:
		if err := guestsWork(o.UIDs); err != nil {
			return err
		}
		o.shut = &shut{}
		if namespacesWork(o.UIDs) == nil {
			o.room = o.newRoom()
		}
	case IsolateNamespace:
		if _, err := byNamespace(); err != nil {
			return err
		}
		o.room = o.newRoom()
	case IsolateSandbox:
		if err := sandboxesWork(); err != nil {
			return err
		}
		o.room = o.newRoom()
	}
	return nil
}

// guest claims the user of a slot, the one that it had before if that is free; nil where
// steps are not isolated.
func (o *PoolOptions) guest(dir string) (*guest, error) {
	switch o.Isolate {
	case IsolateUID:
	case IsolateNamespace, IsolateSandbox:
		return &guest{room: o.room}, nil
	default:
		return nil, nil
	}
	before, _ := ownerOf(filepath.Join(dir, "home"))
	g, err := claimGuest(o.UIDs, before)
	if err != nil {
		return nil, fmt.Errorf("workers: slot %s: %w", dir, err)
	}
	g.room, g.shut = o.room, o.shut
	o.guests = append(o.guests, g)
	return g, nil
}

// Shut closes addresses of TCP to the steps that the pool starts from now on, where
// isolation is by users of their own and the kernel lets this process do that: an error
// says why it does not (Choice.Gaps).
func (p *Pool) Shut(addresses []netip.AddrPort) error {
	if p.o.Isolate != IsolateUID || len(addresses) == 0 {
		return nil
	}
	f, err := cage.NewFence(addresses)
	if err != nil {
		return err
	}
	if old := p.o.shut.fence.Swap(f); old != nil {
		_ = old.Close() // steps that run in there keep it
	}
	return nil
}

func (o *PoolOptions) releaseGuests() {
	for _, g := range o.guests {
		g.release()
	}
	if o.shut == nil {
		return
	}
	if f := o.shut.fence.Swap(nil); f != nil {
		if err := f.Close(); err != nil {
			o.Log.Warn("remove the control group of steps", "error", err)
		}
	}
}

// runFolders are where programs of the machine keep secrets, and sockets by which others
// can command them; files needed to look up names are shown.
var (
	runFolders = []string{"/run", "/var/run"}
	shownOfRun = []string{"/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager/resolv.conf", "/run/nscd", "/run/current-system", "/run/opengl-driver", "/var/run/resolv.conf"}
)

// newRoom returns what all slots see, each with its own besides.
func (o *PoolOptions) newRoom() *room {
	r := &room{}
	hide := append([]string{o.Dir, o.SlotsDir}, runFolders...)
	if home, err := os.UserHomeDir(); err == nil {
		hide = append(hide, home)
	}
	if u, err := user.Current(); err == nil {
		hide = append(hide, u.HomeDir)
	}
	for _, path := range append(hide, o.Hide...) {
		if path, ok := realPath(path); ok && path != "/" {
			r.hide = append(r.hide, path)
		}
	}
	path := o.Runner.env("PATH")
	for _, path := range append(append(filepath.SplitList(path), shownOfRun...), o.Show...) {
		if path, ok := realPath(path); ok && r.hides(path) {
			r.show = append(r.show, cage.Shown{From: path, Optional: true})
		}
	}
	return r
}

// hides says whether a path is hidden, or in a folder that is.
func (r *room) hides(path string) bool {
	for _, hidden := range r.hide {
		if rel, err := filepath.Rel(hidden, path); err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}

// realPath returns the path of something without symbolic links. A path that does not exist
// yet is its own.
func realPath(path string) (string, bool) {
	if path == "" {
		return "", false
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", false
	}
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, os.ErrNotExist) && filepath.Dir(path) != path {
		parent, ok := realPath(filepath.Dir(path))
		return filepath.Join(parent, filepath.Base(path)), ok
	}
	return real, err == nil
}

// env returns a variable that steps are passed from.
func (o RunnerOptions) env(name string) string {
	env := o.Env
	if env == nil {
		env = os.Environ()
	}
	for i := len(env) - 1; i >= 0; i-- {
		if len(env[i]) > len(name) && env[i][len(name)] == '=' && env[i][:len(name)] == name {
			return env[i][len(name)+1:]
		}
	}
	return ""
}
