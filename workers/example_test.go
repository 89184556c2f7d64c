package workers_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/workers"
)

// hello is a Checkouter whose only commit has one file.
type hello struct{}

func (hello) Checkout(_ context.Context, _ queue.CommitID, dir string) (func() error, error) {
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	return func() error { return os.RemoveAll(dir) }, os.WriteFile(filepath.Join(dir, "hello"), []byte("hello\n"), 0o600)
}

func ExamplePool() {
	dir, err := os.MkdirTemp("", "workers")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	pool, err := workers.NewPool(workers.PoolOptions{
		Slots:  1,
		Dir:    dir,
		Name:   "mac",
		Runner: workers.RunnerOptions{Checkout: hello{}},
		Log:    slog.New(slog.DiscardHandler),
	})
	if err != nil {
		panic(err)
	}
	step := config.Step{Name: "greet", Run: "grep -q hello hello", Report: config.ReportExitCode}
	build := queue.Build{
		ID:     "b1",
		Commit: "1f0e",
		Jobs:   []queue.Job{{Step: step, Keys: []queue.Key{{Step: step.Digest(), Target: ".", Hash: "h"}}}},
	}
	if err := pool.Run(context.Background(), build, queue.ActionKey("run", "b1", 1, 0)); err != nil {
		panic(err)
	}
	for body := range pool.Events() {
		switch e := body.(type) {
		case queue.Capacity:
			fmt.Println(e.Slots, "slot")
		case queue.BuildStarted:
			fmt.Println("started on", e.Machine)
		case queue.JobDone:
			fmt.Println("job", e.Outcome)
		case queue.BuildDone:
			fmt.Println("build", e.Outcome, "for", e.Action)
			if err := pool.Close(context.Background()); err != nil {
				panic(err)
			}
		}
	}
	// Output:
	// 1 slot
	// started on mac-1
	// job passed
	// build passed for run/b1/1
}
