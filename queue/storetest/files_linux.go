package storetest

import "golang.org/x/sys/unix"

const inMemory = "/dev/shm"

// fit says whether tests can keep files and programs in a folder.
func fit(dir string, free uint64) bool {
	var s unix.Statfs_t
	return unix.Statfs(dir, &s) == nil && s.Type == unix.TMPFS_MAGIC && s.Flags&unix.ST_NOEXEC == 0 &&
		s.Bavail*uint64(s.Bsize) >= free && unix.Access(dir, unix.W_OK) == nil
}
