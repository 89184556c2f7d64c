package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
)

// fault is one fault file.
type fault struct {
	id, what, test, expect string
	parts                  []part
}

// part is one replacement in a file.
type part struct {
	file     string // from the top of the repository
	old, new string
}

// parse reads a fault file.
func parse(path string, data []byte) (fault, error) {
	a := txtar.Parse(data)
	f := fault{id: strings.TrimSuffix(filepath.Base(path), ".txt")}
	fields := map[string]*string{"what": &f.what, "test": &f.test, "expect": &f.expect}
	for line := range strings.Lines(string(a.Comment)) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), ":")
		switch field := fields[name]; {
		case strings.TrimSpace(line) == "":
		case !ok || field == nil:
			return f, fmt.Errorf("%s: %q is none of the lines what, test and expect", path, strings.TrimSpace(line))
		default:
			*field = strings.TrimSpace(value)
		}
	}
	for _, name := range []string{"what", "test", "expect"} {
		if *fields[name] == "" {
			return f, fmt.Errorf("%s has no line %s", path, name)
		}
	}
	if !strings.HasPrefix(f.test, "go test ") {
		return f, fmt.Errorf("%s: its test does not begin with \"go test \"", path)
	}
	for _, x := range a.Files {
		before, after, ok := strings.Cut("\n"+string(x.Data), "\n====\n")
		before = strings.TrimPrefix(before, "\n")
		if !ok || before == "" {
			return f, fmt.Errorf("%s: the part %s is not an old text, a line ==== and a new text", path, x.Name)
		}
		f.parts = append(f.parts, part{file: x.Name, old: before, new: strings.TrimSuffix(after, "\n")})
	}
	if len(f.parts) == 0 {
		return f, fmt.Errorf("%s replaces nothing", path)
	}
	return f, nil
}

// apply returns the files of the repository with the fault in them. It reads
// them with the given function.
func (f fault) apply(read func(file string) ([]byte, error)) (map[string]string, error) {
	out := map[string]string{}
	for _, p := range f.parts {
		text, ok := out[p.file]
		if !ok {
			data, err := read(p.file)
			if err != nil {
				return nil, err
			}
			text = string(data)
		}
		if n := strings.Count(text, p.old); n != 1 {
			return nil, fmt.Errorf("%s holds the old text %d times, not once:\n%s", p.file, n, p.old)
		}
		out[p.file] = strings.Replace(text, p.old, p.new, 1)
	}
	return out, nil
}

// overlay writes the files with the fault in them, and the list of them that
// the go command takes, into a directory that it makes; it returns the list's path.
func overlay(files map[string]string, temp string) (string, error) {
	if err := os.MkdirAll(temp, 0o755); err != nil {
		return "", err
	}
	replace := map[string]string{}
	for file, text := range files {
		full, err := filepath.Abs(file)
		if err != nil {
			return "", err
		}
		copied := filepath.Join(temp, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(copied, []byte(text), 0o644); err != nil {
			return "", err
		}
		replace[full] = copied
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	list := filepath.Join(temp, "overlay.json")
	return list, os.WriteFile(list, data, 0o644)
}

// result is the outcome of one fault. err is set if the fault was not found.
type result struct {
	fault
	outcome   string
	histories string
	took      time.Duration
	err       error
}

// try puts one fault back as the options say, in the test binary that holds it or in
// one of its own.
func try(ctx context.Context, f fault, s shared, temp string, o options) (r result) {
	begin := time.Now()
	r.fault, r.histories = f, "-"
	defer func() { r.took = time.Since(begin) }()
	if s.holds(f.id) {
		ctx, cancel := context.WithTimeout(ctx, o.timeout)
		defer cancel()
		out, err := s.command(ctx, f, o)
		r.judge(out, err, o)
		return r
	}
	files, err := r.apply(os.ReadFile)
	if err != nil {
		r.err = err
		return r
	}
	if o.list {
		r.outcome = "can be put back"
		return r
	}
	list, err := overlay(files, temp)
	if err != nil {
		r.err = err
		return r
	}
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	out, err := r.command(ctx, list, o)
	r.judge(out, err, o)
	return r
}

// command runs the fault's test, or only compiles it, and returns what it printed.
func (f fault) command(ctx context.Context, list string, o options) (string, error) {
	args := append([]string{"test", "-overlay=" + list, "-vet=off", "-count=1"}, strings.Fields(f.test)[2:]...)
	if o.compile {
		args = append(args, "-run=^$")
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = o.environment()
	return printed(ctx, cmd)
}

// printed runs a command of a context and returns what it printed.
func printed(ctx context.Context, cmd *exec.Cmd) (string, error) {
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = waitDelay
	err := cmd.Run()
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return out.String(), err
}

// waitDelay is how long a test that is out of time has to end.
const waitDelay = 10 * time.Second

// environment has tests print a failing history, and neither save it nor make it smaller.
func (o options) environment() []string {
	// The seed of the tree under test would go before this one, and not each tree is lucky.
	env := append(os.Environ(), "SUBMITQUEUE_SEED=", "RAPID_NOFAILFILE=true", "RAPID_SHRINKTIME=0s", fmt.Sprint("RAPID_SEED=", o.seed))
	if o.checks > 0 {
		env = append(env, fmt.Sprint("RAPID_CHECKS=", o.checks))
	}
	return env
}

var (
	drawn = regexp.MustCompile(`(?:\[rapid\] failed|fails,) after (\d+) `) // by rapid, and by TestHistories of speculation
	noRun = regexp.MustCompile(`no tests to run|\[no test files\]`)
)

// judge sets the outcome from the output of the test.
func (r *result) judge(out string, err error, o options) {
	var exit *exec.ExitError
	switch {
	case err != nil && !errors.As(err, &exit):
		r.err = err
	case strings.Contains(out, "[build failed]"), strings.Contains(out, "[setup failed]"):
		r.err = fmt.Errorf("it does not compile:\n%s", tail(out))
	case o.compile && err == nil:
		r.outcome = "compiles"
	case o.compile:
		r.err = fmt.Errorf("%w:\n%s", err, tail(out))
	case noRun.MatchString(out):
		r.err = errors.New("its pattern matches no test")
	case err == nil:
		r.err = errors.New("its test passes: the fault is not found")
	case !strings.Contains(out, r.expect):
		r.err = fmt.Errorf("its test fails, and does not say %q:\n%s", r.expect, tail(out))
	default:
		r.outcome = "found"
		if m := drawn.FindStringSubmatch(out); m != nil {
			r.histories = m[1]
		}
	}
}

// tail returns the last lines of a text.
func tail(out string) string {
	lines := strings.Split(strings.TrimRight(out, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-30):], "\n")
}
