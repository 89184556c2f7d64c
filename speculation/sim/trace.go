package sim

import (
	"errors"
	"io"
)

// ReadTrace reads a history.
func ReadTrace(r io.Reader, p Params) (*World, error) { return nil, errors.New("not yet") }
