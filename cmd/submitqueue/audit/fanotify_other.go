//go:build !linux

package audit

import "errors"

func newFanotify() (Tracer, error) { return nil, errors.New("only Linux has it") }
