package print

import (
	"strconv"
	"strings"
)

// YAML writes a text so that YAML reads it as that text. This also holds within
// brackets if the text has none itself.
func YAML(s string) string {
	plain := s != "" && s == strings.TrimSpace(s) && !strings.ContainsAny(s, "\n\t") && !strings.Contains(s, ": ") && !strings.Contains(s, " #") &&
		!strings.ContainsAny(s[:1], "-?:,[]{}#&*!|>'\"%@`") && !strings.HasSuffix(s, ":")
	switch {
	case plain:
		return s
	case strings.ContainsAny(s, "\n\t"):
		return strconv.Quote(s)
	}
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}

// FlowYAML is YAML for a value within brackets or braces.
func FlowYAML(s string) string {
	if strings.ContainsAny(s, ",[]{}") {
		return "'" + strings.ReplaceAll(s, "'", "''") + "'"
	}
	return YAML(s)
}
