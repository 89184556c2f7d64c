package mirror

import (
	"errors"
	"regexp"
)

// ContentError means that git checks a commit out nowhere, because a path of it would
// belong to git itself or be outside of the directory, such as .git/config or ../x. No
// tool of git makes such a commit, but it can be pushed.
type ContentError struct {
	Path string // hostile text
	Err  error
}

// Error implements error.
func (e *ContentError) Error() string { return e.Err.Error() }

// Unwrap returns git's words.
func (e *ContentError) Unwrap() error { return e.Err }

// Content tells the author of the commit what is wrong.
func (e *ContentError) Content() string {
	return "the commit holds the path \"" + e.Path + "\", which git checks out nowhere: make a commit without it, and push that"
}

var invalidPath = regexp.MustCompile(`(?m)^error: invalid path '(.+)'$`)

// contentError turns git's refusal to check out a path into a ContentError.
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
