package cargo

// LockIsExact reports whether a lock file is what Cargo would write.
func LockIsExact(src []byte) bool { k := readLock(src); return k.broken == nil && k.exact }

// ReadManifest and ReadLock return what is wrong with a file, "" if nothing.
func ReadManifest(src []byte) (line int, wrong string) {
	m := readManifest(src)
	if m.broken != nil {
		return m.broken.line, m.broken.text
	}
	return 0, ""
}

func ReadLock(src []byte) (line int, wrong string) {
	k := readLock(src)
	if k.broken != nil {
		return k.broken.line, k.broken.text
	}
	return 0, ""
}

var Paths = paths
