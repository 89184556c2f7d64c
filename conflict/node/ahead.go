package node

import (
	"context"
	"path"
	"runtime"
	"slices"
	"sync"

	"github.com/submitqueue/submitqueue/conflict"
)

// aheadBatch is how many files are read at once: enough that the round trip to
// git costs little, few enough to hold them in memory.
const aheadBatch = 64

// reading is a file that a step is about to read.
type reading struct {
	kind  string
	entry conflict.Entry
	parse func([]byte) (any, error)
}

// ahead reads files in batches and parses them on all processors, so that the
// steps, one after the other, find them in memory. A file that cannot be parsed
// is left to the step, which reports it; so are files for which the memory has
// no room.
func (b *builder) ahead(ctx context.Context, files []reading) error {
	if len(files) > cacheSize/2 {
		files = files[:cacheSize/2]
	}
	type batch struct {
		files    []reading
		contents [][]byte
	}
	batches := make(chan batch, 1)
	var wait sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for now := range batches {
				for i, r := range now.files {
					b.keep(r, now.contents[i])
				}
			}
		})
	}
	defer wait.Wait()
	defer close(batches)
	for some := range slices.Chunk(files, aheadBatch) {
		oids := make([]string, len(some))
		for i, r := range some {
			oids[i] = r.entry.OID
		}
		contents, err := conflict.Blobs(ctx, b.tree, oids)
		if err != nil {
			return err
		}
		batches <- batch{some, contents}
	}
	return nil
}

// keep parses a file into memory. A panic of the parser is dropped: it happens
// again in the step, where the goroutine expects it.
func (b *builder) keep(r reading, content []byte) {
	defer func() { _ = recover() }()
	if v, err := r.parse(content); err == nil {
		b.analyzer.seen.Add(r.kind+r.entry.OID, v)
	}
}

// remembered reports whether a file need not be read.
func (b *builder) remembered(r reading) bool {
	return r.entry.Mode == conflict.ModeLink || r.entry.Mode == conflict.ModeSubmodule || b.analyzer.seen.Contains(r.kind+r.entry.OID)
}

// readManifests reads the files that say where packages are: lock files first,
// as they take longest.
func (b *builder) readManifests(ctx context.Context) error {
	var locks, files []reading
	for _, e := range b.layout.Sorted {
		switch base := path.Base(e.Path); {
		case base == "package.json" && !installed(e.Path):
			files = append(files, manifestReading(e))
		case slices.Contains(lockNames, base) && !installed(e.Path):
			locks = append(locks, lockReading(e))
		}
	}
	return b.ahead(ctx, slices.DeleteFunc(append(locks, files...), b.remembered))
}

// readSources reads the files to be searched for imports.
func (b *builder) readSources(ctx context.Context) error {
	b.scans = make(map[string]specifiers, len(b.layout.Sorted))
	var unknown []reading
	for _, r := range b.roots {
		for _, p := range r.members {
			for _, e := range p.sources {
				if !scanned(p, e) {
					continue
				}
				if _, ok := b.scans[e.OID]; ok {
					continue
				}
				if v, ok := b.analyzer.seen.Get("src" + e.OID); ok {
					b.scans[e.OID] = v.(specifiers)
				} else {
					b.scans[e.OID] = specifiers{}
					unknown = append(unknown, sourceReading(e))
				}
			}
		}
	}
	for _, r := range unknown {
		delete(b.scans, r.entry.OID)
	}
	return b.ahead(ctx, unknown)
}

func manifestReading(e conflict.Entry) reading {
	return reading{"pkg", e, func(data []byte) (any, error) { return parseManifest(e.Path, data) }}
}

// lockReading gives no lock, without an error, for a file that cannot be read.
func lockReading(e conflict.Entry) reading {
	return reading{"lock " + path.Base(e.Path), e, func(data []byte) (any, error) {
		l, err := parseLock(e.Path, data)
		if err != nil {
			return (*lock)(nil), nil
		}
		return l, nil
	}}
}

func sourceReading(e conflict.Entry) reading {
	return reading{"src", e, func(data []byte) (any, error) { return scanImports(data), nil }}
}
