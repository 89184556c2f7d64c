package demo

import (
	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"

	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// framePause keeps redrawing below ten frames a second.
const framePause = 100 * time.Millisecond

// Screen shows progress: a table that is drawn again in place on a terminal,
// and elsewhere one line for each change of a state. It is used by one goroutine.
type Screen struct {
	out   io.Writer
	look  func() Look // nil: not a terminal
	drawn int         // lines of the last frame, which the cursor is below
	last  time.Time
	seen  map[int]string
}

// NewScreen returns a screen that writes to out. Where that is a terminal that
// understands control sequences it is live, and coloured unless NO_COLOR is set.
func NewScreen(out io.Writer, getenv func(string) string) *Screen {
	s := &Screen{out: out, seen: map[int]string{}}
	f, ok := out.(*os.File)
	if !ok || !print.Live(f) {
		return s
	}
	color := getenv("NO_COLOR") == ""
	s.look = func() Look {
		w, h, err := term.GetSize(int(f.Fd()))
		if err != nil || w <= 0 || h <= 0 {
			w, h = 80, 24
		}
		return Look{Width: w, Height: h, Color: color}
	}
	return s
}

// Width returns how many columns the screen has; 0 where it is no terminal.
func (s *Screen) Width() int {
	if s.look == nil {
		return 0
	}
	return s.look().Width
}

// Show shows the rows as they stand at now, elapsed after the start. On a
// terminal a frame that follows the last one too closely is left out.
func (s *Screen) Show(rows []Row, now time.Time, elapsed time.Duration) {
	if s.look == nil {
		for _, line := range Changed(rows, elapsed, s.seen) {
			fmt.Fprintln(s.out, line)
		}
		return
	}
	if now.Sub(s.last) < framePause {
		return
	}
	s.last = now
	s.draw(Table(rows, elapsed, s.look()))
}

// Note shows one line of progress: in place on a terminal, and elsewhere only
// when it is the last of its kind.
func (s *Screen) Note(line string, last bool) {
	if s.look != nil {
		s.draw([]string{fit(line, max(20, s.look().Width-1))})
		if last {
			s.Keep()
		}
	} else if last {
		fmt.Fprintln(s.out, clean(line))
	}
}

// draw replaces the last frame. The cursor is hidden until Keep.
func (s *Screen) draw(lines []string) {
	var b strings.Builder
	b.WriteString("\x1b[?25l")
	if s.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", s.drawn)
	}
	for _, line := range lines {
		b.WriteString("\r" + line + "\x1b[K\n")
	}
	b.WriteString("\x1b[J")
	s.drawn = len(lines)
	io.WriteString(s.out, b.String())
}

// Keep leaves the last frame where it is and gives the cursor back. The next drawing
// comes below.
func (s *Screen) Keep() {
	if s.look == nil {
		return
	}
	s.drawn, s.last = 0, time.Time{}
	io.WriteString(s.out, "\x1b[?25h")
}

// Rows shows the final rows, also where a frame was left out just before.
func (s *Screen) Rows(rows []Row, now time.Time, elapsed time.Duration) {
	s.last = time.Time{}
	s.Show(rows, now, elapsed)
	s.Keep()
}
