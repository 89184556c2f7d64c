package history

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/client"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/history"
)

// Import adds a history to a server's. Rows that the server has already do no harm: of two
// rows about the same thing, the later one counts.
type Import struct {
	client.Flags
	File string `arg:"" help:"A history, gzip or not, or the folder of a queue's." type:"path"`
}

// importedAtOnce is how many rows one command has, if they take no more than api.RowsBytes.
const importedAtOnce = 100

// chunks cuts rows into those of one command each.
func chunks(rows []queue.Row) iter.Seq[[]queue.Row] {
	return func(yield func([]queue.Row) bool) {
		from, size := 0, 0
		for i, r := range rows {
			data, _ := json.Marshal(r) // a row that cannot be sent is told of when it is
			if i > from && (i-from == importedAtOnce || size+len(data) > api.RowsBytes) {
				if !yield(rows[from:i]) {
					return
				}
				from, size = i, 0
			}
			size += len(data)
		}
		if from < len(rows) {
			yield(rows[from:])
		}
	}
}

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
	for chunk := range chunks(l.Rows) {
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
