// Command faults shows that the tests find known faults: it puts each fault of
// this directory back into the source, one at a time, and demands that a test
// fails because of it. The source on disk is never changed (go test -overlay), and
// faults that are tested in one package share a test binary (share.go).
//
//	go run ./.ci/faults               puts each fault back and runs its test
//	go run ./.ci/faults -only a3      only the faults with a name that begins so
//	go run ./.ci/faults -of 2         only one fault of two: which, SUBMITQUEUE_SEED says
//	go run ./.ci/faults -checks 1000  draws up to 1000 histories for a property
//	go run ./.ci/faults -apply-check  only compiles each fault
//	go run ./.ci/faults -list         only demands that each fault can be put back
//
// It prints a table and exits with 1 where a test does not find its fault, or
// where a fault cannot be put back because the source has changed: then its file
// is to be brought up to date, with the fault as it would be written today.
//
// # Fault files
//
// A fault is one txtar file; its name without .txt is the fault's. The comment
// at its beginning has a line for each of
//
//	what: what is wrong, in one line
//	test: go test PACKAGE... -run PATTERN (further flags of go test may follow)
//	expect: what the output of the failing test contains
//
// and each part is named after a file of the repository. It holds a text that
// the file contains exactly once, a line "====", and what stands in its place. Parts
// of one name are applied one after the other.
//
// A fault is to be found by a property of random histories (pgregory.net/rapid)
// within the histories of seed 1, in .ci/run, too. The table says how many were drawn; "-"
// stands for a test that draws none. The findings A1 to A9 of the review come first.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/submitqueue/submitqueue/queue/storetest"
)

// dir is where the fault files are, from the top of the repository.
const dir = ".ci/faults"

func main() {
	var o options
	only := flag.String("only", "", "only the faults whose names begin so")
	flag.IntVar(&o.of, "of", 1, "one fault of so many, drawn by SUBMITQUEUE_SEED")
	flag.IntVar(&o.checks, "checks", 0, "histories to draw for each property; 0: as many as a plain go test")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of the histories; 0: another one each time")
	flag.IntVar(&o.jobs, "jobs", 2, "faults at a time")
	flag.DurationVar(&o.timeout, "timeout", 5*time.Minute, "how long a test may take")
	flag.BoolVar(&o.compile, "apply-check", false, "compile each fault, and run nothing")
	flag.BoolVar(&o.list, "list", false, "put each fault back in memory only, compile and run nothing")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *only, o); err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		os.Exit(1)
	}
}

// options say how faults are put back.
type options struct {
	of            int
	checks        int
	seed          uint64
	jobs          int
	timeout       time.Duration
	compile, list bool
}

// run puts back the faults with names that begin with a prefix and prints the table.
// The error says how many of them were not found.
func run(ctx context.Context, prefix string, o options) error {
	paths, err := filepath.Glob(filepath.Join(dir, prefix+"*.txt"))
	if err != nil {
		return err
	}
	if len(paths) == 0 {
		return fmt.Errorf("no file %s/%s*.txt: run from the top of the repository", dir, prefix)
	}
	temp, err := os.MkdirTemp("", "faults")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	var faults []fault
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		f, err := parse(path, data)
		if err != nil {
			return err
		}
		if o.of <= 1 || storetest.Draws(f.id).IntN(o.of) == 0 {
			faults = append(faults, f)
		}
	}
	slices.SortStableFunc(faults, func(a, b fault) int { return cmp.Compare(a.finding(), b.finding()) })
	binaries := binaries(ctx, faults, temp, o)
	results := make([]result, len(faults))
	var g errgroup.Group
	g.SetLimit(max(o.jobs, 1))
	for i, f := range faults {
		g.Go(func() error {
			pkg, _, _ := f.target()
			r := try(ctx, f, binaries[pkg], filepath.Join(temp, strconv.Itoa(i)), o)
			results[i] = r
			fmt.Fprintf(os.Stderr, "%s: %s\n", r.id, r.word())
			return nil
		})
	}
	g.Wait()
	return report(results)
}

// binaries compiles, for each package with tests of several faults, the test binary
// that these share.
func binaries(ctx context.Context, faults []fault, temp string, o options) map[string]shared {
	of := map[string][]fault{}
	for _, f := range faults {
		if pkg, _, ok := f.target(); ok && !o.compile && !o.list {
			of[pkg] = append(of[pkg], f)
		}
	}
	var mu sync.Mutex
	out := map[string]shared{}
	var g errgroup.Group
	g.SetLimit(max(o.jobs, 1))
	for i, pkg := range slices.Sorted(maps.Keys(of)) {
		g.Go(func() error {
			s, err := build(ctx, pkg, of[pkg], filepath.Join(temp, fmt.Sprint("shared", i)))
			if err != nil {
				fmt.Fprintf(os.Stderr, "%s: each of its faults is compiled by itself: %v\n", pkg, err)
			}
			mu.Lock()
			defer mu.Unlock()
			out[pkg] = s
			return nil
		})
	}
	g.Wait()
	return out
}

// finding returns the finding of the review that a fault stands for, as A1 to A9; "B" for all
// other faults, which come last.
func (f fault) finding() string {
	if m := reviewed.FindStringSubmatch(f.id); m != nil {
		return "A" + m[1]
	}
	return "B"
}

var reviewed = regexp.MustCompile(`^a([1-9])-`)

// word is the result in a word or two.
func (r result) word() string {
	if r.err != nil {
		return "WRONG"
	}
	return r.outcome
}

// report prints the table, and what is wrong below it.
func report(results []result) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "FINDING\tFAULT\tTEST\tOUTCOME\tHISTORIES\tSECONDS")
	missed := 0
	for _, r := range results {
		if r.err != nil {
			missed++
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%.1f\n", strings.TrimPrefix(r.finding(), "B"), r.id, strings.TrimPrefix(r.test, "go test "), r.word(), r.histories, r.took.Seconds())
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, r := range results {
		if r.err != nil {
			fmt.Printf("\n%s (%s): %v\n", r.id, r.what, r.err)
		}
	}
	if missed > 0 {
		return fmt.Errorf("%d of %d are not as they should be", missed, len(results))
	}
	return nil
}
