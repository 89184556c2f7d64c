// Package digest hashes lists of fields such that no two different lists are hashed as the
// same bytes.
package digest

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
)

// Digest is a SHA-256 in lower-case hexadecimal, never shortened.
type Digest string

// Of hashes fields, each framed by its length, so that no two different
// lists of fields have the same digest.
func Of(fields ...string) Digest {
	h := sha256.New()
	for _, f := range fields {
		frame(h, f)
	}
	return Digest(hex.EncodeToString(h.Sum(nil)))
}

func frame(h hash.Hash, s string) {
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], uint64(len(s)))
	h.Write(n[:])
	h.Write([]byte(s))
}
