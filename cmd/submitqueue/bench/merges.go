package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
)

// benchMerges makes speculative merges in a large repository, through the
// mirror that the server merges in. Each round begins with an empty mirror.
type benchMerges struct {
	Size   int    `name:"files" default:"10000" help:"Files on main."`
	Wave   int    `default:"500" help:"Independent merges."`
	Chain  int    `default:"100" help:"Merges, each on the one before."`
	Rounds int    `default:"3" help:"Do it all again; the figures are the median's."`
	JSON   string `name:"json" help:"Write the figures to a file." placeholder:"FILE" type:"path"`
}

// mergeFigures are the figures of `bench merges`: the round with the median
// wall time of each kind, in seconds. CPU is the bench's own with its git
// processes.
type mergeFigures struct {
	Files   int         `json:"files"`
	Wave    mergeFigure `json:"wave"`
	Chain   mergeFigure `json:"chain"`
	Machine machine     `json:"machine"`
}

type mergeFigure struct {
	Merges int     `json:"merges"`
	Wall   float64 `json:"wall_seconds"`
	CPU    float64 `json:"cpu_seconds"`
}

// String is the figure for people.
func (f mergeFigure) String() string {
	return fmt.Sprintf("%d in %.3f s, CPU %.3f s", f.Merges, f.Wall, f.CPU)
}

// Run implements the command.
func (b *benchMerges) Run(ctx context.Context) error {
	if b.Size < 1 || b.Wave < 1 || b.Chain < 1 || b.Rounds < 1 {
		return errors.New("all counts are at least 1")
	}
	dir, err := os.MkdirTemp("", "submitqueue-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	repo, err := makeBenchRepo(ctx, filepath.Join(dir, "bench.git"),
		benchShape{Files: b.Size, Areas: min(100, b.Size), Changes: max(b.Wave, b.Chain), Commits: 3, Moved: true})
	if err != nil {
		return err
	}
	f := mergeFigures{Files: b.Size, Machine: machineOf(dir)}
	fmt.Printf("speculative merges into main of %d files; %s\n", b.Size, f.Machine)
	var waves, chains []mergeFigure
	for i := range b.Rounds {
		wave, err := repo.merges(ctx, filepath.Join(dir, fmt.Sprintf("wave-%d", i)), b.Wave, (*mirror.Merges).MergeWave)
		if err != nil {
			return err
		}
		chain, err := repo.merges(ctx, filepath.Join(dir, fmt.Sprintf("chain-%d", i)), b.Chain,
			func(m *mirror.Merges, ctx context.Context, picks []mirror.Pick) ([]mirror.Merged, error) {
				return m.MergeChain(ctx, picks[0].Parent, picks)
			})
		if err != nil {
			return err
		}
		fmt.Printf("  independent: %s;  a chain: %s\n", wave, chain)
		waves, chains = append(waves, wave), append(chains, chain)
	}
	f.Wave, f.Chain = medianMerge(waves), medianMerge(chains)
	return print.Figures(b.JSON, f)
}

func medianMerge(all []mergeFigure) mergeFigure {
	return slices.SortedFunc(slices.Values(all), func(a, b mergeFigure) int { return cmp.Compare(a.Wall, b.Wall) })[(len(all)-1)/2]
}

// merges measures n merges in a new mirror that has main and the heads.
func (r *benchRepo) merges(ctx context.Context, dir string, n int,
	merge func(*mirror.Merges, context.Context, []mirror.Pick) ([]mirror.Merged, error)) (f mergeFigure, err error) {
	m, err := mirror.Open(ctx, dir)
	if err != nil {
		return f, err
	}
	closed := false
	defer func() {
		if !closed {
			err = errors.Join(err, m.Close())
		}
	}()
	remote := forge.Remote{URL: r.dir}
	main, err := m.Remotes.FetchBranch(ctx, remote, "main")
	if err != nil {
		return f, err
	}
	refs, picks := make([]mirror.HeadRef, n), make([]mirror.Pick, n)
	for i, name := range r.names[:n] {
		head := queue.CommitID(r.heads[name])
		refs[i] = mirror.HeadRef{Ref: "refs/heads/" + name, Want: head}
		picks[i] = mirror.Pick{Parent: main, Head: head, Message: "Merge " + name, Date: 1_800_000_000_000}
	}
	fetched, err := m.Remotes.FetchHeads(ctx, remote, refs)
	if err = errors.Join(append(fetched, err)...); err != nil {
		return f, err
	}
	before, begun := usedCPU(), time.Now()
	made, err := merge(m.Merges, ctx, picks)
	took := time.Since(begun)
	closed = true
	if err := errors.Join(err, m.Close()); err != nil { // its git processes count once they have ended
		return f, err
	}
	for i, one := range made {
		if !one.Clean() || one.Empty || len(made) != n {
			return f, fmt.Errorf("merge %d of %d is not what it should be: %+v", i+1, n, one)
		}
	}
	return mergeFigure{Merges: n, Wall: seconds(took), CPU: seconds(usedCPU() - before)}, nil
}

// usedCPU is what this process and its children that have ended have used.
func usedCPU() time.Duration {
	var used time.Duration
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if syscall.Getrusage(who, &u) == nil {
			used += time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
	}
	return used
}
