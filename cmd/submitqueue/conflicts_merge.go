package main

import (
	"context"
	"strings"

	"github.com/submitqueue/submitqueue/app"
)

// together merges one branch onto the other on the base, if they touch one
// place, and returns the paths that do not merge.
func together(ctx context.Context, in *inspection, a, b branchReport) ([]string, error) {
	if !meet(a.paths, b.paths) {
		return nil, nil
	}
	m, err := in.MergeOnto(ctx, a.Change, b.Head)
	if err != nil || m.Clean() {
		return nil, err
	}
	return whyStuck(branchReport{Change: app.Change{Merged: m}}), nil
}

// meet reports whether two lists of paths may not merge: they share a path, or
// one has a file where the other has a folder, or a file of a folder in which
// the other may have moved everything.
func meet(a, b []string) bool {
	places := map[string]bool{}
	for _, p := range a {
		for at := p; at != "" && !places[at]; at = folderOf(at) {
			places[at] = true
		}
	}
	for _, p := range b {
		if places[p] || places[folderOf(p)] {
			return true
		}
		for at := folderOf(p); at != ""; at = folderOf(at) {
			if places[at] {
				return true
			}
		}
	}
	return false
}

// folderOf returns the folder of a path, "" at the root.
func folderOf(p string) string {
	return p[:max(strings.LastIndexByte(p, '/'), 0)]
}
