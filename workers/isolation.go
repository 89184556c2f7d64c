package workers

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/submitqueue/submitqueue/workers/cage"
)

// Isolation says how steps are kept from this process, and from those of other slots
// (package doc).
type Isolation string

// The ways of isolation.
const (
	IsolateNone      Isolation = "none"      // steps run as the user that this process runs as
	IsolateUID       Isolation = "uid"       // each slot has a user of its own, and namespaces where the kernel has them
	IsolateNamespace Isolation = "namespace" // each step has namespaces of its own, and the user that this process runs as
	IsolateSandbox   Isolation = "sandbox"   // each step runs under a profile of the sandbox of macOS
)

// UIDs are the numbers that slots may have as user and group, from First to Last.
// Numbers that an account or a group of this machine has are left out. The zero UIDs
// are 58000 to 58999.
type UIDs struct{ First, Last int }

// ParseUIDs reads FIRST-LAST.
func ParseUIDs(text string) (UIDs, error) {
	first, last, ok := strings.Cut(text, "-")
	a, err1 := strconv.Atoi(first)
	b, err2 := strconv.Atoi(last)
	if !ok || err1 != nil || err2 != nil || a < 1 || b < a || b >= 1<<32-2 {
		return UIDs{}, fmt.Errorf("%q is no range of user ids: write FIRST-LAST, such as 58000-58999", text)
	}
	return UIDs{a, b}, nil
}

func (u UIDs) orDefault() UIDs {
	return UIDs{cmp.Or(u.First, 58000), cmp.Or(u.Last, max(u.First, 58999))}
}

// Choice is how steps are isolated on this machine.
type Choice struct {
	Mode Isolation
	Why  string   // for none: why it is so, for people
	Gaps []string // gaps of the mode on this machine, for people
}

// ChooseIsolation resolves auto, the best that this process can give to steps, and checks any
// other wish. An error says why the wish is not possible here.
func ChooseIsolation(wish string, uids UIDs) (Choice, error) {
	none := Choice{Mode: IsolateNone, Why: "it was asked for by --isolate none"}
	switch wish {
	case string(IsolateNone):
		return none, nil
	case string(IsolateUID):
		return byUID(uids)
	case string(IsolateNamespace):
		return byNamespace()
	case string(IsolateSandbox):
		return bySandbox()
	case "auto":
		c, err := byUID(uids)
		switch {
		case runtime.GOOS == "darwin":
			c, err = bySandbox()
		case errors.Is(err, errNotRoot):
			c, err = byNamespace()
		}
		if err != nil {
			none.Why = err.Error()
			return none, nil
		}
		return c, nil
	}
	return Choice{}, fmt.Errorf("%q is no way of isolation: auto, uid, namespace, sandbox or none", wish)
}

func byUID(uids UIDs) (Choice, error) {
	if err := guestsWork(uids); err != nil {
		return Choice{}, err
	}
	fence, err := cage.NewFence(nil)
	if err == nil {
		err = fence.Close()
	}
	return Choice{Mode: IsolateUID, Gaps: append(gapsOf(namespacesWork(uids)), networkGap(err)...)}, nil
}

func byNamespace() (Choice, error) {
	if os.Getuid() == 0 {
		return Choice{}, errors.New("namespaces alone are for a server that is not root: a step would be root, too, and could read what root can; have --isolate uid")
	}
	if err := namespacesWork(UIDs{}); err != nil {
		return Choice{}, err
	}
	return Choice{Mode: IsolateNamespace, Gaps: append(gapsOf(nil), networkGap(errors.New("that needs a server that is root"))...)}, nil
}

func bySandbox() (Choice, error) {
	if err := sandboxesWork(); err != nil {
		return Choice{}, err
	}
	return Choice{Mode: IsolateSandbox, Gaps: append([]string{"a process that leaves its group goes on when its step has ended, in its sandbox, and the next build of the slot shares the checkout with it"},
		networkGap(errors.New("macOS has nothing for that here"))...)}, nil
}

// networkGap says for people that no addresses are closed, if missing says why that is not
// possible.
func networkGap(missing error) []string {
	if missing == nil {
		return nil
	}
	return []string{"the addresses of this server and of Redis, so that a Redis without a password must listen on a socket in the data folder, as the server's own does (they cannot be closed: " + missing.Error() + ")"}
}

// gapsOf says for people what steps still share: with namespaces, or without them if missing
// says why they are not possible.
func gapsOf(missing error) []string {
	if missing == nil {
		return cage.Missing()
	}
	return []string{"folders that everybody can write, such as /tmp, and what processes share in memory, are the same for all runners, so that builds that run at once, and mean to, can hand open files to one another: " + missing.Error()}
}

// guest is the user that the steps of one slot run as, and what they can see and reach.
type guest struct {
	uid  int       // of the user that nobody else on this machine has, and of its only group; 0: the user of this process
	held io.Closer // the claim to the number; other processes that claim one see it
	room *room     // the view of its steps; nil: the whole machine
	shut *shut     // addresses that its steps cannot reach; nil: none
}

// shut are the addresses that steps of a pool cannot reach; without a fence, all are open.
type shut struct{ fence atomic.Pointer[cage.Fence] }

// fenceOf returns the fence that closes addresses to the guest, or nil.
func (g *guest) fenceOf() *cage.Fence {
	if g.shut == nil {
		return nil
	}
	return g.shut.fence.Load()
}

// room is the view of the machine that steps have in their namespaces, or in their sandbox.
type room struct {
	hide []string
	show []cage.Shown
}

// Why steps cannot have users of their own.
var (
	errNoGuests = errors.New("users of their own for steps need a server that is root, on Linux")
	errNotRoot  = fmt.Errorf("%w", errNoGuests) // on Linux
)

// claimGuest claims a free number: prefer, if that is free.
func claimGuest(uids UIDs, prefer int) (*guest, error) {
	uids = uids.orDefault()
	if prefer >= uids.First && prefer <= uids.Last && !isAccount(prefer) {
		if held, err := claimUID(prefer); err == nil {
			return &guest{uid: prefer, held: held}, nil
		}
	}
	for uid := uids.First; uid <= uids.Last; uid++ {
		if isAccount(uid) {
			continue
		}
		held, err := claimUID(uid)
		switch {
		case err == nil:
			return &guest{uid: uid, held: held}, nil
		case !errors.Is(err, errClaimed):
			return nil, err
		}
	}
	return nil, fmt.Errorf("none of the user ids %d-%d is free for a slot: name others (--isolate-uids)", uids.First, uids.Last)
}

// errClaimed says that another process has a number.
var errClaimed = errors.New("the user id is claimed by another process")

func isAccount(uid int) bool {
	id := strconv.Itoa(uid)
	if _, err := user.LookupId(id); err == nil {
		return true
	}
	_, err := user.LookupGroupId(id)
	return err == nil
}

// uidOf returns the guest's user id; 0 for the user of this process.
func (g *guest) uidOf() int {
	if g == nil {
		return 0
	}
	return g.uid
}

// release gives the number back. No process of it may be left.
func (g *guest) release() {
	if g != nil && g.held != nil {
		_ = g.held.Close() // a socket without peers
	}
}

// SlotsDir returns the folder for the slots of guests of the server with this data folder.
// Guests can reach it: it is beside the data folder, or else below /var/lib. Only its owner may
// look into the data folder itself.
func SlotsDir(data string) (string, error) {
	data, err := filepath.Abs(data)
	if err != nil {
		return "", err
	}
	if Passable(filepath.Dir(data)) == nil {
		return data + "-slots", nil
	}
	return filepath.Join("/var/lib/submitqueue-slots", strings.ReplaceAll(strings.Trim(data, "/"), "/", "-")), nil
}

// Passable returns an error if dir or a folder above it can be passed by its owner only; the
// error names that folder. Folders that do not exist are made by us, passable.
func Passable(dir string) error {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	for ; ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		switch {
		case errors.Is(err, os.ErrNotExist):
		case err != nil:
			return err
		case info.Mode().Perm()&0o001 == 0:
			return fmt.Errorf("users of their own for steps cannot reach their slots: %s is closed to others than its owner", dir)
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}
