//go:build unix

package workers

import (
	"io/fs"
	"syscall"
)

// owned returns the owner of a file, and how many names it has.
func owned(info fs.FileInfo) (uid, links int) {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(s.Uid), int(s.Nlink)
	}
	return 0, 1
}
