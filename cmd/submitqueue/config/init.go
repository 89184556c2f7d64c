package config

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/analyzers"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/inspect"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Init writes a first configuration from the files of a clone.
type Init struct {
	Dir   string `arg:"" optional:"" default:"." type:"path" help:"Clone to write it in."`
	Step  string `name:"run" help:"Command that verifies the repository, where it cannot be told from the files." placeholder:"COMMAND"`
	Print bool   `help:"Print the file, write nothing."`

	out io.Writer // nil: standard output
}

// maxInitFile bounds the size of the files that are read.
const maxInitFile = 1 << 20

// Run implements the command. An existing configuration stays as it is.
func (c *Init) Run(ctx context.Context) error {
	if c.out == nil {
		c.out = os.Stdout
	}
	top, t, err := readTree(ctx, c.Dir)
	if err != nil {
		return err
	}
	path := filepath.Join(top, config.Path)
	if _, err := os.Lstat(path); err == nil && !c.Print {
		return fmt.Errorf("there is a %s already; it stays as it is. submitqueue validate checks it, submitqueue init --print shows what this would write", path)
	}
	text, what, err := firstConfig(t, c.Step)
	if err != nil {
		return err
	}
	cfg, err := config.Parse(config.Path, text)
	if err == nil {
		_, err = analyzers.All().Of(cfg.Analysis)
	}
	if err != nil {
		return fmt.Errorf("this repository needs a file written by hand, what init makes of it is not valid: %w", err)
	}
	if c.Print {
		_, err := c.out.Write(text)
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("the file cannot be made: %w", err)
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(fmt.Errorf("the file cannot be written: %w", err), os.Remove(path))
	}
	_, err = fmt.Fprintf(c.out, "%s: %s\nRead it, then see what it makes of the repository: submitqueue targets. Commit it to the target branch. "+
		"What steps read beyond what the queue knows of, submitqueue audit inputs finds.\n%s", path, what, t.unfetched(cfg))
	return err
}

// readTree lists the files of a folder's repository that git tracks, and the untracked
// files that it does not ignore.
func readTree(ctx context.Context, dir string) (top string, t tree, err error) {
	git := func(dir string, args ...string) ([]byte, error) {
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.Dir = dir
		return cmd.Output()
	}
	if at, err := os.Stat(dir); err != nil || !at.IsDir() {
		return "", t, fmt.Errorf("there is no folder %s", dir)
	}
	out, err := git(dir, "rev-parse", "--show-toplevel")
	if err != nil {
		return "", t, inspect.NotRepository(ctx, dir, err, "run this in a clone, or name its folder: submitqueue init DIR")
	}
	top = strings.TrimSuffix(string(out), "\n")
	if out, err = git(top, "ls-files", "-z", "--cached", "--others", "--exclude-standard"); err != nil {
		return "", t, inspect.NotRepository(ctx, top, err, "run this in a clone, or name its folder: submitqueue init DIR")
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if name != "" {
			t.Files = append(t.Files, name)
		}
	}
	slices.Sort(t.Files)
	t.Files = slices.Compact(t.Files)
	root, err := os.OpenRoot(top) // links do not lead out of the repository
	if err != nil {
		return "", t, err
	}
	t.Read = func(name string) string {
		f, err := root.Open(filepath.FromSlash(name))
		if err != nil {
			return ""
		}
		defer f.Close()
		if at, err := f.Stat(); err != nil || !at.Mode().IsRegular() {
			return ""
		}
		data, _ := io.ReadAll(io.LimitReader(f, maxInitFile))
		return string(data)
	}
	return top, t, nil
}

// firstConfig makes the text of the file, and says in words which build systems it found.
func firstConfig(t tree, run string) (text []byte, what string, err error) {
	list := analyzers.All().Detect(t.Tree)
	var ours []string // checks that run on the queue's own builds
	if run == "" {
		ours = t.checks(true)
	}
	if run != "" || len(list) == 0 {
		if run == "" {
			run = t.whole()
		}
		if run == "" && len(ours) == 0 {
			return nil, "", errors.New("no build system that is known here was found; say what verifies the repository: submitqueue init --run 'make test'")
		}
		list = []analyzers.Found{{Analyzer: config.AnalyzerNone, Run: run}}
	}
	var b bytes.Buffer
	b.WriteString("# Made by submitqueue init. All settings: submitqueue schema, or /docs/keys on the server.\nversion: 1\n")
	var words []string
	if len(list) == 1 && list[0].Under == "" {
		f := list[0]
		fmt.Fprintf(&b, "analysis:\n  analyzer: %s\n", f.Analyzer)
		b.WriteString(t.ignoreHint(f.Analyzer) + "steps:\n")
		if !byChecks(&b, ours, f.Analyzer) {
			t.step(&b, "test", "", f)
		}
		words = append(words, "analyzer "+f.Analyzer)
		if f.Analyzer == config.AnalyzerNone {
			words = []string{"no analyzer, each change is verified as a whole"}
		}
	} else {
		b.WriteString("analysis:\n  analyzers:\n")
		called := names(list)
		for i, f := range list {
			fmt.Fprintf(&b, "    - {analyzer: %s, name: %s", f.Analyzer, called[i])
			in := "the whole repository"
			if f.Under != "" {
				fmt.Fprintf(&b, ", under: %s", print.FlowYAML(f.Under))
				in = f.Under
			}
			b.WriteString("}\n")
			words = append(words, f.Analyzer+" in "+in)
		}
		if len(list) > 1 {
			b.WriteString("    # Analyzers do not see one another: where one reads files of another, say needs: [NAME] in it.\n")
		}
		b.WriteString(t.ignoreHint("") + "steps:\n")
		if !byChecks(&b, ours, "") {
			for i, f := range list {
				t.step(&b, called[i], called[i], f)
			}
		}
	}
	if len(ours) > 0 {
		words = append(words, "verified by GitHub Actions ("+print.OneLine(strings.Join(ours, ", "))+")")
	} else if checks := t.checks(false); len(checks) > 0 {
		fmt.Fprintf(&b, "# Workflows of GitHub Actions report these checks today: %s.\n", print.OneLine(strings.Join(checks, ", ")))
		if i := slices.IndexFunc(checks, func(c string) bool { return !strings.HasSuffix(c, "*") }); i >= 0 {
			fmt.Fprintf(&b, "# A step may wait for one on each build in place of run: checks: [{name: %s, app: %s}],\n"+
				"# once its workflow starts on pushes to the branches \"%s**\".\n", print.FlowYAML(print.OneLine(checks[i])), config.AppActions, buildRefs)
		}
	}
	t.gitlabHint(&b)
	return b.Bytes(), strings.Join(words, "; "), nil
}

// byChecks writes the step that waits for checks of GitHub Actions on the queue's builds,
// and reports whether there are any.
func byChecks(b *bytes.Buffer, checks []string, analyzer string) bool {
	if len(checks) == 0 {
		return false
	}
	b.WriteString("  # The workflows of this repository start on the queue's builds already, so they verify them.\n")
	if analyzer != config.AnalyzerNone {
		b.WriteString("  # Say scope: targets and covers: tree if they run everything on every push: then a pass counts for all targets.\n")
	}
	b.WriteString("  - name: ci\n    checks:\n")
	for _, c := range checks {
		fmt.Fprintf(b, "      - {name: %s, app: %s}\n", print.FlowYAML(print.OneLine(c)), config.AppActions)
	}
	if analyzer != config.AnalyzerNone {
		b.WriteString("    scope: repository\n")
	}
	return true
}

func (t tree) step(b *bytes.Buffer, name, analyzer string, f analyzers.Found) {
	if f.Note != "" {
		fmt.Fprintf(b, "  # %s\n", f.Note)
	}
	fmt.Fprintf(b, "  - name: %s\n", name)
	if analyzer != "" {
		fmt.Fprintf(b, "    analyzer: %s\n", analyzer)
	}
	if lines, more := strings.CutSuffix(f.Run, "\n"); more {
		b.WriteString("    run: |\n")
		for line := range strings.SplitSeq(lines, "\n") {
			b.WriteString("      " + line + "\n")
		}
	} else if command, comment, ok := strings.Cut(f.Run, "     # "); ok {
		fmt.Fprintf(b, "    run: %s     # %s\n", print.YAML(command), comment)
	} else {
		fmt.Fprintf(b, "    run: %s\n", print.YAML(f.Run))
	}
	if f.Report != "" {
		fmt.Fprintf(b, "    report: %s\n", f.Report)
	}
	if len(f.Files) > 0 {
		b.WriteString("    report_files:\n")
		for _, g := range f.Files {
			fmt.Fprintf(b, "      - %s\n", print.FlowYAML(g))
		}
	}
	b.WriteString("    timeout: 30m\n")
	t.cacheHint(b, f)
}
