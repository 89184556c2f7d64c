package config

import (
	"fmt"
	"sort"
	"strings"
	"unicode"

	"github.com/submitqueue/submitqueue/queue/spell"
)

// Error is one thing that is wrong with a configuration file, where it
// is, and what to do about it. Message and Snippet quote the file: hostile text.
type Error struct {
	File    string
	Line    int // from 1
	Column  int // from 1, in characters
	Message string
	Snippet string // the line, numbered, with a caret under the column
}

// Error returns e.g. `.submitqueue.yml:7:3: unknown key "stpes" (did you mean "steps"?)`.
func (e *Error) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Message)
}

// Errors are all mistakes found in one file, by line and column. Parse returns
// them, and the list is never empty there.
type Errors []*Error

// maxShownErrors bounds the text of Errors; the list itself is whole.
const maxShownErrors = 20

// Error returns the errors' texts, one per line.
func (e Errors) Error() string {
	shown := make([]string, 0, len(e))
	for i, x := range e {
		if i == maxShownErrors {
			shown = append(shown, fmt.Sprintf("and %d more", len(e)-i))
			break
		}
		shown = append(shown, x.Error())
	}
	return strings.Join(shown, "\n")
}

// Unwrap lets errors.As find the first *Error.
func (e Errors) Unwrap() []error {
	out := make([]error, len(e))
	for i, x := range e {
		out[i] = x
	}
	return out
}

// position is a place in the file, from 1.
type position struct{ line, column int }

// findings gathers errors with the lines they are about.
type findings struct {
	file  string
	lines []string
	errs  Errors
}

func newFindings(file string, text string) *findings {
	return &findings{file: file, lines: strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")}
}

// add records an error; a place outside the file is moved to its nearest line.
func (r *findings) add(at position, format string, args ...any) {
	line := min(max(at.line, 1), len(r.lines))
	column := max(at.column, 1)
	r.errs = append(r.errs, &Error{File: r.file, Line: line, Column: column,
		Message: fmt.Sprintf(format, args...), Snippet: r.snippet(line, column)})
}

// maxSnippet is how many characters of a line a snippet shows.
const maxSnippet = 120

func (r *findings) snippet(line, column int) string {
	shown := []rune(strings.Map(func(c rune) rune {
		if c == '\t' {
			return ' '
		}
		if unicode.IsControl(c) {
			return '?'
		}
		return c
	}, r.lines[line-1]))
	prefix := fmt.Sprintf("%d | ", line)
	if len(shown) > maxSnippet {
		shown = append(shown[:maxSnippet-1], '…')
	}
	text := prefix + string(shown)
	if column > len(shown)+1 {
		return text
	}
	return text + "\n" + strings.Repeat(" ", len(prefix)+column-1) + "^"
}

// result returns the errors by place, or nil when there is none.
func (r *findings) result() error {
	if len(r.errs) == 0 {
		return nil
	}
	sort.SliceStable(r.errs, func(i, j int) bool {
		a, b := r.errs[i], r.errs[j]
		if a.Line != b.Line {
			return a.Line < b.Line
		}
		return a.Column < b.Column
	})
	return r.errs
}

// quoted returns text from the file as a message shows it: on one line, short.
func quoted(s string) string { return fmt.Sprintf("%q", spell.Clip(s, 60)) }
