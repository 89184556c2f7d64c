package checkout

import (
	"os"
	"path/filepath"
)

// Keep returns a folder beside the tree that stays as it is until the pool is
// closed, for the state of servers that programs leave behind. stop, one for
// each name, is called before that: it must end the processes that Run has left
// in a separate session. A nil stop asks for the folder only.
func (d *Dir) Keep(name string, stop func() error) (string, error) {
	dir := filepath.Join(d.keep(), name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", provisional(err)
	}
	d.pool.mu.Lock()
	defer d.pool.mu.Unlock()
	if d.slot.stops == nil {
		d.slot.stops = map[string]func() error{}
	}
	if d.slot.stops[name] == nil && stop != nil {
		d.slot.stops[name] = stop
	}
	return dir, nil
}

// keep is the folder of the state of servers.
func (d *Dir) keep() string { return filepath.Join(d.slot.path, "keep") }
