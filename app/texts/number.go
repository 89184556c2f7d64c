package texts

import (
	"strconv"
	"strings"
)

// Number returns a value of the plan for people, with two or three digits.
func Number(q float64) string {
	switch {
	case q >= 100:
		return strconv.FormatFloat(q, 'f', 0, 64)
	case q >= 10:
		return trimZeros(strconv.FormatFloat(q, 'f', 1, 64))
	case q >= 0.1:
		return trimZeros(strconv.FormatFloat(q, 'f', 2, 64))
	case q >= 0.0001:
		return trimZeros(strconv.FormatFloat(q, 'f', 4, 64))
	case q > 0:
		return "<0.0001"
	}
	return "0"
}

// Percent returns a chance in per cent, for people. An uncertain one is never called 0
// or 100 per cent.
func Percent(q float64) string {
	digits := 0
	if q < 0.02 || q > 0.98 {
		digits = 1
	}
	text := trimZeros(strconv.FormatFloat(100*q, 'f', digits, 64))
	switch {
	case text == "100" && q < 1:
		text = ">99.9"
	case text == "0" && q > 0:
		text = "<0.1"
	}
	return text + "%"
}

func trimZeros(s string) string {
	if !strings.Contains(s, ".") {
		return s
	}
	return strings.TrimRight(strings.TrimRight(s, "0"), ".")
}
