package golang

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/conflict"
)

// scanBatch is how many files are read at once: enough that the round trip to
// git costs little, few enough to hold them in memory.
const scanBatch = 64

// scanDirty scans the Go files of the dirty packages. Files in no cache are
// read in batches, each scanned while the next is read.
func (b *builder) scanDirty(ctx context.Context) error {
	unknown := b.unknownSources()
	type batch struct {
		files    []source
		contents [][]byte
	}
	read, done := make(chan batch, 1), make(chan struct{})
	go func() {
		defer close(done)
		for f := range read {
			for i, src := range f.files {
				b.scans[src] = b.analyzer.platform.scan(f.contents[i], src.test)
				b.analyzer.scans.Add(src, b.scans[src])
			}
		}
	}()
	var err error
	for files := range slices.Chunk(unknown, scanBatch) {
		oids := make([]string, len(files))
		for i := range files {
			oids[i] = files[i].oid
		}
		var contents [][]byte
		if contents, err = conflict.Blobs(ctx, b.tree, oids); err != nil {
			break
		}
		read <- batch{files, contents}
	}
	close(read)
	<-done
	return err
}

// unknownSources returns the Go files of dirty packages that have not been
// scanned, in the order of their paths: git packs files of near paths together.
func (b *builder) unknownSources() []source {
	var unknown []source
	asked := map[source]bool{}
	for _, dir := range slices.Sorted(maps.Keys(b.dirty)) {
		if hidden(dir) || !b.isPackage(dir) {
			continue
		}
		for _, e := range b.now.layout.files(dir) {
			src := sourceOf(e.Path, e.OID)
			if !isGo(e) || e.Mode == conflict.ModeLink || asked[src] {
				continue
			}
			if s, ok := b.analyzer.scans.Get(src); ok {
				b.scans[src] = s
			} else {
				asked[src] = true
				unknown = append(unknown, src)
			}
		}
	}
	return unknown
}

// source is a text that is scanned, for what it is.
type source struct {
	oid    string
	test   bool
	native bool // it is C or assembly
}

// sourceOf returns the text of a Go file of this name.
func sourceOf(file, oid string) source {
	return source{oid: oid, test: strings.HasSuffix(file, "_test.go")}
}

// scanOf returns the scan of one text.
func (b *builder) scanOf(ctx context.Context, src source) (scan, error) {
	if s, ok := b.scans[src]; ok {
		return s, nil
	}
	if s, ok := b.analyzer.scans.Get(src); ok {
		return s, nil
	}
	text, err := b.tree.Blob(ctx, src.oid)
	if err != nil {
		return scan{}, err
	}
	s := scan{includes: includesOf(text)}
	if !src.native {
		s = b.analyzer.platform.scan(text, src.test)
	}
	b.analyzer.scans.Add(src, s)
	return s, nil
}
