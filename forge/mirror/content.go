package mirror

import (
	"errors"
	"regexp"
)

// ContentError is that git does not check a commit out, wherever it is tried, for a path
// that would be of git itself or outside of the directory, such as .git/config or ../x.
// No tool of git's makes such a commit; it can be pushed all the same.
type ContentError struct {
	Path string // hostile text
	Err  error
}

// Error implements error.
func (e *ContentError) Error() string { return e.Err.Error() }

// Unwrap returns git's words.
func (e *ContentError) Unwrap() error { return e.Err }

// Content says what is wrong, for whoever made the commit.
func (e *ContentError) Content() string {
	return "the commit holds the path \"" + e.Path + "\", which git checks out nowhere: make a commit without it, and push that"
}

var invalidPath = regexp.MustCompile(`(?m)^error: invalid path '(.+)'$`)

// contentError makes a refusal of git's to check out a path a ContentError.
func contentError(err error) error {
	var failed *GitError
	if !errors.As(err, &failed) {
		return err
	}
	if found := invalidPath.FindStringSubmatch(failed.Stderr); found != nil {
		return &ContentError{Path: found[1], Err: err}
	}
	return err
}
