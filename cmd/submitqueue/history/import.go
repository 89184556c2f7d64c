package history

import (
	"context"
	"slices"

	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/client"
	"github.com/submitqueue/submitqueue/queue/history"
)

// Import adds a history to a server's. Rows that the server has already do no harm: of two
// rows about the same thing, the later one counts.
type Import struct {
	client.Flags
	File string `arg:"" help:"A history, gzip or not, or the folder of a queue's." type:"path"`
}

// importedAtOnce is how many rows one command has.
const importedAtOnce = 100

// Run implements the command. The whole history is read before any of it is sent.
func (i *Import) Run(ctx context.Context) error {
	l, err := history.Load(i.File)
	if err != nil {
		return err
	}
	Warn(l)
	c, err := i.Open()
	if err != nil {
		return err
	}
	p := progress{what: "imported"}
	for chunk := range slices.Chunk(l.Rows, importedAtOnce) {
		var kept api.RowsKept
		if err := c.Post(ctx, "/api/rows", api.RowsCommand{Queue: i.Queue, Rows: chunk}, &kept); err != nil {
			p.done()
			return err
		}
		p.add(kept.Kept)
	}
	p.done()
	return nil
}
