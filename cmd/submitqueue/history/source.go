package history

import (
	"context"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/client"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/history"
)

// Read returns the rows of a file or a folder, or, where path is empty, a server's rows
// of a queue, with a name for their source. The rows are tidy, and messages tell people
// what they lack.
func Read(ctx context.Context, path string, from client.Flags) (name string, rows []queue.Row, err error) {
	if path != "" {
		l, err := history.Load(path)
		if err != nil {
			return path, nil, err
		}
		Warn(l)
		return path, l.Rows, nil
	}
	c, err := from.Open()
	if err != nil {
		return "", nil, err
	}
	if name = from.Queue; name == "" {
		if name, err = only(ctx, c); err != nil {
			return "", nil, err
		}
	}
	name, err = c.Rows(ctx, name, func(page []queue.Row) error {
		rows = append(rows, page...)
		return nil
	})
	return name, history.Tidy(rows), err
}
