package api

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
)

// Problem is an error that is shown to the caller: what is wrong and what to do.
type Problem struct {
	Status int
	Text   string
}

// Error implements error: it is the text that is shown.
func (p *Problem) Error() string { return p.Text }

// See returns a problem with a place in the documentation about it, such as
// "operate#tokens". The text is that of the problem.
func See(p *Problem, place string) error { return &seen{p, place} }

type seen struct {
	*Problem
	place string
}

func (s *seen) Unwrap() error { return s.Problem }

// PlaceOf returns the place in the documentation about an error; "": there is none.
func PlaceOf(err error) string {
	if s := (*seen)(nil); errors.As(err, &s) {
		return s.place
	}
	return ""
}

// WriteJSON answers with a status and a value as JSON.
func WriteJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// An error here means that the reader has hung up: there is nobody left to tell.
	_ = json.NewEncoder(w).Encode(v)
}

// ErrPanicked stands for a panic that has been logged.
var ErrPanicked = errors.New("app: a handler panicked")

// Tail returns the last n bytes of a text, from the beginning of a line where
// there is one.
func Tail(text string, n int) string {
	if len(text) <= n {
		return text
	}
	text = strings.ToValidUTF8(text[len(text)-n:], "")
	if _, rest, ok := strings.Cut(text, "\n"); ok {
		return rest
	}
	return text
}
