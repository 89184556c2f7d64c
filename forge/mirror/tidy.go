package mirror

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
)

// The most loose objects, packs and loose refs of a repository before Tidy packs them.
// Git's own limit for packing is higher; above it, git tries to pack after each push,
// in vain if the objects are unreachable. Each push reads all refs: each loose one
// from a separate file.
const (
	tidyLoose = 2000
	tidyPacks = 30
	tidyRefs  = 300
)

// Tidy packs the repository's small packs, loose objects and loose refs where there are
// many. No object is removed: former versions of documents, which are unreachable, are
// packed, too; the owner's next gc may remove them. If gc.auto is 0, Tidy leaves all of
// it to the owner.
func (s *Store) Tidy(ctx context.Context) error {
	loose, packs, err := s.repo.count()
	if err != nil {
		return err
	}
	many := loose >= tidyLoose || packs >= tidyPacks
	scattered := looseRefs(s.repo.dir, tidyRefs) >= tidyRefs
	if !many && !scattered {
		return nil
	}
	auto, _, err := s.repo.run(ctx, invocation{args: []string{"config", "--file", filepath.Join(s.repo.dir, "config"), "--default", "1", "--get", "gc.auto"}})
	if err != nil || strings.TrimSpace(string(auto)) == "0" {
		return err
	}
	if scattered {
		if _, err := s.repo.git(ctx, "pack-refs", "--all"); err != nil {
			return fmt.Errorf("packing the refs of %s: %w", s.repo.dir, err)
		}
	}
	if many {
		if _, err := s.repo.git(ctx, geometric...); err != nil {
			return fmt.Errorf("packing %s: %w", s.repo.dir, err)
		}
	}
	return nil
}

// looseRefs counts the refs of a repository that have a separate file, up to most.
func looseRefs(dir string, most int) (n int) {
	_ = filepath.WalkDir(filepath.Join(dir, "refs"), func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // it disappeared meanwhile
		}
		if !d.IsDir() {
			n++
		}
		if n >= most {
			return fs.SkipAll
		}
		return nil
	})
	return n
}
