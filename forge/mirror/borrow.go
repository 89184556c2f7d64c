package mirror

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Borrow opens a mirror in dir, a separate folder, that reads the objects of a
// repository on this machine where they are: nothing is fetched or copied. Merges
// are written to dir alone; the repository is never written to, and has to stay as
// long as the mirror does. objects is its folder of objects.
func Borrow(ctx context.Context, dir, objects string) (*Mirror, error) {
	objects, err := filepath.Abs(objects)
	if err != nil {
		return nil, err
	}
	m, err := Open(ctx, dir)
	if err != nil {
		return nil, err
	}
	line := objects
	if strings.HasPrefix(line, `"`) || strings.HasPrefix(line, "#") || strings.ContainsRune(line, '\n') {
		line = strconv.Quote(line)
	}
	info := filepath.Join(m.repo.dir, "objects", "info")
	err = os.MkdirAll(info, 0o755)
	if err == nil {
		err = os.WriteFile(filepath.Join(info, "alternates"), []byte(line+"\n"), 0o644)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("borrowing objects: %w", err), m.Close())
	}
	return m, nil
}
