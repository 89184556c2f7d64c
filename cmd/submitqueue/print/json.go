package print

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// JSON prints a value for programs.
func JSON(out io.Writer, v any) error {
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// Figures writes figures as JSON to a file; where file is empty, it does nothing.
func Figures(file string, figures any) error {
	if file == "" {
		return nil
	}
	raw, err := json.MarshalIndent(figures, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, append(raw, '\n'), 0o644); err != nil {
		return fmt.Errorf("the figures cannot be written; name another file with --json: %w", err)
	}
	return nil
}
