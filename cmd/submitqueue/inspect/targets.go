package inspect

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Targets shows the targets of a tree.
type Targets struct {
	Flags
	Rev      string `default:"HEAD" help:"Revision to look at (default: ${default}). Name none that you do not trust: the analyzers that run programs run its own, on this machine." placeholder:"REV"`
	Internal bool   `help:"List the nodes, too, that targets depend on and that cannot be verified on their own."`
	Filter   string `arg:"" optional:"" help:"A glob of target names, or the path of a file: which targets it belongs to." placeholder:"GLOB|FILE"`
}

// Help ends the command's help.
func (Targets) Help() string {
	return `The targets of a revision, as the queue sees them: by the .submitqueue.yml in its own tree.` + inspectExits
}

// targetRow is one target in JSON.
type targetRow struct {
	Name         string       `json:"name"`
	Kind         string       `json:"kind"`
	Alias        string       `json:"alias,omitempty"`
	Files        int          `json:"files"`
	Dependencies []string     `json:"dependencies"`
	Hash         queue.Digest `json:"hash"`
	Steps        []string     `json:"steps"`

	needs []string // Dependencies, with the dependencies of its other half in place of the half
}

// unreadRow is a part of the tree that cannot be analyzed.
type unreadRow struct {
	Target string `json:"target"` // the target that stands for it
	Why    string `json:"why"`
}

// targetsReport is what the command prints.
type targetsReport struct {
	Revision        string         `json:"revision"`
	Commit          queue.CommitID `json:"commit"`
	Configuration   string         `json:"configuration"`
	Analyzer        string         `json:"analyzer"`
	Unknown         string         `json:"unknown"`
	Unread          []unreadRow    `json:"unread"`
	RepositorySteps []string       `json:"repository_steps"`
	Targets         []targetRow    `json:"targets"`
	Internal        []targetRow    `json:"internal"`
	Cycles          [][]string     `json:"cycles"`
	Barrier         []string       `json:"barrier"`
	UnownedIn       config.Unowned `json:"unowned_in"`
	Unowned         []string       `json:"unowned"`
	Ignored         []string       `json:"ignored"`
	File            *fileReport    `json:"file,omitempty"`

	unread     []conflict.Unread
	all        int // targets before a filter
	steps      []string
	byAnalyzer []string // the same as text, where several run
}

// fileReport says which hashes have one file.
type fileReport struct {
	Path     string   `json:"path"`
	Place    string   `json:"place"` // owned, barrier, unowned, ignored or tree
	Owners   []string `json:"owners"`
	Affected []string `json:"affected"` // the targets with it in their hashes
}

// Run implements the command.
func (c *Targets) Run(ctx context.Context) error {
	in, err := c.inspect(ctx, c.Rev)
	if err != nil {
		return err
	}
	r, err := reported(ctx, in, c.report, c.print)
	if r == nil {
		return err
	}
	if err == nil && r.Unknown != "" {
		return print.ExitCode(1)
	}
	return err
}

func (c *Targets) report(ctx context.Context, in *inspection) (*targetsReport, error) {
	d := in.base
	r := &targetsReport{Revision: c.Rev, Commit: in.commit, Configuration: in.rules, Analyzer: d.Analyzer, Unknown: d.Unknown,
		Targets: []targetRow{}, Internal: []targetRow{}, Cycles: orEmpty(d.Cycles),
		Barrier: pathsOf(d.Barrier), Unowned: pathsOf(d.Unowned), Ignored: pathsOf(d.Ignored), UnownedIn: d.Config.Analysis.Unowned,
		all: len(d.Targets()), unread: d.Unread, Unread: []unreadRow{}}
	for _, u := range d.Unread {
		r.Unread = append(r.Unread, unreadRow{u.Target, u.Why})
	}
	if r.UnownedIn == "" {
		r.UnownedIn = config.UnownedAll
	}
	steps, whole := stepNames(d.Config.Steps)
	r.steps, r.RepositorySteps = orEmpty(steps), orEmpty(whole)
	if d.Nodes != nil {
		r.byAnalyzer = stepsByAnalyzer(d.Config, d.Targets())
	}
	if d.Nodes == nil {
		for _, t := range d.Targets() {
			r.Targets = append(r.Targets, targetRow{Name: t.Target, Kind: "whole tree", Files: d.Files, Dependencies: []string{}, Hash: t.Hash, Steps: r.steps})
		}
	}
	for i := range d.Nodes {
		n := &d.Nodes[i]
		row := rowOf(d.Description, n, StepsOf(d.Config.Steps, n.Name))
		if n.Internal {
			row.Steps = []string{}
			r.Internal = append(r.Internal, row)
		} else {
			r.Targets = append(r.Targets, row)
		}
	}
	return r, c.filter(ctx, in, r)
}

// halfOf returns the other half of a node, or nil. An analyzer may split a package into
// the target and the part that others import, as with ./cart and lib:./cart. For
// people, the two are one.
func halfOf(d *conflict.Description, n *conflict.Node) *conflict.Node {
	for _, dep := range n.Deps {
		prefix, of, _ := strings.Cut(dep, ":")
		if _, inner, ok := strings.Cut(of, ":"); ok && of != n.Name {
			of = config.TargetOf(prefix, inner) // go:lib:./cart, where several analyzers run
		}
		if of == n.Name {
			if half := d.Node(dep); half != nil && half.Internal {
				return half
			}
		}
	}
	return libraryOf(d, n)
}

// libraryOf is halfOf for crates, since their names differ from those of their folders: it is
// the library that most of the crate's files lie beside.
func libraryOf(d *conflict.Description, n *conflict.Node) (best *conflict.Node) {
	most, long := 0, 0
	for _, dep := range n.Deps {
		half := d.Node(dep)
		if n.Kind != "cargo crate" || half == nil || half.Kind != "cargo library" {
			continue
		}
		_, dir, _ := strings.Cut(dep, "lib:.") // what follows is the folder; "" is the top
		beside := 0
		for _, e := range n.Sources {
			if strings.Contains("/"+e.Path, dir+"/") {
				beside++
			}
		}
		if best == nil || beside > most || beside == most && len(dir) > long {
			best, most, long = half, beside, len(dir)
		}
	}
	return best
}

func rowOf(d *conflict.Description, n *conflict.Node, steps []string) targetRow {
	files := len(n.Sources)
	if n.Internal && files == 0 {
		files = len(n.Inputs) // it stands for files of other nodes, as a declared input does
	}
	row := targetRow{Name: n.Name, Kind: n.Kind, Alias: n.Alias, Files: files, Dependencies: orEmpty(n.Deps), Hash: n.Hash, Steps: steps, needs: n.Deps}
	if half := halfOf(d, n); half != nil {
		row.Files += len(half.Sources)
		row.needs = slices.DeleteFunc(slices.Concat(n.Deps, half.Deps), func(dep string) bool { return dep == half.Name })
		slices.Sort(row.needs)
		row.needs = slices.Compact(row.needs)
	}
	// The node that all nodes of one analyzer depend on says nothing about this one.
	row.needs = slices.DeleteFunc(slices.Clone(row.needs), func(dep string) bool { return strings.HasPrefix(n.Name, config.TargetOf(dep, "")) })
	return row
}

// filter keeps the targets that the person asked for: a file's targets, or those that a glob
// names.
func (c *Targets) filter(ctx context.Context, in *inspection, r *targetsReport) error {
	if c.Filter == "" {
		return nil
	}
	tree, err := in.clone.mirror.Objects.Tree(ctx, in.commit)
	if err != nil {
		return err
	}
	files, err := tree.Files(ctx)
	if err != nil {
		return err
	}
	keep := func(name string) bool { return globbed(c.Filter, name) }
	// Relative to the top, or to the named folder.
	for _, file := range []string{path.Clean(c.Filter), path.Join(in.clone.inside(ctx), c.Filter)} {
		if slices.ContainsFunc(files, func(f mirror.File) bool { return f.Path == file }) {
			r.File = fileOf(in.base.Description, r, file)
			keep = func(name string) bool {
				return slices.Contains(r.File.Affected, name) || slices.Contains(r.File.Owners, name)
			}
			break
		}
	}
	if r.File == nil && !doublestar.ValidatePattern(c.Filter) {
		return print.UsageError(fmt.Sprintf("%q is not a valid glob, and %s has no such file", c.Filter, c.Rev))
	}
	drop := func(t targetRow) bool { return !keep(t.Name) }
	r.Targets, r.Internal = slices.DeleteFunc(r.Targets, drop), slices.DeleteFunc(r.Internal, drop)
	if r.File == nil && len(r.Targets)+len(r.Internal) == 0 {
		return fmt.Errorf("no target of %s matches %q, and it has no file of that path", c.Rev, print.OneLine(c.Filter))
	}
	return nil
}

// globbed reports whether a glob, which may leave out a leading "./", names a
// target.
func globbed(glob, name string) bool {
	return glob == name || doublestar.MatchUnvalidated(glob, name) ||
		doublestar.MatchUnvalidated(strings.TrimPrefix(glob, "./"), strings.TrimPrefix(name, "./"))
}

// fileOf says which hashes have a file of the tree.
func fileOf(d *conflict.Description, r *targetsReport, file string) *fileReport {
	f := &fileReport{Path: file, Place: "owned", Owners: []string{}, Affected: []string{}}
	every := func(place string) {
		f.Place = place
		for _, t := range d.Targets() {
			f.Affected = append(f.Affected, t.Target)
		}
	}
	switch {
	case d.Nodes == nil:
		every("tree")
		f.Owners = f.Affected
	case slices.Contains(r.Barrier, file):
		every("barrier")
	case slices.Contains(r.Ignored, file):
		f.Place = "ignored"
	case slices.Contains(r.Unowned, file) && r.UnownedIn != config.UnownedTarget:
		every("unowned")
	default:
		if slices.Contains(r.Unowned, file) {
			f.Place = "unowned"
		}
		f.Owners = orEmpty(d.Holding(file))
		f.Affected = orEmpty(d.Above(f.Owners))
	}
	return f
}

func pathsOf(list []conflict.Entry) []string {
	paths := make([]string, len(list))
	for i, e := range list {
		paths[i] = e.Path
	}
	return paths
}
