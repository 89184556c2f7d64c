package doctor

import (
	"regexp"
	"strings"

	"github.com/submitqueue/submitqueue/queue/config"
)

// lfs matches a line of .gitattributes that has Git LFS keep files.
var lfs = regexp.MustCompile(`(?m)^[^#\n]*\sfilter=lfs\b`)

// KeepsLFS reports whether attributes have Git LFS keep files elsewhere.
func KeepsLFS(attributes string) bool { return lfs.MatchString(attributes) }

// Unfetched names steps that the queue's own runners run without parts of the
// repository. A checkout has an empty folder for each submodule that the step does not
// ask for, and a pointer file for each file that Git LFS keeps. The forge's CI runs
// steps with checks; it fetches what its workflow says. A step that says that it needs
// no submodules, or no files of LFS, is not named for them.
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
