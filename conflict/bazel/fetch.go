package bazel

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/checkout"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/digest"
)

// fetching is the part of the target branch's repositories that a tree needs.
type fetching struct {
	key    string   // digest of the declarations of the repositories
	labels []string // of .bzl files that are loaded
}

// fetched are the repositories of a target branch as Bazel has fetched them.
type fetched struct {
	key   string
	base  string          // Bazel's output base
	done  map[string]bool // labels that can be loaded
	tried map[string]int  // label → how often it was asked for in vain
	repos map[string]repo
	reads []string     // files and folders of the tree that they were made of
	state queue.Digest // of those, when they were fetched
	said  string       // Bazel's message when something could not be fetched last
}

// due reports whether a label is asked for again that was asked for so many
// times in vain. It may be the network's fault; but each attempt takes a while,
// so attempts become more and more rare.
func due(tried int) bool { return tried&(tried-1) == 0 }

// notFetched matches Bazel's messages about repositories that it does not have.
var notFetched = regexp.MustCompile(`(?i)(?:no such package|repository|unable to (?:find|load) package for|package) '?@`)

// doubt looks at an error of a tree that loads from other repositories. If a
// repository that was not fetched may be the cause, the error is provisional.
func (a *Analyzer) doubt(s *scanned, err error) error {
	if len(s.outer) == 0 || errors.Is(err, conflict.ErrProvisional) || !notFetched.MatchString(err.Error()) {
		return err
	}
	for _, label := range s.outer {
		if strings.Contains(err.Error(), "@"+repoOf(label)) {
			delete(a.fetched.done, label)
		}
	}
	return fmt.Errorf("%w: %w", err, conflict.ErrProvisional)
}

// outerLabel matches labels that can be written into a BUILD file as they are.
var outerLabel = regexp.MustCompile(`^@([A-Za-z0-9_.~+-]+)//[A-Za-z0-9_./+=~-]*:[A-Za-z0-9_./+=~-]+$`)

// askDir is the folder of the packages that make Bazel fetch.
const askDir = "submitqueue_fetches"

// fetch makes Bazel fetch the repositories of the labels and of all files that
// they load, in a checkout of the target branch. The caller has the turn.
func (a *Analyzer) fetch(ctx context.Context, program string, target *scanned, want fetching) (*fetched, error) {
	if f := a.fetched; f != nil && f.state != target.layout.content(f.reads) {
		f.key = "" // the target branch has moved on
	}
	var ask []string
	for _, label := range want.labels {
		if !outerLabel.MatchString(label) {
			return nil, fmt.Errorf("the label %.200q is not made of plain characters", label)
		}
		f := a.fetched
		switch {
		case f == nil || f.key != want.key || !f.done[label] && due(f.tried[label]):
			ask = append(ask, label)
		case !f.done[label]:
			f.tried[label]++
			return nil, f.missing(label)
		}
	}
	if len(ask) > 0 {
		if err := a.fetchMore(ctx, program, target, fetching{want.key, ask}); err != nil {
			return nil, err
		}
	}
	return a.fetched, nil
}

func (a *Analyzer) fetchMore(ctx context.Context, program string, target *scanned, want fetching) error {
	d, err := a.pool.Checkout(ctx, asked(target, want.labels), nil)
	if err != nil {
		return err
	}
	defer d.Release()
	s, err := newServer(program, d, max(a.timeout, fetchTimeout))
	if err != nil {
		return err
	}
	if a.fetched == nil || a.fetched.key != want.key {
		base, err := os.MkdirTemp(s.keep, "fetch")
		if err != nil {
			return fmt.Errorf("bazel: %w: %w", conflict.ErrProvisional, err)
		}
		if a.fetched != nil {
			_ = os.RemoveAll(a.fetched.base) // the rest is removed when the server starts again
		}
		a.fetched = &fetched{key: want.key, base: base, state: target.layout.content(nil), done: map[string]bool{}, tried: map[string]int{}}
	}
	f := a.fetched
	var b strings.Builder
	b.WriteString("set(")
	for i := range want.labels {
		fmt.Fprintf(&b, "//%s/%d:all-targets\n", askDir, i)
	}
	err = s.fetch(ctx, f.base, b.String()+")")
	failed := (*checkout.RunError)(nil)
	if err != nil && !(errors.As(err, &failed) && failed.Failed) {
		return explain(err)
	}
	if err := f.collect(d.Tree, target.workspace); err != nil {
		return fmt.Errorf("bazel: %w: %w", conflict.ErrProvisional, err)
	}
	f.state = target.layout.content(f.reads)
	if f.said = ""; failed != nil {
		f.said = ": " + clean(failed.Last)
	}
	for _, label := range want.labels {
		if _, ok := f.repos[repoOf(label)]; !ok {
			f.tried[label]++
			return f.missing(label)
		}
		f.done[label] = true
		delete(f.tried, label)
	}
	return nil
}

// repoOf returns the repository of a label that matches outerLabel.
func repoOf(label string) string { return outerLabel.FindStringSubmatch(label)[1] }

func (f *fetched) missing(label string) error {
	return fmt.Errorf("the repository @%s could not be fetched as the target branch declares it%s: %w", repoOf(label), f.said, conflict.ErrProvisional)
}

// fetch runs a query and drops the answer: Bazel must fetch repositories to give it.
func (s *server) fetch(ctx context.Context, base, query string) error {
	file := filepath.Join(s.keep, "fetches")
	if err := os.WriteFile(file, []byte(query), 0o600); err != nil {
		return fmt.Errorf("bazel: %w: %w", conflict.ErrProvisional, err)
	}
	argv := append(s.startup(base), "query", "--query_file="+file, "--keep_going", "--color=no", "--curses=no", "--noshow_progress", "--order_output=no")
	_, err := s.run(ctx, argv)
	return errors.Join(err, kill(base)) // one server is enough
}

// asked is the target branch with one package for each label, which loads a
// name from it. The file has no such name, which Bazel finds out only after it
// has fetched all that it needs.
func asked(target *scanned, labels []string) conflict.Tree {
	t := shown{target.tree, map[string]string{}}
	for _, file := range silenced {
		if !slices.Contains(workspaceFiles, file) {
			t.silence(target, file)
		}
	}
	for i, label := range labels {
		t.texts[askDir+"/"+strconv.Itoa(i)+"/BUILD"] = "load(" + strconv.QuoteToASCII(label) + ", \"submitqueue\")\n"
	}
	return t
}

// collect finds the repositories that Bazel has fetched. Files of the tree that
// a repository links to are copied: the next tree in that place is another one.
func (f *fetched) collect(tree, workspace string) error {
	dir := filepath.Join(f.base, "external")
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f.repos = map[string]repo{}
	for _, e := range entries {
		name := e.Name()
		if strings.HasPrefix(name, "@") {
			if err := f.marker(filepath.Join(dir, name), workspace); err != nil {
				return err
			}
			continue
		}
		if name == toolsRepo {
			continue
		}
		path, err := filepath.EvalSymlinks(filepath.Join(dir, name))
		if err != nil {
			continue // a repository that leads nowhere has nothing to load
		}
		if in, ok := within(tree, path); ok {
			f.repos[name] = repo{dir: in}
			continue
		}
		if _, around := within(path, tree); around || path == tree {
			continue // it differs in the next checkout
		}
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		if !info.IsDir() {
			continue
		}
		texts := map[string]string{}
		if err := f.settle(path, tree, texts); err != nil {
			return err
		}
		var all []string
		for _, file := range slices.Sorted(maps.Keys(texts)) {
			all = append(all, file, texts[file])
		}
		f.repos[name] = repo{path: path, digest: digest.Of(all...)}
	}
	slices.Sort(f.reads)
	f.reads = slices.Compact(f.reads)
	return nil
}

// marker reads Bazel's notes on how it made a repository: a line for each file
// of the tree that was read.
func (f *fetched) marker(file, workspace string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		rest, ok := strings.CutPrefix(line, "FILE:")
		if !ok {
			continue
		}
		name, _, _ := strings.Cut(rest, " ")
		if l, ok := parseLabel(name, workspace); ok && l.repo == "" {
			f.reads = append(f.reads, l.file())
		}
	}
	return nil
}

// within returns the path of a file in a folder.
func within(dir, file string) (string, bool) {
	rel, err := filepath.Rel(dir, file)
	if err != nil || rel == "." || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", false
	}
	return filepath.ToSlash(rel), true
}

// settle replaces links from a repository into the tree by copies of their
// files, and gathers the texts that can be loaded.
func (f *fetched) settle(dir, tree string, texts map[string]string) error {
	return filepath.WalkDir(dir, func(file string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.Type()&fs.ModeSymlink != 0 {
			to, err := filepath.EvalSymlinks(file)
			if err != nil {
				return nil // it leads nowhere
			}
			info, err := os.Stat(to)
			if err != nil {
				return err
			}
			if in, ok := within(tree, to); ok {
				f.reads = append(f.reads, in)
				if err := copyOver(file, to, info); err != nil {
					return err
				}
			}
			if info.IsDir() {
				return nil
			}
		}
		if e.IsDir() || !isScript(file) {
			return nil
		}
		text, err := os.ReadFile(file)
		texts[strings.TrimPrefix(file, dir)] = string(text)
		return err
	})
}

// copyOver replaces a link by a copy of the file or folder that it leads to.
func copyOver(link, to string, info fs.FileInfo) error {
	if err := os.Remove(link); err != nil {
		return err
	}
	if info.IsDir() {
		return os.CopyFS(link, os.DirFS(to))
	}
	text, err := os.ReadFile(to)
	if err != nil {
		return err
	}
	return os.WriteFile(link, text, 0o600)
}
