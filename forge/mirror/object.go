package mirror

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/adler32"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// maxObject bounds the size of one object that is read into memory.
const maxObject = 64 << 20

// Objects are the objects of a repository, including new ones that are not yet written
// (fresh). It reads commits, trees and files, and adds to them. Objects that were read
// are remembered.
type Objects struct {
	repo   *repository
	reader *helper // cat-file
	fresh  *fresh

	commits  *lru[queue.CommitID, commitInfo]
	trees    *lru[string, []treeEntry]
	listings *lru[queue.TreeID, []File]
	nearby   *lru[queue.TreeID, queue.TreeID] // a tree from which a merged tree differs little

	crowded  chan struct{}
	newPacks atomic.Int64 // since the last repack, and
	newLoose atomic.Int64
}

func newObjects(repo *repository) *Objects {
	return &Objects{
		repo: repo, reader: repo.helper("cat-file", "--batch-command"), fresh: newFresh(), crowded: make(chan struct{}, 1),
		commits: newLRU[queue.CommitID, commitInfo](commitBytes), trees: newLRU[string, []treeEntry](treeBytes),
		listings: newLRU[queue.TreeID, []File](listingBytes), nearby: newLRU[queue.TreeID, queue.TreeID](20_000),
	}
}

// object is the answer of cat-file for one id.
type object struct {
	kind string // "" when the mirror does not have it
	data []byte
}

// commitInfo is the part of a commit that merging needs.
type commitInfo struct {
	tree    queue.TreeID
	parents []queue.CommitID
	date    int64 // committer's, in seconds
	message string
	author  string // "Name <address>", and the text after it; "" in a commit to be made: the mirror's Identity
}

// read reads objects, those that are not in memory in one exchange.
func (m *Objects) read(ctx context.Context, ids ...string) ([]object, error) {
	return eachOf(m, ids, func(o object) object { return o }, func(missing []string) ([]object, error) { return readAll(ctx, m.reader, missing) })
}

// stat asks for the kinds and sizes of objects.
func (m *Objects) stat(ctx context.Context, ids []string) ([]sized, error) {
	return eachOf(m, ids, func(o object) sized { return sized{o.kind, len(o.data)} }, func(missing []string) ([]sized, error) { return stat(ctx, m.reader, missing) })
}

// eachOf returns one result for each object: it calls of for those that are in memory,
// and ask for the others.
func eachOf[T any](m *Objects, ids []string, of func(object) T, ask func([]string) ([]T, error)) ([]T, error) {
	all := make([]T, len(ids))
	var missing []string
	var at []int
	for i, id := range ids {
		if o, ok := m.fresh.get(id); ok {
			all[i] = of(o)
		} else {
			missing, at = append(missing, id), append(at, i)
		}
	}
	found, err := ask(missing)
	for i, one := range found {
		all[at[i]] = one
	}
	return all, err
}

// readAll reads objects from a `cat-file --batch-command`.
func readAll(ctx context.Context, reader *helper, ids []string) ([]object, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var request bytes.Buffer
	for _, id := range ids {
		if !isID(id) {
			return nil, fmt.Errorf("%q is not an object id", id)
		}
		request.WriteString("contents " + id + "\n")
	}
	objects := make([]object, len(ids))
	err := reader.call(ctx, func(p *process) error {
		sent := p.send(request.Bytes())
		for i, id := range ids {
			o, err := readObject(p, id)
			if err != nil {
				return err
			}
			objects[i] = o
		}
		return <-sent
	})
	return objects, err
}

func readObject(p *process, id string) (object, error) {
	line, err := p.field('\n')
	if err != nil {
		return object{}, err
	}
	return readBody(p, line, id)
}

// readBody reads the content that follows the first line of an answer.
func readBody(p *process, line, id string) (object, error) {
	kind, size, err := parseHead(line, id)
	if err != nil || kind == "" {
		return object{}, err
	}
	if size > maxObject {
		if _, err := io.CopyN(io.Discard, p.out, int64(size)+1); err != nil {
			return object{}, err
		}
		return object{kind: "oversized"}, nil
	}
	data := make([]byte, size+1)
	if _, err := io.ReadFull(p.out, data); err != nil {
		return object{}, err
	}
	return object{kind: kind, data: data[:size]}, nil
}

// parseHead reads "<id> <kind> <size>"; the kind is "" when the object is missing.
func parseHead(line, id string) (kind string, size int, err error) {
	words := strings.Fields(line)
	switch {
	case len(words) == 2 && words[0] == id && words[1] == "missing":
		return "", 0, nil
	case len(words) != 3 || words[0] != id:
		return "", 0, fmt.Errorf("unexpected answer %q", line)
	}
	size, err = strconv.Atoi(words[2])
	return words[1], size, err
}

// has reports which commits the mirror has.
func (m *Objects) has(ctx context.Context, ids []queue.CommitID) ([]bool, error) {
	names := make([]string, len(ids))
	for i, id := range ids {
		if !isID(string(id)) {
			return nil, fmt.Errorf("%q is not a commit id", id)
		}
		names[i] = string(id)
	}
	there, err := m.stat(ctx, names)
	found := make([]bool, len(ids))
	for i, o := range there {
		found[i] = o.kind == "commit"
	}
	return found, err
}

// infos reads commits, those not known yet in one exchange.
func (m *Objects) infos(ctx context.Context, ids []queue.CommitID) (map[queue.CommitID]commitInfo, error) {
	infos := make(map[queue.CommitID]commitInfo, len(ids))
	var missing []string
	for _, id := range ids {
		if _, ok := infos[id]; ok {
			continue
		}
		info, ok := m.commits.get(id)
		infos[id] = info
		if !ok {
			missing = append(missing, string(id))
		}
	}
	if len(missing) == 0 {
		return infos, nil
	}
	objects, err := m.read(ctx, missing...)
	if err != nil {
		return nil, err
	}
	for i, o := range objects {
		id := queue.CommitID(missing[i])
		if o.kind == "" {
			return nil, &absent{"commit", string(id), "; fetch it first"}
		}
		info, err := parseCommit(o)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", id, err)
		}
		infos[id] = info
		m.commits.put(id, info, info.size())
	}
	return infos, nil
}

func (m *Objects) info(ctx context.Context, id queue.CommitID) (commitInfo, error) {
	if info, ok := m.commits.get(id); ok {
		return info, nil
	}
	infos, err := m.infos(ctx, []queue.CommitID{id})
	return infos[id], err
}

func parseCommit(o object) (commitInfo, error) {
	if o.kind != "commit" {
		return commitInfo{}, fmt.Errorf("is a %s, not a commit", o.kind)
	}
	var c commitInfo
	head, message, _ := strings.Cut(string(o.data), "\n\n")
	for line := range strings.SplitSeq(head, "\n") {
		key, value, _ := strings.Cut(line, " ")
		switch key {
		case "tree":
			c.tree = queue.TreeID(value)
		case "parent":
			c.parents = append(c.parents, queue.CommitID(value))
		case "author":
			c.author = cmp.Or(c.author, value)
		case "committer":
			words := strings.Fields(value[strings.LastIndexByte(value, '>')+1:])
			if len(words) > 0 {
				c.date, _ = strconv.ParseInt(words[0], 10, 64)
			}
		}
	}
	if !isID(string(c.tree)) {
		return commitInfo{}, errors.New("cannot be read: it names no tree")
	}
	c.message = message
	return c, nil
}

// writeObject stores an object and returns its id. It is written here and not by
// git because a git process for each object, or a file for each that hash-object
// reads, costs many times as much.
func (m *repository) writeObject(kind string, body []byte) (string, error) {
	data := append(fmt.Appendf(nil, "%s %d\x00", kind, len(body)), body...)
	sum := sha1.Sum(data)
	id := hex.EncodeToString(sum[:])
	dir := filepath.Join(m.dir, "objects", id[:2])
	path := filepath.Join(dir, id[2:])
	now := time.Now()
	if os.Chtimes(path, now, now) == nil { // it exists: its new time keeps it from being pruned
		return id, nil
	}
	temp := filepath.Join(dir, "tmp_obj_"+rand.Text()) // git prunes leftovers of this name
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o444)
	if errors.Is(err, os.ErrNotExist) {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return "", fmt.Errorf("writing a %s: %w", kind, err)
		}
		f, err = os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o444)
	}
	if err != nil {
		return "", fmt.Errorf("writing a %s: %w", kind, err)
	}
	_, err = f.Write(stored(data))
	if m.durable && err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		os.Remove(temp)
		return "", fmt.Errorf("writing a %s: %w", kind, err)
	}
	return id, nil
}

// stored frames data as a zlib stream without compressing it: a commit fits
// into one block of a disk either way, and a compressor costs more to set up
// than all the rest.
func stored(data []byte) []byte {
	const block = 65535
	out := []byte{0x78, 0x01}
	for rest := data; ; {
		n := min(len(rest), block)
		last := byte(0)
		if n == len(rest) {
			last = 1
		}
		out = append(out, last)
		out = binary.LittleEndian.AppendUint16(out, uint16(n))
		out = binary.LittleEndian.AppendUint16(out, ^uint16(n))
		out = append(out, rest[:n]...)
		if rest = rest[n:]; last == 1 {
			break
		}
	}
	return binary.BigEndian.AppendUint32(out, adler32.Checksum(data))
}
