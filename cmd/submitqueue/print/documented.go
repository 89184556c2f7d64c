package print

import "errors"

// Documented returns err with a place in the documentation about it, such as
// "troubleshoot#main-is-red". An empty place adds nothing, and a place that err already
// has stays. The text is that of err.
func Documented(err error, place string) error {
	if err == nil || place == "" || PlaceOf(err) != "" {
		return err
	}
	return documented{err, place}
}

// PlaceOf returns the place in the documentation that is about an error, or "".
func PlaceOf(err error) string {
	if d := (documented{}); errors.As(err, &d) {
		return d.place
	}
	return ""
}

type documented struct {
	error
	place string
}

func (d documented) Unwrap() error { return d.error }
