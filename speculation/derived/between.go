package derived

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue"
)

// Between returns the changes below a landing commit that the latest of its change's
// own passing builds did not have below it. They affect nothing that was built, or the
// keys would be others.
func (fs *Links) Between(ch *queue.Change, l *queue.Link) []queue.ChangeID {
	var built *queue.Link
	var at queue.Instant
	for _, f := range fs.Info(l).Facts {
		if e := f.Entry; e != nil && e.Change == ch.ID && e.Passed > at {
			if x := fs.LinkTo(e.Commit); x != nil {
				built, at = x, e.Passed
			}
		}
	}
	if built == nil || built == l || built.Since.Epoch != l.Since.Epoch {
		return nil
	}
	had := map[queue.ChangeID]bool{ch.ID: true}
	line := fs.Futures.Assumed.Line // of main, since it began to be ours; changes below both are no difference
	both := min(built.Since.Seq, l.Since.Seq, len(line))
	for _, id := range slices.Concat(line[both:min(built.Since.Seq, len(line))], built.Chain) {
		had[id] = true
	}
	var out []queue.ChangeID
	for _, id := range slices.Concat(line[both:min(l.Since.Seq, len(line))], l.Chain) {
		if !had[id] {
			out = append(out, id)
		}
	}
	return out
}
