package intake

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// Bounds of the bytes that are held of deliveries before their signatures are checked.
const (
	bodiesMemory = 8 << 20   // in memory, of all together
	bodiesDisk   = 256 << 20 // on disk, of all together
	bodyMemory   = 64 << 10  // in memory, of one delivery; few are larger
)

// errBusy says that the bodies that are being read take all the room.
var errBusy = errors.New("app: too much is being delivered at once")

// bodies are the bodies that are being read. Knowledge of the address is enough to send
// one, so they share bounded room. The first bytes of each are in memory, the rest is on
// disk, and a body without room is refused. One at a time is read back from the disk.
type bodies struct {
	dir    string // of files; "": the system's
	memory budget
	disk   budget
	large  chan struct{} // holds a token while one is in memory as a whole
}

func newBodies(dir string) *bodies {
	return &bodies{dir: dir, memory: budget{most: bodiesMemory}, disk: budget{most: bodiesDisk}, large: make(chan struct{}, 1)}
}

// budget is a number of bytes that many share.
type budget struct {
	most int64

	mu   sync.Mutex
	used int64
}

// take takes n bytes, if so many are left.
func (b *budget) take(n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.used+n > b.most {
		return false
	}
	b.used += n
	return true
}

func (b *budget) giveBack(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= n
}

// body is the part of one delivery that has been read. It is closed once nothing of it is used.
type body struct {
	of     *bodies
	first  bytes.Buffer
	file   *os.File // the bytes that did not fit into first; nil: none
	filed  int64
	booked int64 // of the memory
	whole  bool  // it holds the token of bodies.large
	broken error // of the disk
}

// Write implements io.Writer. Error: errBusy, when there is no room for it.
func (b *body) Write(p []byte) (int, error) {
	if b.file == nil && b.fits(len(p)) {
		return b.first.Write(p)
	}
	if !b.of.disk.take(int64(len(p))) {
		return 0, errBusy
	}
	b.filed += int64(len(p))
	if b.file == nil {
		f, err := os.CreateTemp(b.of.dir, "delivery-*")
		if err != nil {
			b.broken = err
			return 0, err
		}
		b.file = f
		_ = os.Remove(f.Name()) // so that a crash leaves nothing; where that is refused, close does it
	}
	n, err := b.file.Write(p)
	b.broken = err
	return n, err
}

// fits takes the memory that n more bytes need, if the bounds allow it.
func (b *body) fits(n int) bool {
	need := b.first.Len() + n
	if need > bodyMemory {
		return false
	}
	size := int64(b.first.Cap())
	if need > b.first.Cap() {
		size = int64(min(max(2*need, 4<<10), bodyMemory))
	}
	if more := size - b.booked; more > 0 {
		if !b.of.memory.take(more) {
			return false
		}
		b.booked = size
		b.first.Grow(int(size) - b.first.Len())
	}
	return true
}

// read returns the whole body, once no other large one is in memory.
func (b *body) read(ctx context.Context) ([]byte, error) {
	if b.file == nil {
		return b.first.Bytes(), nil
	}
	select {
	case b.of.large <- struct{}{}:
		b.whole = true
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	all := make([]byte, int64(b.first.Len())+b.filed)
	n := copy(all, b.first.Bytes())
	if _, err := b.file.ReadAt(all[n:], 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("app: a delivery cannot be read back: %w", err)
	}
	return all, nil
}

// close gives back the memory and the disk space that the body takes.
func (b *body) close() {
	if b.file != nil {
		_ = b.file.Close()
		_ = os.Remove(b.file.Name()) // fails where the file was removed while open
	}
	b.of.disk.giveBack(b.filed)
	b.of.memory.giveBack(b.booked)
	if b.whole {
		<-b.of.large
	}
}
