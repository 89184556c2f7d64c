package gn

import (
	"fmt"
	"strings"
)

// kind is what a token is.
type kind int

const (
	word kind = iota // an identifier, a keyword or a number
	text             // a string, without its quotes
	sign             // one character
)

// token is a token of GN's language with its place.
type token struct {
	kind kind
	text string
	line int
}

// tokens splits a file as GN does. Comments are left out; a string that does
// not end in its line is an error, as it is for GN.
func tokens(src string) ([]token, error) {
	var out []token
	line := 1
	for i := 0; i < len(src); {
		c := src[i]
		switch {
		case c == '\n':
			line++
			i++
		case c == ' ', c == '\t', c == '\r':
			i++
		case c == '#':
			for i < len(src) && src[i] != '\n' {
				i++
			}
		case c == '"':
			end := i + 1
			for end < len(src) && src[end] != '"' && src[end] != '\n' {
				if src[end] == '\\' && end+1 < len(src) && src[end+1] != '\n' {
					end++
				}
				end++
			}
			if end >= len(src) || src[end] != '"' {
				return nil, fmt.Errorf("line %d: a string does not end", line)
			}
			out = append(out, token{text, src[i+1 : end], line})
			i = end + 1
		case wordly(c):
			end := i
			for end < len(src) && wordly(src[end]) {
				end++
			}
			out = append(out, token{word, src[i:end], line})
			i = end
		case c < ' ' || c > '~':
			return nil, fmt.Errorf("line %d: the byte %#x", line, c)
		default:
			out = append(out, token{sign, string(c), line})
			i++
		}
	}
	return out, nil
}

func wordly(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// plain reports whether a string stands for itself: it has no expansion and no escapes.
func plain(s string) bool { return !strings.ContainsAny(s, `$\"`) }
