//go:build unix

package chaos

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// faults are the faults that Run can inject, in the order of the help, each with the
// function that injects and repairs it. short is about how long the fault lasts. To add a
// fault, add a row. An error means that the harness does not work; an error of the
// product is a violation instead.
var faults = []struct {
	name string
	do   func(r *run, ctx context.Context, short time.Duration) error
}{
	{"kill", (*run).killServer},
	{"term", (*run).endServer},
	{"stop", (*run).stopServer},
	{"redis-kill", (*run).killRedis},
	{"redis-lose", (*run).loseWrites},
	{"redis-empty", (*run).emptyRedis},
	{"wire-hang", (*run).hangWire},
	{"wire-dead", (*run).cutWire},
	{"mirror", func(r *run, _ context.Context, _ time.Duration) error { return r.damage() }},
	{"disk", (*run).fill},
	{"step", func(r *run, _ context.Context, _ time.Duration) error {
		r.note("kill what a step runs: %d processes", r.killSteps())
		return nil
	}},
	{"past", func(r *run, ctx context.Context, _ time.Duration) error {
		r.pasts++
		r.note("push to main past the queue")
		return r.world.past(ctx, r.pasts)
	}},
	{"second", func(r *run, ctx context.Context, short time.Duration) error { return r.second(ctx, 2*short) }},
	{"clock", func(r *run, ctx context.Context, short time.Duration) error { return r.jump(ctx, 2*short) }},
}

// Faults returns the names of the faults that Run can inject.
func Faults() (names []string) {
	for _, f := range faults {
		names = append(names, f.name)
	}
	return names
}

// fault injects one fault and repairs it.
func (r *run) fault(ctx context.Context, name string) error {
	short := time.Duration(100+r.draw.IntN(2500)) * time.Millisecond
	i := slices.Index(Faults(), name)
	if i < 0 {
		return noFault(name)
	}
	return faults[i].do(r, ctx, short)
}

func noFault(name string) error {
	return fmt.Errorf("there is no fault %q; there are %s", name, strings.Join(Faults(), ", "))
}

func (r *run) killServer(ctx context.Context, short time.Duration) error {
	r.note("kill the server, start it %v later", short.Round(time.Millisecond))
	if _, err := r.server.end(syscall.SIGKILL, time.Minute); err != nil {
		return err
	}
	pause(ctx, short)
	return r.server.start(ctx)
}

func (r *run) endServer(ctx context.Context, _ time.Duration) error {
	r.note("have the server end, start it again")
	code, err := r.server.end(syscall.SIGTERM, endLimit)
	if err != nil {
		return err
	}
	if code != 0 {
		r.wrong("told to end, the server ends with %d (−1: it had to be killed after %v)", code, endLimit)
	}
	return r.server.start(ctx)
}

func (r *run) stopServer(ctx context.Context, short time.Duration) error {
	r.note("stop the server for %v", (3 * short).Round(time.Millisecond))
	r.server.signal(syscall.SIGSTOP)
	pause(ctx, 3*short)
	r.server.signal(syscall.SIGCONT)
	return nil
}

func (r *run) killRedis(ctx context.Context, short time.Duration) error {
	r.note("kill redis-server, start it %v later", short.Round(time.Millisecond))
	r.redis.kill()
	pause(ctx, short)
	return r.redis.start(ctx)
}

func (r *run) loseWrites(ctx context.Context, _ time.Duration) error {
	bytes := int64(1 + r.draw.IntN(20_000))
	r.note("kill redis-server, take the last %d bytes of its writes, start it", bytes)
	r.redis.kill()
	if err := r.redis.lose(bytes); err != nil {
		return err
	}
	r.lossy.Store(true)
	return r.redis.start(ctx)
}

func (r *run) emptyRedis(context.Context, time.Duration) error {
	r.note("empty Redis")
	r.lossy.Store(true)
	_, err := r.redis.say("FLUSHALL")
	return err
}

func (r *run) hangWire(ctx context.Context, short time.Duration) error {
	return r.wire(ctx, wireHangs, "nothing comes, nothing ends", 3*short)
}

func (r *run) cutWire(ctx context.Context, short time.Duration) error {
	return r.wire(ctx, wireDead, "connections end", 3*short)
}

// wire cuts Redis off for a while.
func (r *run) wire(ctx context.Context, state wireState, how string, d time.Duration) error {
	r.note("cut Redis off for %v (%s)", d.Round(time.Millisecond), how)
	r.redis.wire.set(state)
	pause(ctx, d)
	r.redis.wire.set(wireWhole)
	return nil
}

// damage damages the mirror of the repository.
func (r *run) damage() error {
	mirrors, err := filepath.Glob(filepath.Join(r.server.data, "mirrors", "*.git"))
	if err != nil || len(mirrors) == 0 {
		return err
	}
	mirror := mirrors[r.draw.IntN(len(mirrors))]
	var objects, packs []string
	_ = filepath.WalkDir(filepath.Join(mirror, "objects"), func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || d.IsDir(): // the file may be gone by now
		case strings.HasSuffix(path, ".pack"):
			packs = append(packs, path)
		case len(filepath.Base(filepath.Dir(path))) == 2:
			objects = append(objects, path)
		}
		return nil
	})
	slices.Sort(objects)
	switch roll := r.draw.IntN(4); {
	case roll == 0:
		r.note("remove the mirror")
		return os.RemoveAll(mirror)
	case roll == 1 && len(packs) > 0:
		r.note("cut a pack of the mirror in half")
		pack := packs[r.draw.IntN(len(packs))]
		info, err := os.Stat(pack)
		if err != nil {
			return nil // the mirror has been packed again
		}
		_ = os.Chmod(pack, 0o644)
		_ = os.Truncate(pack, info.Size()/2)
	case roll == 2 && len(objects) > 0:
		n := 1 + r.draw.IntN(min(20, len(objects)))
		r.note("overwrite %d objects of the mirror", n)
		for range n {
			object := objects[r.draw.IntN(len(objects))]
			_ = os.Chmod(object, 0o644)
			_ = os.WriteFile(object, []byte("not an object"), 0o444)
		}
	default:
		r.note("remove the refs of the mirror")
		_ = os.Remove(filepath.Join(mirror, "packed-refs"))
		return os.RemoveAll(filepath.Join(mirror, "refs", "submitqueue"))
	}
	return nil
}

// fill fills the disk of the data folder for a while.
func (r *run) fill(ctx context.Context, d time.Duration) error {
	r.note("fill the disk for %v", d.Round(time.Millisecond))
	at := filepath.Join(r.server.data, "filler")
	f, err := os.Create(at)
	if err != nil {
		return nil // the disk is full already
	}
	block := make([]byte, 1<<20)
	for err == nil && ctx.Err() == nil {
		_, err = f.Write(block)
	}
	_ = f.Close() // an error is expected: the disk is full
	pause(ctx, d)
	return os.Remove(at)
}

// killSteps kills the processes that run in the checkouts of slots, and returns how many there
// were.
func (r *run) killSteps() (n int) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range dirs {
		cwd, _ := os.Readlink(filepath.Join(p, "cwd"))
		var pid int
		if !strings.HasPrefix(cwd, r.slots(r.server.data)+"/") {
			continue
		}
		if _, err := fmt.Sscan(filepath.Base(p), &pid); err == nil && syscall.Kill(pid, syscall.SIGKILL) == nil {
			n++
		}
	}
	return n
}

// second starts a second server on the same Redis and repository, and kills the first
// one. After a while it starts the first one again, and then kills the second one.
func (r *run) second(ctx context.Context, d time.Duration) error {
	r.note("a second server for %v, the first one killed", d.Round(time.Millisecond))
	other := r.newServer(filepath.Join(r.dir, "other"))
	if err := os.MkdirAll(other.data, 0o700); err != nil {
		return err
	}
	if err := other.start(ctx); err != nil {
		return err
	}
	if _, err := r.server.end(syscall.SIGKILL, time.Minute); err != nil {
		return err
	}
	first := r.server
	r.use(other)
	pause(ctx, d)
	if err := first.start(ctx); err != nil {
		return err
	}
	pause(ctx, d)
	r.use(first)
	_, err := other.end(syscall.SIGKILL, time.Minute)
	return err
}

// jumps are the amounts by which clocks are set: by hand, by a daemon that corrects the
// time, and on a machine that is restored from a snapshot.
var jumps = []time.Duration{-time.Hour, -time.Minute, -20 * time.Second, 90 * time.Second, time.Hour, 25 * time.Hour, 40 * 24 * time.Hour}

// jump sets the server's clock, and sets it right again.
func (r *run) jump(ctx context.Context, d time.Duration) error {
	off := jumps[r.draw.IntN(len(jumps))]
	r.note("set the server's clock by %v for %v", off, d.Round(time.Millisecond))
	if off > 24*time.Hour {
		r.lossy.Store(true) // verdicts are kept for weeks, and by the server's clock those may be over
	}
	if err := r.setClock(off); err != nil {
		return err
	}
	pause(ctx, d)
	return r.setClock(0)
}

// setClock writes how far the clocks of servers are off, in one atomic step.
func (r *run) setClock(off time.Duration) error {
	next := r.clock() + ".new"
	if err := os.WriteFile(next, []byte(off.String()), 0o644); err != nil {
		return err
	}
	return os.Rename(next, r.clock())
}

// clock is the file from which the server reads how far its clock is off.
func (r *run) clock() string { return filepath.Join(r.dir, "clock") }
