package conflict

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
)

// sum is a SHA-256. In memory hashes are kept as bytes, half the size of the
// hexadecimal form that leaves the package.
type sum [sha256.Size]byte

// none reports whether there is no hash.
func (s *sum) none() bool { return binary.NativeEndian.Uint64(s[:8]) == 0 && *s == (sum{}) }

func (s sum) digest() queue.Digest { return queue.Digest(hex.EncodeToString(s[:])) }

// framer gathers fields, each preceded by its length where that is not fixed,
// and lists, each preceded by its count, so that no two different inputs give
// the same bytes.
type framer struct{ buf []byte }

func (f *framer) reset(tag string) *framer {
	f.buf = f.buf[:0]
	return f.text(tag)
}

func (f *framer) count(n int) *framer {
	f.buf = binary.AppendUvarint(f.buf, uint64(n))
	return f
}

func (f *framer) text(s string) *framer {
	f.count(len(s))
	f.buf = append(f.buf, s...)
	return f
}

func (f *framer) sum(s *sum) *framer {
	f.buf = append(f.buf, s[:]...)
	return f
}

func (f *framer) texts(list []string) *framer {
	f.count(len(list))
	for _, s := range list {
		f.text(s)
	}
	return f
}

// entries adds files: the path, git mode and content of each.
func (f *framer) entries(list []Entry) *framer {
	f.count(len(list))
	for i := range list {
		f.text(list[i].Path).text(list[i].Mode).text(list[i].OID)
	}
	return f
}

func (f *framer) done() sum { return sha256.Sum256(f.buf) }

// record digests all data of a target except its dependencies. The salt covers
// the analyzer and the settings.
func (f *framer) record(salt *sum, t *Target) sum {
	f.reset("target2").sum(salt).text(t.Kind).text(t.Name).text(string(t.Attrs))
	if t.Internal {
		f.text("internal")
	} else {
		f.text("")
	}
	return f.entries(canonical(t.Sources)).entries(canonical(t.Inputs)).done()
}

// canonical returns the entries sorted and without repetitions.
func canonical(list []Entry) []Entry {
	byPath := func(a, b Entry) int { return strings.Compare(a.Path, b.Path) }
	if !slices.IsSortedFunc(list, byPath) {
		list = slices.Clone(list)
		slices.SortStableFunc(list, byPath)
	}
	return compact(list)
}

// compact is slices.Compact that leaves its argument as it is.
func compact[E comparable](list []E) []E {
	for i := 1; i < len(list); i++ {
		if list[i] == list[i-1] {
			return slices.Compact(slices.Clone(list))
		}
	}
	return list
}
