package golang

import (
	"context"
	"maps"
	"slices"

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
		oids     []string
		contents [][]byte
	}
	read, done := make(chan batch, 1), make(chan struct{})
	go func() {
		defer close(done)
		for f := range read {
			for i, oid := range f.oids {
				b.scans[oid] = b.analyzer.platform.scan(f.contents[i])
				b.analyzer.scans.Add(oid, b.scans[oid])
			}
		}
	}()
	var err error
	for oids := range slices.Chunk(unknown, scanBatch) {
		var contents [][]byte
		if contents, err = conflict.Blobs(ctx, b.tree, oids); err != nil {
			break
		}
		read <- batch{oids, contents}
	}
	close(read)
	<-done
	return err
}

// unknownSources returns the Go files of dirty packages that have not been
// scanned, in the order of their paths: git packs files of near paths together.
func (b *builder) unknownSources() []string {
	var unknown []string
	asked := map[string]bool{}
	for _, dir := range slices.Sorted(maps.Keys(b.dirty)) {
		if hidden(dir) || !b.isPackage(dir) {
			continue
		}
		for _, e := range b.now.layout.files(dir) {
			if !isGo(e) || e.Mode == conflict.ModeLink || asked[e.OID] {
				continue
			}
			if s, ok := b.analyzer.scans.Get(e.OID); ok {
				b.scans[e.OID] = s
			} else {
				asked[e.OID] = true
				unknown = append(unknown, e.OID)
			}
		}
	}
	return unknown
}

// scanOf returns the scan of one file.
func (b *builder) scanOf(ctx context.Context, oid string) (scan, error) {
	if s, ok := b.scans[oid]; ok {
		return s, nil
	}
	if s, ok := b.analyzer.scans.Get(oid); ok {
		return s, nil
	}
	src, err := b.tree.Blob(ctx, oid)
	if err != nil {
		return scan{}, err
	}
	s := b.analyzer.platform.scan(src)
	b.analyzer.scans.Add(oid, s)
	return s, nil
}
