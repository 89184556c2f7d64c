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

// isolate prepares the isolation of this process's agents, and checks that it works here.
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

// guest claims a user for a slot: the one that the slot had before, if that is free. It returns
// nil if steps are not isolated.
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

// Shut closes TCP addresses to the steps that the pool starts from now on. It does nothing
// unless the steps have their own users (IsolateUID). An error says why the kernel does not let
// this process do that (Choice.Gaps).
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

// releaseGuests gives back the users of the slots, and then their folder.
func (o *PoolOptions) releaseGuests() {
	if o.taken != nil {
		defer o.taken.Close()
	}
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

// newRoom returns the room that all slots share; each slot adds its own folders.
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

// realPath returns a path without symbolic links. Of a path that does not exist yet, it
// resolves the part that does.
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

// env returns a variable of the environment from which steps get theirs.
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
