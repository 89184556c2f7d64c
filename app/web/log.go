package web

import (
	"unicode"
	"unicode/utf8"
)

// maxEscape is the longest terminal code that is waited for.
const maxEscape = 256

// PlainLog turns a part of a build's log into text for a page: no terminal codes, no
// control characters but newline and tab, valid UTF-8. A line that was overwritten (a
// progress display) keeps its last state. Where the log goes on, bytes at the end that
// may be half a character or half a code are held back: read again from `held` bytes
// before the end.
func PlainLog(data []byte, done bool) (text string, held int) {
	if !done {
		held = unfinished(data)
		data = data[:len(data)-held]
	}
	out := make([]byte, 0, len(data))
	line := 0 // where the present line begins in out
	for i := 0; i < len(data); {
		switch data[i] {
		case 0x1b:
			n, _ := escape(data[i:])
			i += n
			continue
		case '\r':
			i++
			if i < len(data) && data[i] != '\n' {
				out = out[:line]
			}
			continue
		}
		r, n := utf8.DecodeRune(data[i:])
		i += n
		switch {
		case r == '\n':
			out = append(out, '\n')
			line = len(out)
		case r == '\t':
			out = append(out, '\t')
		case unicode.IsControl(r) || turnsAround(r):
		default:
			out = utf8.AppendRune(out, r)
		}
	}
	return string(out), held
}

// unfinished returns how many bytes at the end may be the beginning of a character or
// code that later bytes complete.
func unfinished(data []byte) int {
	for i := len(data) - 1; i >= 0 && i >= len(data)-maxEscape; i-- {
		if data[i] == 0x1b {
			if _, whole := escape(data[i:]); !whole {
				return len(data) - i
			}
			break
		}
	}
	for i := len(data) - 1; i >= 0 && i >= len(data)-utf8.UTFMax; i-- {
		if utf8.RuneStart(data[i]) {
			if !utf8.FullRune(data[i:]) {
				return len(data) - i
			}
			break
		}
	}
	if len(data) > 0 && data[len(data)-1] == '\r' {
		return 1
	}
	return 0
}

// escape returns the length of the terminal code that data begins with, and
// whether its end was seen.
func escape(data []byte) (int, bool) {
	if len(data) < 2 {
		return len(data), false
	}
	switch data[1] {
	case '[': // CSI: parameters, then one final byte
		for i := 2; i < len(data) && i < maxEscape; i++ {
			if c := data[i]; c >= 0x40 && c <= 0x7e {
				return i + 1, true
			} else if c < 0x20 || c > 0x7e {
				return i, true // not a code after all
			}
		}
		return min(len(data), maxEscape), len(data) >= maxEscape
	case ']': // OSC: ends with BEL or ESC \
		for i := 2; i < len(data) && i < maxEscape; i++ {
			switch {
			case data[i] == 0x07:
				return i + 1, true
			case data[i] == '\\' && data[i-1] == 0x1b:
				return i + 1, true
			case data[i] == '\n':
				return i, true
			}
		}
		return min(len(data), maxEscape), len(data) >= maxEscape
	}
	return 2, true
}
