package queue

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// MaxDepends is how many pull requests a description may name to land after.
const MaxDepends = 10

// maxDescription is how much of a description is read for that, in bytes; no forge
// keeps a longer one.
const maxDescription = 256 << 10

// PullRef names a pull request.
type PullRef struct {
	Repository string // "owner/name" in lower case; empty: the same repository
	Number     int
}

// String returns the reference as people write it, e.g. "#7" or "acme/shop#7".
func (r PullRef) String() string { return r.Repository + "#" + strconv.Itoa(r.Number) }

// ParsePullRef reads what String writes. ok is false for anything else.
func ParsePullRef(s string) (r PullRef, ok bool) {
	m := pullRef.FindStringSubmatch(s)
	if m == nil || m[0] != s {
		return r, false
	}
	n, err := strconv.Atoi(m[2])
	return PullRef{strings.ToLower(m[1]), n}, err == nil && n > 0
}

var (
	dependsLine = regexp.MustCompile(`(?i)^(?:[-*+] +(?:\[[ x]\] +)?)?\**depends[ -]on\**:?\** +`)
	pullRef     = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9-]{0,38}/[A-Za-z0-9._-]{1,100})?#([1-9][0-9]{0,8})\b`)
	dependsNext = regexp.MustCompile(`(?i)^(?: *, *(?:and +)?| +and +)`)
)

// Depends returns the pull requests that a description says its own lands after, each
// once, in the order in which they are named; more is true where there are others
// beyond MaxDepends. Such a line begins with "depends on", followed by references
// with commas or "and" between them; it may be an item of a list. Nothing counts in
// quotes, code, and comments that the forge does not show. The description is hostile
// text: it is read in linear time, whatever it holds.
func Depends(description string) (refs []PullRef, more bool) {
	for line := range plainLines(description[:min(len(description), maxDescription)]) {
		at := dependsLine.FindString(line)
		if at == "" {
			continue
		}
		for rest := line[len(at):]; ; {
			m := pullRef.FindString(rest)
			r, ok := ParsePullRef(m)
			if !ok {
				break
			}
			if !slices.Contains(refs, r) {
				if len(refs) == MaxDepends {
					return refs, true
				}
				refs = append(refs, r)
			}
			rest = rest[len(m):]
			sep := dependsNext.FindString(rest)
			if sep == "" {
				break
			}
			rest = rest[len(sep):]
		}
	}
	return refs, false
}
