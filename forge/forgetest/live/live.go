// Package live is the script by which the pages of a simulated forge show changes: it
// replaces each element that has an id and data-live by the one on the present page.
package live

import (
	_ "embed"
	"net/http"
)

// Path is where a simulated forge serves the script.
const Path = "/-/play.js"

//go:embed page.js
var script []byte

// Serve answers with the script.
func Serve(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(script)
}
