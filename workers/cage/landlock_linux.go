package cage

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Of landlock(7), since the sixth version of its interface.
const (
	scopeAbstractSockets = 1 << 0
	scopeSignals         = 1 << 1
	scopesSince          = 6
)

// ruleset is struct landlock_ruleset_attr.
type ruleset struct{ fs, net, scoped uint64 }

// landlockVersion is the version of the kernel's interface; 0: it has none.
func landlockVersion() int {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(version)
}

// restrict keeps the calling thread, and processes that it starts, from sockets without a path
// and from signals to processes outside of its own domain, if the kernel can.
func restrict() error {
	if landlockVersion() < scopesSince {
		return nil
	}
	rules := ruleset{scoped: scopeAbstractSockets | scopeSignals}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&rules)), unsafe.Sizeof(rules), 0)
	if errno != 0 {
		return fmt.Errorf("close sockets without a path: %w", errno)
	}
	defer unix.Close(int(fd))
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return fmt.Errorf("close sockets without a path: %w", errno)
	}
	return nil
}

// Missing says for people what this kernel lets commands share.
func Missing() []string {
	if landlockVersion() >= scopesSince {
		return nil
	}
	return []string{"sockets without a path, by which builds that run at once, and mean to, can hand open files to one another (Linux 6.12 with Landlock closes them)"}
}
