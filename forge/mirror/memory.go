package mirror

// Bounds of a mirror's memory, in bytes, roughly: text that others have written (messages,
// names, paths in conflict) counts with its length. With freshBytes, 120,000 names of
// commits and trees and an ancestry, the sum is 140 MB for each repository, and 80 MB
// where commits are not signed and no merge waits to be written. The latest entry of each
// map is kept, however large.
const (
	commitBytes  = 12 << 20
	mergeBytes   = 8 << 20
	treeBytes    = 16 << 20
	listingBytes = 20 << 20 // the paths themselves are shared by listings that follow from each other
	signedBytes  = 32 << 20
)

// entryBytes is the memory that an entry of a map takes beside its content.
const entryBytes = 200

func (c commitInfo) size() int {
	return entryBytes + len(c.message) + len(c.author) + 64*len(c.parents)
}

func (r merged) size() int {
	n := entryBytes + len(r.refused)
	for _, path := range r.conflicts {
		n += 16 + len(path)
	}
	return n
}

func treeSize(entries []treeEntry) int {
	n := entryBytes
	for _, e := range entries {
		n += 48 + len(e.name) + len(e.id)
	}
	return n
}

func listingSize(files []File) int { return entryBytes + 48*len(files) }
