package app

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
)

// problem is an error that is shown to who asked: what is wrong and what to do.
type problem struct {
	Status int
	Text   string
}

// Error implements error: what is shown.
func (p *problem) Error() string { return p.Text }

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// An error here is the reader's hanging up: there is nobody left to tell.
	_ = json.NewEncoder(w).Encode(v)
}

// errPanicked stands for a panic that has been logged.
var errPanicked = errors.New("app: a handler panicked")

// tail returns the last n bytes of a text, from the beginning of a line where
// there is one.
func tail(text string, n int) string {
	if len(text) <= n {
		return text
	}
	text = strings.ToValidUTF8(text[len(text)-n:], "")
	if _, rest, ok := strings.Cut(text, "\n"); ok {
		return rest
	}
	return text
}
