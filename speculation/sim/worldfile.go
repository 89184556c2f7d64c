package sim

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// worldFormat is the version of the file format that is read and written.
const worldFormat = 1

// header is the first line of a world's file.
type header struct {
	Arrivals    string       `json:"arrivals"`
	Changes     int          `json:"changes"`
	External    []pushLine   `json:"external,omitempty"`
	Flaky       float64      `json:"flaky,omitempty"`
	LargeShare  float64      `json:"large_share"`
	Opaque      bool         `json:"opaque,omitempty"`
	OverheadMin float64      `json:"overhead_min"`
	RatePerHour float64      `json:"rate_per_hour"`
	Seed        uint64       `json:"seed"`
	Targets     []targetLine `json:"targets"`
	TreeStepMin float64      `json:"tree_step_min,omitempty"`
	World       int          `json:"world"`
}

type targetLine struct {
	CostMin float64 `json:"cost_min"`
	Group   int     `json:"group"`
}

type pushLine struct {
	AtMin   float64        `json:"at_min"`
	Breaks  []conflictLine `json:"breaks"`
	Targets []int          `json:"targets"`
}

// changeLine is each further line.
type changeLine struct {
	ArriveMin    float64        `json:"arrive_min"`
	BreaksTree   bool           `json:"breaks_tree,omitempty"`
	BrokenTarget int            `json:"broken_target"`
	Conflicts    []conflictLine `json:"conflicts"`
	DurationMin  float64        `json:"duration_min"`
	ID           int            `json:"id"`
	Large        bool           `json:"large"`
	Features     *featuresLine  `json:"features,omitempty"`
	Predicted    predictedLine  `json:"predicted"`
	Targets      []int          `json:"targets"`
	TreeFoes     []int          `json:"tree_foes,omitempty"`
}

type conflictLine struct {
	With   int `json:"with"`
	Target int `json:"target"`
}

type featuresLine struct {
	Author   string   `json:"author,omitempty"`
	Paths    []string `json:"paths,omitempty"`
	Files    int      `json:"files,omitempty"`
	Dirs     int      `json:"dirs,omitempty"`
	Added    int      `json:"added,omitempty"`
	Removed  int      `json:"removed,omitempty"`
	Commits  int      `json:"commits,omitempty"`
	Revision int      `json:"revision,omitempty"`
	Attempts int      `json:"attempts,omitempty"`
	Tests    bool     `json:"tests,omitempty"`
	TestPlan bool     `json:"test_plan,omitempty"`
	Revert   bool     `json:"revert,omitempty"`
}

type predictedLine struct {
	Conflicts     []chanceLine `json:"conflicts"`
	DurationMin   float64      `json:"duration_min"`
	DurationSDMin float64      `json:"duration_sd_min"`
	Success       float64      `json:"success"`
}

type chanceLine struct {
	With int     `json:"with"`
	P    float64 `json:"p"`
}

// ReadWorld reads a world: JSON lines, gzip or not. It refuses unknown members,
// trailing text, and any world in which a rule cannot hold, with the line.
func ReadWorld(r io.Reader) (*World, error) {
	lines, err := newLines(r)
	if err != nil {
		return nil, err
	}
	var h header
	switch err := lines.next(&h); {
	case err == io.EOF:
		return nil, fmt.Errorf("line 1: the world is empty")
	case err != nil:
		return nil, err
	case h.World != worldFormat:
		return nil, fmt.Errorf("line 1: world format %d; only %d can be read", h.World, worldFormat)
	}
	w := h.world()
	if err := w.checkTargets(); err != nil {
		return nil, fmt.Errorf("line 1: %w", err)
	}
	for {
		var l changeLine
		if err := lines.next(&l); err == io.EOF {
			break
		} else if err != nil {
			return nil, err
		}
		w.Changes = append(w.Changes, l.change())
		if err := w.check(len(w.Changes) - 1); err != nil {
			return nil, fmt.Errorf("line %d: %w", lines.line, err)
		}
	}
	if len(w.Changes) == 0 {
		return nil, fmt.Errorf("line 1: the world has no changes")
	}
	if len(w.Changes) != h.Changes {
		return nil, fmt.Errorf("line %d: the header promises %d changes and there are %d", lines.line, h.Changes, len(w.Changes))
	}
	if err := w.checkPushes(); err != nil {
		return nil, fmt.Errorf("line 1: %w", err)
	}
	return w, nil
}

// WriteWorld writes a world as gzip; the same world makes the same bytes.
func WriteWorld(out io.Writer, w *World) error {
	z, err := gzip.NewWriterLevel(out, gzip.BestCompression)
	if err != nil {
		return err
	}
	enc := json.NewEncoder(z)
	if err := enc.Encode(w.header()); err != nil {
		return err
	}
	for i := range w.Changes {
		if err := enc.Encode(w.Changes[i].line()); err != nil {
			return err
		}
	}
	return z.Close()
}

func (h *header) world() *World {
	w := &World{Seed: h.Seed, Arrivals: h.Arrivals, RatePerHour: h.RatePerHour, LargeShare: h.LargeShare,
		OverheadMin: h.OverheadMin, Flaky: h.Flaky, TreeStepMin: h.TreeStepMin, Opaque: h.Opaque}
	for _, t := range h.Targets {
		w.Targets = append(w.Targets, Target(t))
	}
	for _, p := range h.External {
		w.Pushes = append(w.Pushes, Push{AtMin: p.AtMin, Targets: p.Targets, Breaks: conflictsOf(p.Breaks)})
	}
	return w
}

func (w *World) header() *header {
	h := &header{Seed: w.Seed, Arrivals: w.Arrivals, RatePerHour: w.RatePerHour, LargeShare: w.LargeShare,
		OverheadMin: w.OverheadMin, Flaky: w.Flaky, TreeStepMin: w.TreeStepMin, Opaque: w.Opaque, World: worldFormat, Changes: len(w.Changes)}
	for _, t := range w.Targets {
		h.Targets = append(h.Targets, targetLine(t))
	}
	for _, p := range w.Pushes {
		h.External = append(h.External, pushLine{AtMin: p.AtMin, Targets: p.Targets, Breaks: conflictLines(p.Breaks)})
	}
	return h
}

func (l *changeLine) change() Change {
	c := Change{ID: l.ID, ArriveMin: l.ArriveMin, DurationMin: l.DurationMin, Large: l.Large, Targets: l.Targets,
		BrokenTarget: l.BrokenTarget, Conflicts: conflictsOf(l.Conflicts), BreaksTree: l.BreaksTree, TreeFoes: l.TreeFoes,
		Predicted: Prediction{Success: l.Predicted.Success, DurationMin: l.Predicted.DurationMin, DurationSDMin: l.Predicted.DurationSDMin}}
	if l.Features != nil {
		f := Features(*l.Features)
		c.Features = &f
	}
	for _, x := range l.Predicted.Conflicts {
		c.Predicted.Conflicts = append(c.Predicted.Conflicts, Chance(x))
	}
	return c
}

func (c *Change) line() *changeLine {
	l := &changeLine{ID: c.ID, ArriveMin: c.ArriveMin, DurationMin: c.DurationMin, Large: c.Large, Targets: c.Targets,
		BrokenTarget: c.BrokenTarget, Conflicts: conflictLines(c.Conflicts), BreaksTree: c.BreaksTree, TreeFoes: c.TreeFoes,
		Predicted: predictedLine{Success: c.Predicted.Success, DurationMin: c.Predicted.DurationMin,
			DurationSDMin: c.Predicted.DurationSDMin, Conflicts: []chanceLine{}}}
	if c.Features != nil {
		f := featuresLine(*c.Features)
		l.Features = &f
	}
	for _, x := range c.Predicted.Conflicts {
		l.Predicted.Conflicts = append(l.Predicted.Conflicts, chanceLine(x))
	}
	return l
}

func conflictsOf(lines []conflictLine) []Conflict {
	var out []Conflict
	for _, x := range lines {
		out = append(out, Conflict(x))
	}
	return out
}

func conflictLines(all []Conflict) []conflictLine {
	out := []conflictLine{}
	for _, x := range all {
		out = append(out, conflictLine(x))
	}
	return out
}

// lines reads one JSON value from each line.
type lines struct {
	r      *bufio.Reader
	line   int
	strict bool // refuse members that the value does not have
}

// newLines detects gzip or plain text by the first bytes.
func newLines(r io.Reader) (*lines, error) {
	b := bufio.NewReaderSize(r, 1<<16)
	if magic, _ := b.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, fmt.Errorf("line 1: this is no gzip: %w", cutShort(err))
		}
		b = bufio.NewReaderSize(z, 1<<16)
	}
	return &lines{r: b, strict: true}, nil
}

// next reads the next line that is not empty into v, or returns io.EOF.
func (l *lines) next(v any) error {
	for {
		raw, err := l.r.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return fmt.Errorf("line %d: %w", l.line+1, cutShort(err))
		}
		if len(raw) > 0 {
			l.line++
		}
		if text := bytes.TrimSpace(raw); len(text) > 0 {
			return l.decode(text, v)
		}
		if err == io.EOF {
			return io.EOF
		}
	}
}

func (l *lines) decode(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if l.strict {
		d.DisallowUnknownFields()
	}
	if err := d.Decode(v); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return fmt.Errorf("line %d: %w", l.line, cutShort(err))
	}
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("line %d: there is more than one value on it", l.line)
	}
	return nil
}

// cutShort explains an unexpected end of a file.
func cutShort(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("it ends in the middle; make or copy the file again: %w", err)
	}
	return err
}
