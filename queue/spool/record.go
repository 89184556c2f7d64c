package spool

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
)

const (
	// recordHead is the size of a record without its data: mark, length, checksum.
	recordHead = 4 + 4 + 4
	// maxData is the largest entry; forges send at most 25 MiB.
	maxData = 64 << 20
)

// mark begins each record. After spoilt bytes the reader looks for it. It is not
// UTF-8, so no JSON that somebody sends can hold a record.
var mark = []byte{0xf3, 'S', 'Q', 0x9b}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendRecord frames data.
func appendRecord(b, data []byte) []byte {
	b = append(b, mark...)
	b = binary.BigEndian.AppendUint32(b, uint32(len(data)))
	b = binary.BigEndian.AppendUint32(b, checksum(b[len(b)-4:], data))
	return append(b, data...)
}

func checksum(length, data []byte) uint32 {
	return crc32.Update(crc32.Checksum(length, castagnoli), castagnoli, data)
}

// reader finds the records between two places of a file.
type reader struct {
	file   io.ReaderAt
	at     int64
	end    int64
	damage Damage
}

// record is a whole record, and the place where it ends.
type record struct {
	data []byte
	end  int64
}

func newReader(file io.ReaderAt, at, end int64) *reader {
	return &reader{file: file, at: at, end: end}
}

// next returns the next whole record; it counts the bytes that it had to skip.
// io.EOF says that there is no further record.
func (r *reader) next() (record, error) {
	spoilt := int64(0)
	defer func() {
		if spoilt > 0 {
			r.damage.Places++
			r.damage.Bytes += spoilt
		}
	}()
	for r.at < r.end {
		rec, ok, err := r.try()
		if err != nil {
			return record{}, err
		}
		if ok {
			r.at = rec.end
			return rec, nil
		}
		next, err := r.findMark(r.at + 1)
		if err != nil {
			return record{}, err
		}
		spoilt += next - r.at
		r.at = next
	}
	return record{}, io.EOF
}

// try reads a record at the reader's place, if there is one.
func (r *reader) try() (record, bool, error) {
	var head [recordHead]byte
	if r.end-r.at < recordHead {
		return record{}, false, nil
	}
	if err := r.read(head[:], r.at); err != nil {
		return record{}, false, err
	}
	length := int64(binary.BigEndian.Uint32(head[4:]))
	if !bytes.Equal(head[:4], mark) || length > maxData || length > r.end-r.at-recordHead {
		return record{}, false, nil
	}
	data := make([]byte, length)
	if err := r.read(data, r.at+recordHead); err != nil {
		return record{}, false, err
	}
	if checksum(head[4:8], data) != binary.BigEndian.Uint32(head[8:]) {
		return record{}, false, nil
	}
	return record{data: data, end: r.at + recordHead + length}, true, nil
}

// findMark returns the place of the next mark, or the end.
func (r *reader) findMark(from int64) (int64, error) {
	buf := make([]byte, 64<<10)
	for from < r.end {
		part := buf[:min(int64(len(buf)), r.end-from)]
		if err := r.read(part, from); err != nil {
			return 0, err
		}
		if i := bytes.Index(part, mark); i >= 0 {
			return from + int64(i), nil
		}
		if from+int64(len(part)) == r.end {
			break
		}
		from += int64(len(part) - len(mark) + 1) // a mark may lie across two parts
	}
	return r.end, nil
}

func (r *reader) read(p []byte, at int64) error {
	n, err := r.file.ReadAt(p, at)
	if n == len(p) {
		return nil
	}
	return errors.Join(err, io.ErrUnexpectedEOF)
}
