package history

import (
	"encoding/json"
	"io"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// Writer writes a history.
type Writer struct{ enc *json.Encoder }

// NewWriter writes the header of a queue's history, and returns the writer of its rows.
// Without a name the header has no queue.
func NewWriter(to io.Writer, name string, at time.Time) (*Writer, error) {
	w := &Writer{enc: encoder(to)}
	return w, w.enc.Encode(Header{History: Version, Queue: name, Written: at.UTC().Format(time.RFC3339)})
}

// Write writes a row as one line, in one call of the underlying writer.
func (w *Writer) Write(r queue.Row) error { return w.enc.Encode(r) }

func encoder(to io.Writer) *json.Encoder {
	enc := json.NewEncoder(to)
	enc.SetEscapeHTML(false)
	return enc
}
