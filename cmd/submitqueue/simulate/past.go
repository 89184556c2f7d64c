package simulate

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/client"
	command "github.com/submitqueue/submitqueue/cmd/submitqueue/history"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/history"
	"github.com/submitqueue/submitqueue/speculation/sim"
)

// past makes a world from a history.
func (s *Command) past(ctx context.Context, p sim.Params) (*sim.World, error) {
	name, rows, err := command.Read(ctx, s.History, client.Flags{Server: s.Server, Data: s.Data, Queue: s.Queue})
	if err != nil {
		return nil, err
	}
	w, err := sim.FromHistory(rows, p)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return w, nil
}

// keeper writes the history of a run to a file.
type keeper struct {
	file *os.File
	out  *bufio.Writer
	w    *history.Writer
	err  error
}

// keep opens the file that --save-history names.
func (s *Command) keep() (*keeper, error) {
	file, err := os.Create(s.Keep)
	if err != nil {
		return nil, fmt.Errorf("the history cannot be written; name another file with --save-history: %w", err)
	}
	k := &keeper{file: file, out: bufio.NewWriter(file)}
	if k.w, err = history.NewWriter(k.out, "simulated", time.Now()); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return k, nil
}

func (k *keeper) row(r queue.Row) { k.err = errors.Join(k.err, k.w.Write(r)) }

func (k *keeper) close() error { return errors.Join(k.err, k.out.Flush(), k.file.Close()) }
