package lfs

import (
	"encoding/hex"
	"strconv"
	"strings"
)

// MaxPointer is the largest size of a pointer, in bytes (docs/spec.md: less than
// 1024).
const MaxPointer = 1023

// MinPointer is the smallest size of a pointer, in bytes.
const MinPointer = len("version https://hawser.github.com/spec/v1\noid sha256:\nsize 0") + 64

// Pointer names a content.
type Pointer struct {
	OID  string // its SHA-256, in 64 hexadecimal digits of lower case
	Size int64  // in bytes
}

// versions are the versions in the first lines of pointers: the present one, and the one
// before git-lfs 1.0.
var versions = []string{"https://git-lfs.github.com/spec/v1", "https://hawser.github.com/spec/v1"}

// Parse reads a pointer, and reports whether the text is one. git-lfs treats any other
// text as an ordinary file.
func Parse(text []byte) (Pointer, bool) {
	if len(text) > MaxPointer {
		return Pointer{}, false
	}
	var p Pointer
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	for i, line := range lines {
		key, value, ok := strings.Cut(strings.TrimSuffix(line, "\r"), " ")
		switch {
		case !ok, i == 0 && key != "version":
			return Pointer{}, false
		case key == "version":
			if i > 0 || value != versions[0] && value != versions[1] {
				return Pointer{}, false
			}
		case key == "oid":
			kind, id, _ := strings.Cut(value, ":")
			if kind != "sha256" || !isOID(id) || p.OID != "" {
				return Pointer{}, false
			}
			p.OID = id
		case key == "size":
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil || n < 0 || strconv.FormatInt(n, 10) != value {
				return Pointer{}, false
			}
			p.Size = n
		case strings.HasPrefix(key, "ext-"):
			return Pointer{}, false // a program makes the file from the stored content
		}
	}
	return p, p.OID != "" && hasSize(lines)
}

func hasSize(lines []string) bool {
	n := 0
	for _, line := range lines {
		if strings.HasPrefix(line, "size ") {
			n++
		}
	}
	return n == 1
}

func isOID(s string) bool {
	raw, err := hex.DecodeString(s)
	return err == nil && len(raw) == 32 && strings.ToLower(s) == s
}
