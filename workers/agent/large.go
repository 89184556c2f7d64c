package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/submitqueue/submitqueue/workers/protocol"
)

// Of contents of Git LFS.
const (
	lfsType    = "application/vnd.git-lfs+json"
	largeBatch = 100 // in one request
	largeAge   = 30 * 24 * time.Hour
)

// contents is the folder in which contents of Git LFS stay from job to job, by their SHA-256. A
// content is compared with its SHA-256 when it arrives, and each time that it is copied out.
func (a *Agent) contents() string { return filepath.Join(a.o.Dir, "lfs") }

// dropOld removes contents that no job has used for a long time (largeAge).
func (a *Agent) dropOld() {
	list, _ := os.ReadDir(a.contents())
	for _, d := range list {
		if info, err := d.Info(); err == nil && time.Since(info.ModTime()) > largeAge {
			_ = os.Remove(filepath.Join(a.contents(), d.Name())) // or at the next start
		}
	}
}

// lfsBatch has the fields of a message of the batch API of Git LFS that are needed here.
type lfsBatch struct {
	Operation string      `json:"operation,omitempty"`
	Transfers []string    `json:"transfers,omitempty"`
	Objects   []lfsObject `json:"objects"`
}

type lfsObject struct {
	OID   string `json:"oid"`
	Size  int64  `json:"size"`
	Error *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

// large writes contents into the place of their pointers: all of them, or the job is broken.
func (o outside) large(ctx context.Context, root *os.Root, files []protocol.LargeFile) error {
	if err := os.MkdirAll(o.slot.agent.contents(), 0o700); err != nil {
		return err
	}
	paths, lacks := map[string]string{}, []lfsObject{}
	for _, f := range files {
		if _, twice := paths[f.OID]; twice || f.Size == 0 || o.has(f) {
			continue
		}
		paths[f.OID] = f.Path
		lacks = append(lacks, lfsObject{OID: f.OID, Size: f.Size})
	}
	for some := range slices.Chunk(lacks, largeBatch) {
		if err := o.download(ctx, some, paths); err != nil {
			return err
		}
	}
	for _, f := range files {
		err := o.put(root, f)
		if errors.Is(err, errDamaged) { // on this machine's disk: once more
			if err = o.download(ctx, []lfsObject{{OID: f.OID, Size: f.Size}}, map[string]string{f.OID: f.Path}); err == nil {
				err = o.put(root, f)
			}
		}
		if err != nil {
			return fmt.Errorf("%.200q, a file of Git LFS: %w", f.Path, err)
		}
	}
	return nil
}

func (o outside) at(oid string) string { return filepath.Join(o.slot.agent.contents(), oid) }

// has reports whether a content is here, and marks it as used.
func (o outside) has(f protocol.LargeFile) bool {
	info, err := os.Stat(o.at(f.OID))
	if err != nil || info.Size() != f.Size {
		return false
	}
	_ = os.Chtimes(o.at(f.OID), time.Time{}, time.Now()) // at worst it is fetched once more, some day
	return true
}

// download brings contents to this machine.
func (o outside) download(ctx context.Context, some []lfsObject, paths map[string]string) error {
	var answer lfsBatch
	if err := o.ask(ctx, http.MethodPost, "/info/lfs/objects/batch", lfsBatch{Operation: "download", Transfers: []string{"basic"}, Objects: some}, &answer); err != nil {
		return fmt.Errorf("files of Git LFS: %w", err)
	}
	for _, x := range answer.Objects {
		if x.Error != nil {
			return fmt.Errorf("%.200q, a file of Git LFS: %s", paths[x.OID], x.Error.Message)
		}
	}
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(4)
	for _, x := range some {
		all.Go(func() error {
			if err := o.one(ctx, x); err != nil {
				return fmt.Errorf("%.200q, a file of Git LFS: %w", paths[x.OID], err)
			}
			return nil
		})
	}
	return all.Wait()
}

// errDamaged says that a content does not match its pointer.
var errDamaged = errors.New("what has come is not what its pointer names")

// one downloads a content.
func (o outside) one(ctx context.Context, x lfsObject) (err error) {
	body, err := o.open(ctx, http.MethodGet, "/info/lfs/objects/"+x.OID, nil)
	if err != nil {
		return err
	}
	defer body.Close()
	f, err := os.CreateTemp(o.slot.agent.contents(), "coming-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if err := errors.Join(same(f, body, x.OID, x.Size), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), o.at(x.OID))
}

// same copies a content, and returns errDamaged if it has another digest or size.
func same(to io.Writer, from io.Reader, oid string, size int64) error {
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(to, sum), io.LimitReader(from, size+1))
	if err == nil && (n != size || hex.EncodeToString(sum.Sum(nil)) != oid) {
		err = errDamaged
	}
	return err
}

// put writes a content into the place of its pointer.
func (o outside) put(root *os.Root, f protocol.LargeFile) error {
	name, mode := filepath.FromSlash(f.Path), fs.FileMode(0o644)
	if f.Executable {
		mode = 0o755
	}
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	to, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil || f.Size == 0 {
		if err == nil {
			err = to.Close()
		}
		return err
	}
	from, err := os.Open(o.at(f.OID))
	if err != nil {
		return errors.Join(err, to.Close())
	}
	return errors.Join(same(to, from, f.OID, f.Size), to.Close(), from.Close())
}
