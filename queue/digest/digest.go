// Package digest hashes lists of fields such that no two different lists are hashed as the
// same bytes.
package digest

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

// Digest is a SHA-256 in lower-case hexadecimal, never shortened.
type Digest string

// Of hashes fields, each framed by its length, so that no two different
// lists of fields have the same digest.
func Of(fields ...string) Digest {
	var room [512]byte
	b := room[:0] // most lists are short: nothing is allocated but the result
	for _, f := range fields {
		b = append(binary.BigEndian.AppendUint64(b, uint64(len(f))), f...)
	}
	sum := sha256.Sum256(b)
	return Digest(hex.AppendEncode(room[:0], sum[:]))
}
