package cache

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// Bounds on archives.
const (
	maxEntries = 2_000_000
	maxWindow  = 64 << 20 // of memory that an archive can ask for
)

// pack writes a kept cache as an archive: tar in zstd. It leaves out everything but folders,
// files and links.
func pack(root *os.Root, w io.Writer) error {
	z, err := zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == "." || name == "about" {
			return err
		}
		return packOne(t, root, name)
	})
	return errors.Join(err, t.Close(), z.Close())
}

func packOne(t *tar.Writer, root *os.Root, name string) error {
	info, err := root.Lstat(name)
	if err != nil {
		return err
	}
	head := &tar.Header{Name: filepath.ToSlash(name), Mode: int64(info.Mode().Perm()), ModTime: info.ModTime(), Format: tar.FormatPAX}
	switch mode := info.Mode(); {
	case mode.IsDir():
		head.Typeflag = tar.TypeDir
	case mode&fs.ModeSymlink != 0:
		head.Typeflag = tar.TypeSymlink
		if head.Linkname, err = root.Readlink(name); err != nil {
			return err
		}
	case mode.IsRegular():
		head.Typeflag, head.Size = tar.TypeReg, info.Size()
	default:
		return nil
	}
	if err := t.WriteHeader(head); err != nil || head.Typeflag != tar.TypeReg {
		return err
	}
	f, err := root.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(t, f)
	return err
}

// unpack unpacks a hostile archive into a folder of ours. It writes nothing outside of the
// folder, takes only top-level names in top, and uses no more than limit bytes of disk. After
// an error the folder has a part of the archive.
func unpack(r io.Reader, root *os.Root, top []string, limit int64) (bytes int64, err error) {
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderMaxMemory(2*maxWindow))
	if err != nil {
		return 0, err
	}
	defer z.Close()
	t := tar.NewReader(z)
	var folders []*tar.Header // their rights and times come last
	for n := 0; ; n++ {
		head, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return 0, err
		}
		name := filepath.FromSlash(strings.TrimSuffix(head.Name, "/"))
		first, _, _ := strings.Cut(head.Name, "/")
		if !filepath.IsLocal(name) || filepath.Clean(name) != name || !slices.Contains(top, first) || head.Size < 0 || n >= maxEntries {
			return 0, fmt.Errorf("the archive has what no cache has: %.200q", head.Name)
		}
		if bytes += block + max(0, (head.Size-1)/block*block); bytes > limit {
			return 0, &TooLarge{limit}
		}
		if err := unpackOne(t, root, name, head); err != nil {
			return 0, err
		}
		if head.Typeflag == tar.TypeDir {
			folders = append(folders, head)
		}
	}
	for _, head := range slices.Backward(folders) {
		name := filepath.FromSlash(strings.TrimSuffix(head.Name, "/"))
		if err := finish(root, name, head); err != nil {
			return 0, err
		}
	}
	return bytes, nil
}

func unpackOne(t *tar.Reader, root *os.Root, name string, head *tar.Header) error {
	switch head.Typeflag {
	case tar.TypeDir:
		return root.Mkdir(name, 0o700)
	case tar.TypeSymlink:
		return root.Symlink(head.Linkname, name)
	case tar.TypeReg:
	default:
		return fmt.Errorf("the archive has what no cache has: %.200q of type %q", head.Name, head.Typeflag)
	}
	f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, t)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return finish(root, name, head)
}

// finish gives a file or folder its rights, and its time, which build tools go by.
func finish(root *os.Root, name string, head *tar.Header) error {
	if info, err := root.Lstat(name); err != nil || info.Mode()&fs.ModeSymlink != 0 {
		return errors.Join(err, fmt.Errorf("the archive has what no cache has: %.200q twice", head.Name))
	}
	return errors.Join(root.Chmod(name, fs.FileMode(head.Mode).Perm()), root.Chtimes(name, head.ModTime, head.ModTime))
}

// Pack writes a kept cache as an archive into a new file, and returns its path; "": the cache
// is not kept. The caller removes the file.
func (k *Kept) Pack(id string) (path string, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, ok := k.caches[id]; !ok {
		return "", nil
	}
	root, err := k.slot.OpenRoot(filepath.Join(Dir, id))
	if err != nil {
		return "", err
	}
	defer root.Close()
	f, err := os.CreateTemp(filepath.Join(k.dir, Dir), "new-*.tar.zst") // the next Open removes it if the caller does not
	if err != nil {
		return "", err
	}
	if err = errors.Join(pack(root, f), f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// Unpack keeps the content of an archive as a cache with these paths. Archives are hostile:
// after an error nothing of it is kept.
func (k *Kept) Unpack(id string, paths []string, archive io.Reader) (err error) {
	k.mu.Lock()
	k.last++
	making := fmt.Sprintf("new-%d", k.last)
	k.mu.Unlock() // an archive may take long to come
	if err := k.o.Remove(filepath.Join(k.dir, Dir, making)); err != nil {
		return err
	}
	if err := k.slot.Mkdir(filepath.Join(Dir, making), 0o700); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, k.o.Remove(filepath.Join(k.dir, Dir, making)))
		}
	}()
	root, err := k.slot.OpenRoot(filepath.Join(Dir, making))
	if err != nil {
		return err
	}
	defer root.Close()
	top := make([]string, len(paths))
	for i, p := range paths {
		top[i] = nameOf(p)
	}
	bytes, err := unpack(archive, root, top, k.o.Bytes)
	switch {
	case err != nil:
		return err
	case bytes == 0:
		return errors.New("the archive is empty")
	case k.o.Low():
		return ErrLow
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.commit(making, id, bytes)
}
