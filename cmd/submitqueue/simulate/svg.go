package simulate

import (
	"bytes"
	"fmt"
	"os"

	"github.com/submitqueue/submitqueue/speculation/sim"
)

// draw makes the picture of the runs; without --svg it does nothing.
func (s *Command) draw(title string, runs []sim.Drawn) error {
	if s.SVG == "" {
		return nil
	}
	var groups [][]sim.Drawn
	for i, r := range runs {
		if i == 0 || r.Workers != runs[i-1].Workers {
			groups = append(groups, nil)
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], r)
	}
	var b bytes.Buffer
	if err := sim.WriteSVG(&b, title, groups); err != nil {
		return err
	}
	if err := os.WriteFile(s.SVG, b.Bytes(), 0o644); err != nil {
		return fmt.Errorf("the picture cannot be written; name another file with --svg: %w", err)
	}
	return nil
}
