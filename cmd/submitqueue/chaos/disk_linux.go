package chaos

import (
	"fmt"
	"os"
	"syscall"
)

// mountSmall mounts a small file system at a folder, so that a test can fill it without
// filling the machine's disk.
func mountSmall(dir string) error {
	if os.Getuid() != 0 {
		return fmt.Errorf("a disk of its own needs root")
	}
	if err := syscall.Mount("submitqueue-chaos", dir, "tmpfs", 0, "size=400m,mode=700"); err != nil {
		return fmt.Errorf("a disk of its own cannot be mounted: %w", err)
	}
	return nil
}
