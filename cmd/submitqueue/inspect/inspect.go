package inspect

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/app"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/analyzers"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Flags are the flags of the commands that look at a clone and need no server.
type Flags struct {
	Repo     string `default:"." help:"Folder of a git repository, or one inside of it; it is never written to." placeholder:"DIR" type:"path"`
	Analyzer string `help:"Analyzer to use in place of the one that .submitqueue.yml names: go, paths, none, ..." placeholder:"NAME"`
	JSON     bool   `name:"json" help:"Print JSON, with every list complete."`
	Limit    int    `default:"30" help:"Lines of a list for people (default: ${default}); 0: all." placeholder:"N"`
}

// inspectExits ends the help of these commands.
const inspectExits = "\n\nExit status: 0 fine; 1 a problem, such as a revision that is not there or a tree that cannot be analyzed; 2 a command line that cannot be followed."

// inspection is a clone that is being looked at from one base.
type inspection struct {
	*app.Inspector
	clone  *clone
	base   *app.Inspected
	name   string // name of the base, as the person gave it
	commit queue.CommitID
	rules  string // the configuration that the base is judged by
	notes  []string
	json   bool // the report is printed as JSON
	waits  *print.Progress
}

// inspect opens the clone and judges the base; close ends it.
func (f *Flags) inspect(ctx context.Context, base string) (_ *inspection, err error) {
	if f.Limit < 0 {
		return nil, print.UsageError("--limit cannot be less than 0")
	}
	in := &inspection{name: base, json: f.JSON, waits: print.NewProgress(os.Stderr)}
	in.doing("opening " + f.Repo)
	if in.clone, err = openClone(ctx, f.Repo); err != nil {
		in.waits.Clear()
		return nil, err
	}
	defer func() {
		if err != nil {
			in.waits.Clear()
			err = errors.Join(in.clone.explain(ctx, err), in.clone.close())
		}
	}()
	ids, err := in.clone.commits(ctx, base)
	if err != nil {
		return nil, in.clone.hint(ctx, base, err)
	}
	in.commit = ids[0]
	in.doing("analyzing " + base)
	if in.Inspector, err = f.inspector(ctx, in); err != nil {
		return nil, err
	}
	in.base, err = in.Inspector.Commit(ctx, in.commit)
	return in, err
}

// inspector finds the configuration to judge by: the base's own, or a guess, which the
// report mentions.
func (f *Flags) inspector(ctx context.Context, in *inspection) (*app.Inspector, error) {
	pool, err := in.clone.checkouts()
	if err != nil {
		return nil, err
	}
	o := app.InspectorOptions{Mirror: in.clone.mirror, Analyzers: analyzers.All().With(pool), Base: in.commit, Analyzer: f.Analyzer}
	i, err := app.NewInspector(ctx, o)
	wrong := (config.Errors)(nil)
	in.rules = config.Path + " of " + in.name
	if f.Analyzer != "" {
		in.rules += ", with --analyzer " + f.Analyzer
	}
	switch {
	case err == nil:
		return i, nil
	case errors.As(err, &wrong):
		return nil, told(fmt.Sprintf("the configuration of %s cannot be used: %v", in.name, err))
	case !errors.Is(err, app.ErrNoConfig):
		return nil, err
	}
	name := f.Analyzer
	in.rules = "none, with --analyzer " + name
	if name == "" {
		tree, err := in.clone.mirror.Objects.Tree(ctx, in.commit)
		if err != nil {
			return nil, err
		}
		files, err := tree.Files(ctx)
		if err != nil {
			return nil, err
		}
		paths := make([]string, len(files))
		for i, file := range files {
			paths[i] = file.Path
		}
		found, why := guess(paths)
		if found == "" {
			return nil, fmt.Errorf("%s has no %s to say what its targets are, and %s; try --analyzer go, or none for one target, and write the file: see submitqueue schema",
				in.name, config.Path, why)
		}
		name, in.rules = found, "none, guessed from "+why
		in.notes = append(in.notes, fmt.Sprintf("%s has no %s; because of %s at the root, analyzer %s is assumed. Without the file the queue would not land anything",
			in.name, config.Path, why, name))
	}
	o.Assumed = &config.Config{Version: 1, Analysis: config.Analysis{Analyzer: name}}
	return app.NewInspector(ctx, o)
}

// guess returns the analyzer that files at the root point to, and the file; or none,
// and why.
func guess(paths []string) (analyzer, why string) {
	var files []string
	for _, row := range analyzers.All() {
		for _, file := range row.Markers {
			if !slices.Contains(paths, file) {
				continue
			}
			files = append(files, file)
			if analyzer != "" && analyzer != row.Name {
				return "", "it could be guessed from each of " + strings.Join(files, " and ")
			}
			analyzer = row.Name
		}
	}
	if analyzer == "" {
		return "", "no file at the root tells either"
	}
	return analyzer, files[0]
}

func (in *inspection) close() error {
	in.waits.Clear()
	return in.clone.close()
}

// ruledBy says which configuration a change is judged by, where it is not that of the base.
func (in *inspection) ruledBy(name string, c *app.Inspected) string {
	switch {
	case c.Fails != "":
		return "every build of " + name + " fails, because its configuration cannot be used: " + c.Fails
	case c.Own && (!in.base.Own || !reflect.DeepEqual(in.base.Config, c.Config)):
		return name + " is judged by the " + config.Path + " that it brings"
	}
	return ""
}

// analyzedBy prints how targets were found.
func (in *inspection) analyzedBy(p print.Sheet, analyzer string) {
	p.Text(fmt.Sprintf("Analyzer %s; configuration: %s.", analyzerText(analyzer), in.rules), "")
}

// analyzerText is an analyzer's id without the digest of its settings, which
// tells people nothing.
func analyzerText(id string) string {
	words := strings.Fields(id)
	if last := len(words) - 1; last > 0 && len(words[last]) == 2*sha256.Size {
		words = words[:last]
	}
	return strings.Join(words, " ")
}

// stepNames returns the steps on targets and those on the whole tree.
func stepNames(steps []config.Step) (targets, whole []string) {
	for _, s := range steps {
		if s.Scope == config.ScopeRepository {
			whole = append(whole, s.Name)
		} else {
			targets = append(targets, s.Name)
		}
	}
	return targets, whole
}

// StepsOf returns the names of the steps that verify a target.
func StepsOf(steps []config.Step, target string) []string {
	names := []string{}
	for _, s := range steps {
		if s.Scope != config.ScopeRepository && s.Covers(target) {
			names = append(names, s.Name)
		}
	}
	return names
}

// stepsByAnalyzer says, for each of several analyzers, which steps verify its targets,
// and whether it has no targets: its folder may be misspelt.
func stepsByAnalyzer(c *config.Config, targets []queue.TargetHash) (out []string) {
	for _, a := range c.Analysis.Analyzers {
		prefix := config.TargetOf(a.Name, "")
		text := a.Name + " by none"
		if steps := StepsOf(c.Steps, prefix); len(steps) > 0 {
			text = a.Name + " by " + strings.Join(steps, ", ")
		}
		if !slices.ContainsFunc(targets, func(t queue.TargetHash) bool { return strings.HasPrefix(t.Target, prefix) }) {
			text += " (it has no targets)"
		}
		out = append(out, text)
	}
	return out
}

// say prints the notes to the standard error, beside the report.
func (in *inspection) say() {
	for _, n := range in.notes {
		fmt.Fprintln(os.Stderr, "submitqueue: "+print.OneLine(n))
	}
}

// doing says on a terminal what is being done.
func (in *inspection) doing(what string) { in.waits.Say(what + " ...") }

// short is an id shortened for people.
func short[T ~string](id T) string { return print.Short(id, 10) }

// orEmpty returns a list that JSON writes as [] where it is empty.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// some returns as many lines as the limit allows, and how many are left.
func some[T any](list []T, limit int) (shown []T, more int) {
	if limit == 0 || len(list) <= limit {
		return list, 0
	}
	return list[:limit], len(list) - limit
}

// reported makes a report of an inspection, closes the inspection, and prints the
// report. nil: there is no report, because of the error.
func reported[R any](ctx context.Context, in *inspection, report func(context.Context, *inspection) (*R, error), show func(print.Sheet, *R)) (*R, error) {
	r, err := report(ctx, in)
	if err = errors.Join(in.clone.explain(ctx, err), in.close()); err != nil {
		return nil, err
	}
	in.say()
	if in.json {
		return r, print.JSON(os.Stdout, r)
	}
	show(print.Stdout(), r)
	return r, nil
}
