package conflict

import (
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
)

// TouchesOf sums a footprint up. The caller adds how often its targets fail.
func TouchesOf(f *queue.Footprint) queue.Touches {
	return queue.Touches{Targets: len(f.Affected), Added: f.Added, Gone: f.Gone, Files: f.Files, Dirs: f.Dirs, Extent: f.Extent, All: f.All, Unknown: f.Unknown, Unread: f.Unread, Again: f.Again,
		// If f is All, Write names files that are in every hash, not definitions of the
		// graph.
		Graph: !f.All && (len(f.Edges) > 0 || slices.ContainsFunc(f.Write, func(n string) bool { return strings.HasPrefix(n, DefinitionPrefix) })),
	}
}
