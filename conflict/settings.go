package conflict

import (
	"fmt"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/submitqueue/submitqueue/queue/config"
)

// Validate reports a mistake in the settings that hold for every analyzer,
// naming the field.
func Validate(s config.Analysis) error {
	switch s.Unowned {
	case "", config.UnownedAll, config.UnownedTarget:
	case config.UnownedIgnore:
		if len(s.Ignore) == 0 {
			return fmt.Errorf("analysis.unowned: %q needs globs in analysis.ignore: nothing is left out that is not written down", s.Unowned)
		}
	default:
		return fmt.Errorf("analysis.unowned: %q is none of %q, %q and %q", s.Unowned, config.UnownedAll, config.UnownedTarget, config.UnownedIgnore)
	}
	if err := validGlobs("analysis.ignore", s.Ignore); err != nil {
		return err
	}
	if err := validGlobs("analysis.barrier", s.Barrier); err != nil {
		return err
	}
	for _, r := range rulesOf(&s) {
		if err := validGlobs(r.node+".targets", r.Targets); err != nil {
			return err
		}
		if err := validGlobs(r.node+".files", r.Files); err != nil {
			return err
		}
	}
	return nil
}

func validGlobs(field string, globs []string) error {
	for i, g := range globs {
		if !doublestar.ValidatePattern(g) {
			return fmt.Errorf("%s[%d]: %q is not a valid glob", field, i, g)
		}
	}
	return nil
}

// settingsSum digests the settings, so that hashes made under different ones
// never meet. Order counts; it costs a rebuild to shuffle globs.
func settingsSum(id string, s config.Analysis) sum {
	var f framer
	f.reset("settings2").text(id).text(string(s.Unowned)).texts(s.Ignore).texts(s.Barrier)
	f.count(len(s.Areas))
	for _, a := range s.Areas {
		f.text(a.Name).texts(a.Files).texts(a.Needs)
	}
	for _, r := range rulesOf(&s) { // nothing where there are none, so that hashes without them stay
		f.text(r.node).text(r.part).texts(r.Targets).texts(r.Files)
	}
	return f.done()
}

// builtinBarrier reports whether a file is in every hash under any settings:
// the queue's own configuration, git's rules for checkouts, and the definition
// of the builds.
func builtinBarrier(file string) bool {
	switch file {
	case config.Path, ".gitlab-ci.yml", ".gitmodules":
		return true
	}
	return path.Base(file) == ".gitattributes" ||
		strings.HasPrefix(file, ".github/workflows/") || strings.HasPrefix(file, ".github/actions/")
}

// matches reports whether a file matches one of the globs, which are valid.
func matches(globs []string, file string) bool {
	for _, g := range globs {
		if doublestar.MatchUnvalidated(g, file) {
			return true
		}
	}
	return false
}
