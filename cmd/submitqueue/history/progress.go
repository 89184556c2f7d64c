package history

import (
	"fmt"
	"io"
	"os"

	"github.com/submitqueue/submitqueue/queue/history"
)

// progressEvery is how many rows are between two messages of progress.
const progressEvery = 20_000

// progress tells how many rows there are, on standard error.
type progress struct {
	to   io.Writer // nil: standard error
	what string    // what is done with the rows, e.g. "exported"
	rows int
}

func (p *progress) add(n int) {
	before := p.rows
	if p.rows += n; p.rows/progressEvery > before/progressEvery {
		fmt.Fprintf(p.out(), "%d rows %s\n", p.rows, p.what)
	}
}

func (p *progress) done() { fmt.Fprintf(p.out(), "%d rows %s\n", p.rows, p.what) }

func (p *progress) out() io.Writer {
	if p.to == nil {
		return os.Stderr
	}
	return p.to
}

// Warn tells a person what a history lacks.
func Warn(l *history.Loaded) {
	for _, file := range l.Torn {
		fmt.Fprintf(os.Stderr, "%s: it was not written to its end, and what was cut off is left out: the program was killed, or the disk was full\n", file)
	}
	if l.Unknown > 0 {
		fmt.Fprintf(os.Stderr, "%d rows are of a newer version, and are left out\n", l.Unknown)
	}
}
