package bazel

import (
	"encoding/binary"
	"errors"
)

// The wire format of protocol buffers, as far as Bazel's answers need it. The
// input was computed from a tree that anybody may have written: a length is
// believed only after it was compared with the rest of the input.

var errWire = errors.New("bazel printed something that is no protocol buffer")

// field is one field of a message. Text of it lies in the message's bytes.
type field struct {
	number uint64
	value  uint64 // of numbers
	text   []byte // of texts and messages
	is     kind
}

type kind byte

const (
	varint  kind = 0
	fixed64 kind = 1
	block   kind = 2
	fixed32 kind = 5
)

// next takes the first field off a message.
func next(msg []byte) (field, []byte, error) {
	tag, msg, err := number(msg)
	if err != nil {
		return field{}, nil, err
	}
	f := field{number: tag >> 3, is: kind(tag & 7)}
	if f.number == 0 || f.number >= 1<<29 {
		return field{}, nil, errWire
	}
	switch f.is {
	case varint:
		f.value, msg, err = number(msg)
	case block:
		f.text, msg, err = chunk(msg)
	case fixed64:
		if len(msg) < 8 {
			return field{}, nil, errWire
		}
		f.value, msg = binary.LittleEndian.Uint64(msg), msg[8:]
	case fixed32:
		if len(msg) < 4 {
			return field{}, nil, errWire
		}
		f.value, msg = uint64(binary.LittleEndian.Uint32(msg)), msg[4:]
	default: // groups have been dead for longer than Bazel lives
		return field{}, nil, errWire
	}
	return f, msg, err
}

// number takes a number off the bytes.
func number(b []byte) (uint64, []byte, error) {
	v, n := binary.Uvarint(b)
	if n <= 0 {
		return 0, nil, errWire
	}
	return v, b[n:], nil
}

// chunk takes bytes with their length before them off the bytes. A stream of
// messages is made of such chunks.
func chunk(b []byte) (text, rest []byte, err error) {
	n, b, err := number(b)
	if err != nil {
		return nil, nil, err
	}
	if n > uint64(len(b)) {
		return nil, nil, errWire
	}
	return b[:n], b[n:], nil
}

// fields calls f with each field of a message, until it fails.
func fields(msg []byte, f func(field) error) error {
	for len(msg) > 0 {
		x, rest, err := next(msg)
		if err != nil {
			return err
		}
		if err := f(x); err != nil {
			return err
		}
		msg = rest
	}
	return nil
}
