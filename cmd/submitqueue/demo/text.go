package demo

import (
	"strings"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
)

// clean makes hostile text fit for one line of a terminal: each character that could
// move the cursor, change colours or turn the direction of writing becomes a middle
// dot.
func clean(s string) string { return print.Clean(strings.ReplaceAll(s, "\r", " "), '·', '·') }

// fit cleans a text and makes it exactly n columns wide.
func fit(s string, n int) string { return print.Fit(clean(s), n) }
