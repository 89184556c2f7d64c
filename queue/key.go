package queue

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
)

// CommitID and TreeID are git object ids in lower-case hexadecimal.
type (
	CommitID string
	TreeID   string
)

// Digest is a SHA-256 in lower-case hexadecimal, never shortened.
type Digest string

// TargetTree is the name of the one target of a tree whose graph is not (or
// cannot be) computed; its hash is the tree id.
const TargetTree = "tree"

// TargetUnowned is the name of the target that holds the files no analyzer
// claims, under `unowned: target`.
const TargetUnowned = "unowned"

// Key is one thing that can be verified: a step on a target at a hash. Equal
// keys have equal outcomes, flakes aside; the ledger stands on that.
type Key struct {
	Step   Digest `json:"step"`   // Step.Digest: a changed step is a new key
	Target string `json:"target"` // name within the repository
	Hash   Digest `json:"hash"`   // target hash over all inputs (package conflict)
}

// KeyID is the digest of a key; it is the key's name in the ledger.
type KeyID = Digest

// ID returns the key's name in the ledger.
func (k Key) ID() KeyID { return DigestOf("key1", string(k.Step), k.Target, string(k.Hash)) }

// DigestOf hashes fields, each framed by its length, so that no two different
// lists of fields have the same digest.
func DigestOf(fields ...string) Digest {
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
