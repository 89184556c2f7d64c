package workers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/submitqueue/submitqueue/workers/cage"
)

// runCaged is run for a command that has namespaces of its own. No process of it can be left,
// except one that the kernel itself cannot end.
func (c command) runCaged(ctx context.Context) (exit, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return exit{}, err
	}
	where := cage.Where{Mark: markVar + "=" + c.mark, Fence: c.guest.fenceOf()}
	if uid := c.guest.uid; uid != 0 {
		where.User = &cage.IDs{UID: uid, GID: uid}
		err = w.Chown(uid, uid) // for programs that open /dev/stderr
	}
	var p *cage.Process
	if err == nil {
		p, err = cage.Start(cage.Spec{Argv: c.argv, Dir: c.dir, Env: c.env, Hide: c.guest.room.hide, Show: c.guest.room.show, Grace: c.grace, Linger: linger}, where, w)
	}
	closeErr := w.Close()
	if err = errors.Join(err, closeErr); err != nil {
		_ = r.Close()
		return exit{}, err
	}
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		_, _ = io.Copy(c.out, r) // ends when the pipe is closed on either side
	}()

	var e exit
	limit := time.NewTimer(c.timeout)
	defer limit.Stop()
	select {
	case <-p.Done():
	case <-limit.C:
		e.timedOut = true
	case <-ctx.Done():
		e.stopped = true
	}
	if p.Stop(); !within(p.Done(), c.grace+killLimit) {
		if p.Kill(); !within(p.Done(), killLimit) {
			e.left = 1
		}
	}
	if !within(copied, drain) {
		_ = r.Close() // a process out of reach holds the other end
		within(copied, drain)
	}
	_ = r.Close()
	if e.left > 0 {
		return e, nil
	}
	status, err := p.Status()
	if err != nil {
		return exit{}, err
	}
	e.code = status.Code
	if !status.Exited {
		e.code, e.signal, e.fault = -1, syscall.Signal(status.Signal).String(), isFault(syscall.Signal(status.Signal))
	}
	return e, nil
}

// namespacesWork says why steps cannot have namespaces of their own here, if so. It tries
// one.
func namespacesWork(uids UIDs) error {
	g := &guest{room: &room{}}
	if os.Getuid() == 0 {
		claimed, err := claimGuest(uids, 0)
		if err != nil {
			return err
		}
		defer claimed.release()
		g.uid = claimed.uid
	}
	var out limited
	c := command{argv: []string{"/bin/sh", "-c", "exit 0"}, dir: "/", env: []string{"PATH=/usr/local/bin:/usr/bin:/bin"},
		guest: g, timeout: time.Minute, grace: time.Second, out: &out}
	e, err := c.run(context.Background())
	if err == nil && (e.code != 0 || e.signal != "") {
		err = fmt.Errorf("%s %s", how(e), lastBytes(clean(out.String()), 200))
	}
	if err != nil {
		return fmt.Errorf("steps cannot have namespaces of their own: %w%s", err, forbids())
	}
	return nil
}

// forbids says which setting of the kernel is known to forbid namespaces, and what to do.
func forbids() string {
	for _, s := range []struct{ name, value, do string }{
		{"kernel/unprivileged_userns_clone", "0", "sysctl kernel.unprivileged_userns_clone=1 permits them"},
		{"user/max_user_namespaces", "0", "sysctl user.max_user_namespaces=10000 permits them"},
		{"kernel/apparmor_restrict_unprivileged_userns", "1", "AppArmor keeps them from programs without a profile that has the line \"userns,\": give this program one, or run the server as root, or sysctl kernel.apparmor_restrict_unprivileged_userns=0"},
	} {
		text, err := os.ReadFile("/proc/sys/" + s.name)
		if err == nil && strings.TrimSpace(string(text)) == s.value && os.Getuid() != 0 {
			return "; " + s.do
		}
	}
	return "; they need Linux 5.12, and in a container a runtime that permits them (or a server that is root in there)"
}
