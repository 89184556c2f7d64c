package memstore

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

var _ queue.Past = (*Store)(nil)

// past is the event archive of a queue.
type past struct {
	rows  []pastRow
	bytes int64
	had   int64 // how many rows there have been
}

type pastRow struct {
	at   queue.Instant
	data []byte
}

// encodeRows encodes rows: the only step of keeping rows that can fail.
func encodeRows(rows []queue.Row) ([]pastRow, error) {
	var out []pastRow
	for _, r := range rows {
		data, err := json.Marshal(r)
		if err != nil {
			return nil, fmt.Errorf("memstore: row: %w", err)
		}
		out = append(out, pastRow{at: r.At, data: data})
	}
	return out, nil
}

func (p *past) keep(rows []pastRow, b queue.PastBounds, now time.Time) {
	if len(rows) == 0 {
		return
	}
	for _, r := range rows {
		p.bytes += int64(len(r.data))
	}
	p.rows, p.had = append(p.rows, rows...), p.had+int64(len(rows))
	drop, oldest := 0, queue.At(now.Add(-b.Age))
	for drop < len(p.rows) && (p.rows[drop].at < oldest || len(p.rows)-drop > b.Rows || p.bytes > b.Bytes) {
		p.bytes -= int64(len(p.rows[drop].data))
		drop++
	}
	p.rows = p.rows[drop:]
}

// Keep implements queue.Past.
func (s *Store) Keep(ctx context.Context, name string, rows []queue.Row) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	data, err := encodeRows(rows)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shelf(name).past.keep(data, s.bounds, s.now())
	return nil
}

// Rows implements queue.Past. A place is how many rows there were.
func (s *Store) Rows(ctx context.Context, name, place string, max int) (rows []queue.Row, next string, err error) {
	if err := ctx.Err(); err != nil {
		return nil, "", err
	}
	at := int64(0)
	if place != "" {
		if at, err = parseCursor(place); err != nil {
			return nil, "", err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &s.shelf(name).past
	first := p.had - int64(len(p.rows))
	from := min(p.had, at) - first
	if from < 0 {
		from = 0 // the older rows have been dropped
	}
	for i := from; i < int64(len(p.rows)) && len(rows) < max; i++ {
		var r queue.Row
		if err := json.Unmarshal(p.rows[i].data, &r); err != nil {
			return nil, "", fmt.Errorf("memstore: row: %w", err)
		}
		rows, place = append(rows, r), strconv.FormatInt(first+i+1, 10)
	}
	return rows, place, nil
}
