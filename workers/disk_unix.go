//go:build linux || darwin

package workers

import "syscall"

// freeBytes returns the space on the disk of dir that is free for us; ok is
// false where it cannot be told.
func freeBytes(dir string) (free uint64, ok bool) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, false
	}
	return uint64(st.Bavail) * uint64(st.Bsize), true
}
