package audit

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Finding is a file that a target's step has read and that is in no hash of the
// target: a change to it does not run the step.
type Finding struct {
	File     string   `json:"file"`
	Programs []string `json:"programs"` // programs that read it
	Ignored  string   `json:"ignored,omitempty"`
	Line     int      `json:"line,omitempty"` // of .submitqueue.yml, where Ignored is written
	Holders  []string `json:"holders"`        // the nodes that have it, all of other targets
}

// Why says why the file is in no hash of the target.
func (f *Finding) Why() string {
	switch {
	case f.Ignored != "" && f.Line > 0:
		return fmt.Sprintf("ignored by %q (%s:%d)", f.Ignored, config.Path, f.Line)
	case f.Ignored != "":
		return fmt.Sprintf("ignored by %q", f.Ignored)
	case len(f.Holders) == 1 && f.Holders[0] == config.TargetUnowned:
		return "claimed by no target: in that of unowned files alone"
	}
	const most = 2
	names := strings.Join(f.Holders[:min(most, len(f.Holders))], ", ")
	if more := len(f.Holders) - most; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return "only in the hash of " + names
}

// Judged is what the reads of one target mean.
type Judged struct {
	Findings []Finding `json:"findings"`
	// Partly are files that are in the hash only by what the analyzer reads in them.
	Partly []string `json:"partly"`
	// Listed are folders in which names were read and which have files that are in no
	// hash of the target: a new file there does not run the step.
	Listed []string `json:"listed"`
	// Tested are the files that were looked up and not read, and are in no hash
	// of the target.
	Tested []string `json:"tested"`
	// Missing are the paths that were looked up and are not in the commit.
	Missing []string `json:"missing"`
	// Scanned is how many files were read by programs that look at all files.
	Scanned int `json:"scanned"`
	// Own is how many of the read files are in the target's hash, and not in the hashes of all
	// targets.
	Own int `json:"own"`
	// Unread says that there are such files, and none of them was read.
	Unread bool `json:"unread,omitempty"`
}

// Tree is a commit as the judge sees it.
type Tree struct {
	*conflict.Description
	Settings config.Analysis
	Config   string   // the text of .submitqueue.yml
	Files    []string // of the commit, sorted
	// Without returns the snapshot of the tree without some of its files.
	Without func(ctx context.Context, files []string) (*conflict.Snapshot, error)
}

func (t *Tree) has(file string) bool {
	_, ok := slices.BinarySearch(t.Files, file)
	return ok
}

// Judge says what the reads of a target's step mean.
func Judge(ctx context.Context, t *Tree, target string, reads Reads) (*Judged, error) {
	j := &Judged{Findings: []Finding{}, Partly: []string{}, Listed: []string{}, Tested: []string{}, Missing: []string{}, Scanned: len(reads.Scanned)}
	in := t.FilesOf(target)
	own := map[string]bool{}
	for file := range in {
		own[file] = true
	}
	for _, e := range slices.Concat(t.Barrier, t.Unowned) {
		delete(own, e.Path)
	}
	var beyond []string
	for _, file := range sorted(reads.Content) {
		switch {
		case !t.has(file):
		case own[file]:
			j.Own++
		case !in[file]:
			beyond = append(beyond, file)
		}
	}
	j.Unread = j.Own == 0 && len(own) > 0
	partly, err := t.partly(ctx, target, beyond)
	if err != nil {
		return nil, err
	}
	for _, file := range beyond {
		if slices.Contains(partly, file) {
			j.Partly = append(j.Partly, file)
			continue
		}
		j.Findings = append(j.Findings, t.finding(file, reads.Content[file]))
	}
	for _, file := range sorted(reads.Tested) {
		switch {
		case t.has(file) && !in[file]:
			j.Tested = append(j.Tested, file)
		case !t.has(file) && !t.folder(file):
			j.Missing = append(j.Missing, file)
		}
	}
	for _, dir := range sorted(reads.Listed) {
		if slices.ContainsFunc(t.directlyIn(dir), func(file string) bool { return !in[file] }) {
			j.Listed = append(j.Listed, dir)
		}
	}
	return j, nil
}

func sorted(m map[string][]string) []string {
	list := make([]string, 0, len(m))
	for k := range m {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}

// folder reports whether a path is a folder of the commit.
func (t *Tree) folder(dir string) bool {
	i, _ := slices.BinarySearch(t.Files, dir+"/")
	return i < len(t.Files) && strings.HasPrefix(t.Files[i], dir+"/")
}

// directlyIn returns the files directly in a folder.
func (t *Tree) directlyIn(dir string) []string {
	from := 0
	if dir != "." {
		from, _ = slices.BinarySearch(t.Files, dir+"/")
	}
	var list []string
	for _, file := range t.Files[from:] {
		if dir != "." && !strings.HasPrefix(file, dir+"/") {
			break
		}
		if path.Dir(file) == dir {
			list = append(list, file)
		}
	}
	return list
}

// partly returns those of the files that the analyzer has read for the target's hash:
// without them, the hash is different. Files that make no difference together make none
// alone, so analyzing one or two trees settles most of them.
func (t *Tree) partly(ctx context.Context, target string, files []string) ([]string, error) {
	if len(files) == 0 {
		return nil, nil
	}
	without, err := t.Without(ctx, files)
	if err != nil {
		return nil, err
	}
	if hashOf(without, target) == hashOf(t.Snapshot, target) {
		return nil, nil
	}
	if len(files) == 1 {
		return files, nil
	}
	left, err := t.partly(ctx, target, files[:len(files)/2])
	if err != nil {
		return nil, err
	}
	right, err := t.partly(ctx, target, files[len(files)/2:])
	return append(left, right...), err
}

func hashOf(s *conflict.Snapshot, target string) queue.Digest {
	for _, h := range s.Targets() {
		if h.Target == target {
			return h.Hash
		}
	}
	return ""
}

func (t *Tree) finding(file string, programs []string) Finding {
	f := Finding{File: file, Programs: programs, Holders: t.Holding(file)}
	if f.Holders == nil {
		f.Holders = []string{}
	}
	if len(f.Holders) > 0 && !slices.ContainsFunc(t.Ignored, func(e conflict.Entry) bool { return e.Path == file }) {
		return f
	}
	for _, glob := range t.Settings.Ignore {
		if doublestar.MatchUnvalidated(glob, file) {
			f.Ignored, f.Line = glob, lineOf(t.Config, glob)
			return f
		}
	}
	return f
}

// lineOf returns the line of the configuration in which a glob of ignore is written; 0
// where it is not found.
func lineOf(text, glob string) int {
	n, in := 0, false
	for line := range strings.Lines(text) {
		n++
		if strings.HasPrefix(strings.TrimSpace(line), "ignore:") {
			in = true
		}
		if in && strings.Contains(line, glob) {
			return n
		}
	}
	return 0
}
