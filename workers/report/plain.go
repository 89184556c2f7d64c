package report

import (
	"errors"
	"io"
)

// noFiles is a part of readers whose report is in the output alone.
type noFiles struct{}

// File implements Reader.
func (noFiles) File(string, io.Reader, func(string) string) error {
	return errors.New("this report is read from the output of the step, not from a file")
}
