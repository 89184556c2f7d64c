package mirror

import (
	"bytes"
	"compress/zlib"
	"crypto/rand"
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// packed is where an object is in a pack.
type packed struct {
	id  [sha1.Size]byte
	at  uint32
	sum uint32 // CRC-32 of its entry
}

// packKinds are the numbers of the kinds of objects in packs.
var packKinds = map[string]byte{"commit": 1, "tree": 2, "blob": 3}

// encodePack returns a pack of whole objects and its index, both version 2, and
// the name that git gives them.
func encodePack(ids []string, objects []object) (pack, index []byte, name string, err error) {
	var b bytes.Buffer
	b.WriteString("PACK")
	b.Write(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, 2), uint32(len(ids))))
	entries := make([]packed, len(ids))
	for i, o := range objects {
		raw, err := hex.DecodeString(ids[i])
		kind := packKinds[o.kind]
		if err != nil || len(raw) != sha1.Size || kind == 0 {
			return nil, nil, "", fmt.Errorf("%s %q cannot be packed", o.kind, ids[i])
		}
		at := b.Len()
		size := len(o.data)
		head := kind<<4 | byte(size&15)
		for size >>= 4; size > 0; size >>= 7 {
			b.WriteByte(head | 0x80)
			head = byte(size & 0x7f)
		}
		b.WriteByte(head)
		deflate(&b, o)
		entries[i] = packed{[sha1.Size]byte(raw), uint32(at), crc32.ChecksumIEEE(b.Bytes()[at:])}
	}
	sum := sha1.Sum(b.Bytes())
	b.Write(sum[:])
	slices.SortFunc(entries, func(a, b packed) int { return bytes.Compare(a.id[:], b.id[:]) })
	return b.Bytes(), encodeIndex(entries, sum), "pack-" + hex.EncodeToString(sum[:]), nil
}

// encodeIndex writes a fan-out table, then ids, checksums and places, each in
// the order of the ids.
func encodeIndex(entries []packed, pack [sha1.Size]byte) []byte {
	index := []byte("\xfftOc\x00\x00\x00\x02")
	n := 0
	for first := range 256 {
		for n < len(entries) && int(entries[n].id[0]) == first {
			n++
		}
		index = binary.BigEndian.AppendUint32(index, uint32(n))
	}
	for _, e := range entries {
		index = append(index, e.id[:]...)
	}
	for _, e := range entries {
		index = binary.BigEndian.AppendUint32(index, e.sum)
	}
	for _, e := range entries {
		index = binary.BigEndian.AppendUint32(index, e.at)
	}
	index = append(index, pack[:]...)
	sum := sha1.Sum(index)
	return append(index, sum[:]...)
}

var compressors = sync.Pool{New: func() any {
	w, _ := zlib.NewWriterLevel(nil, zlib.BestSpeed) // the level is a valid one
	return w
}}

// deflate writes an object's content as a zlib stream. Trees and commits are mostly
// names of objects, which cannot be compressed.
func deflate(b *bytes.Buffer, o object) {
	if len(o.data) < 1024 || o.kind != "blob" {
		b.Write(stored(o.data))
		return
	}
	w := compressors.Get().(*zlib.Writer)
	defer compressors.Put(w)
	w.Reset(b)
	_, _ = w.Write(o.data) // a buffer takes everything
	_ = w.Close()
}

// writePack adds any number of objects to the mirror in two files: the pack is on
// the disk before the index makes git see it.
func (m *Objects) writePack(ids []string, objects []object) error {
	pack, index, name, err := encodePack(ids, objects)
	if err != nil {
		return err
	}
	path := filepath.Join(m.repo.dir, "objects", "pack", name)
	if _, err := os.Stat(path + ".idx"); err == nil {
		return nil
	}
	if err := placeFile(path+".pack", pack); err != nil {
		return fmt.Errorf("writing a pack: %w", err)
	}
	if err := placeFile(path+".idx", index); err != nil {
		return fmt.Errorf("writing a pack: %w", err)
	}
	return nil
}

// placeFile makes a read-only file appear whole or not at all.
func placeFile(path string, data []byte) error {
	dir := filepath.Dir(path)
	temp := filepath.Join(dir, "tmp_pack_"+strings.ToLower(rand.Text())) // git prunes leftovers of this name
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o444)
	if errors.Is(err, os.ErrNotExist) {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		f, err = os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o444)
	}
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		os.Remove(temp)
	}
	return err
}
