package checkout

import (
	"io/fs"
	"syscall"
)

// stamp tells a file from one that somebody has changed or replaced since. The
// time of the last change of the inode cannot be set by a program.
type stamp struct {
	size, modified, changed int64
	inode                   uint64
	mode                    fs.FileMode
	sure                    bool
}

func stampOf(info fs.FileInfo) stamp {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return stamp{size: info.Size()}
	}
	return stamp{size: info.Size(), modified: s.Mtim.Nano(), changed: s.Ctim.Nano(), inode: s.Ino, mode: info.Mode(), sure: true}
}
