package print

import (
	"io"
	"log/slog"
)

// Log returns a log of lines of text or of JSON. A length of time is written as 1.5s in both.
func Log(out io.Writer, json bool) *slog.Logger {
	if !json {
		return slog.New(slog.NewTextHandler(out, nil))
	}
	return slog.New(slog.NewJSONHandler(out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Value.Kind() == slog.KindDuration {
			a.Value = slog.StringValue(a.Value.Duration().String())
		}
		return a
	}}))
}
