package chaos

import (
	"fmt"
	"os"
	"syscall"
)

// mountSmall puts a small file system at a folder, so that its disk can be filled without
// anybody else's being full.
func mountSmall(dir string) error {
	if os.Getuid() != 0 {
		return fmt.Errorf("a disk of its own needs root")
	}
	if err := syscall.Mount("submitqueue-chaos", dir, "tmpfs", 0, "size=400m,mode=700"); err != nil {
		return fmt.Errorf("a disk of its own cannot be mounted: %w", err)
	}
	return nil
}
