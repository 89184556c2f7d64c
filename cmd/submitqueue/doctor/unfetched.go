package doctor

import (
	"regexp"
	"strings"

	"github.com/submitqueue/submitqueue/queue/config"
)

// lfs is a line of .gitattributes that has Git LFS keep files.
var lfs = regexp.MustCompile(`(?m)^[^#\n]*\sfilter=lfs\b`)

// KeepsLFS reports whether attributes have Git LFS keep files elsewhere.
func KeepsLFS(attributes string) bool { return lfs.MatchString(attributes) }

// Unfetched says what steps that the queue's own runners run do not see of a repository:
// their checkouts hold what git has in the commit, and so an empty folder for each
// submodule that they do not ask for, and of what Git LFS keeps the pointer files. Steps
// with checks are run by the forge's CI, which fetches what its workflow says. One that
// says that it has no submodules, or no files of LFS, is not named for them.
func Unfetched(c *config.Config, submodules, lfs bool) []string {
	var empty, pointers []string
	for _, s := range c.Steps {
		if s.ByForge() {
			continue
		}
		if s.Checkout.Submodules == "" {
			empty = append(empty, s.Name)
		}
		if s.Checkout.LFS == "" {
			pointers = append(pointers, s.Name)
		}
	}
	var out []string
	if submodules && len(empty) > 0 {
		out = append(out, "the repository has .gitmodules, and the checkouts of runners leave submodules empty, for "+strings.Join(empty, ", ")+
			"; for a step that needs them say checkout: {submodules: true} (or recursive), for one that does not submodules: false")
	}
	if lfs && len(pointers) > 0 {
		out = append(out, "Git LFS keeps files of the repository (filter=lfs), and the checkouts of runners hold pointers in their place, for "+strings.Join(pointers, ", ")+
			"; for a step that needs them say checkout: {lfs: true}, for one that does not lfs: false")
	}
	return out
}
