package workers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// rustSample is a crate whose code takes a compiler some time.
func rustSample() tree {
	var b strings.Builder
	b.WriteString("use std::collections::BTreeMap;\n")
	for i := range 150 {
		fmt.Fprintf(&b, "#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]\npub struct S%d { pub a: String, pub b: Vec<u64>, pub c: BTreeMap<String, u64> }\n", i)
	}
	return tree{
		"Cargo.toml":     "[workspace]\nmembers = [\"app\", \"lib\"]\nresolver = \"2\"\n",
		"lib/Cargo.toml": "[package]\nname = \"lib\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
		"lib/src/lib.rs": b.String(),
		"app/Cargo.toml": "[package]\nname = \"app\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[dependencies]\nlib = { path = \"../lib\" }\n",
		"app/src/lib.rs": "#[test]\nfn t() { assert_eq!(lib::S1::default(), lib::S1::default()); }\n",
	}
}

// stable is a tree whose files are always of the same time: of those that have not changed
// between two commits, the mirror keeps that as well.
type stable struct{ tree }

// Checkout implements Checkouter.
func (s stable) Checkout(ctx context.Context, commit queue.CommitID, dir string) (func() error, error) {
	release, err := s.tree.Checkout(ctx, commit, dir)
	at := time.Unix(1_700_000_000, 0)
	for name := range s.tree {
		err = errors.Join(err, os.Chtimes(filepath.Join(dir, name), at, at))
	}
	return release, err
}

// BenchmarkCaches runs the tests of a Rust workspace twice on one runner: `go test ./workers
// -run NONE -bench Caches` prints how long the second build takes with and without caches.
func BenchmarkCaches(b *testing.B) {
	if _, err := exec.LookPath("cargo"); err != nil {
		b.Skip("it needs cargo")
	}
	for name, bytes := range map[string]int64{"without": 0, "with": 1 << 30} {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				r, err := NewRunner(RunnerOptions{Dir: b.TempDir() + "/slot", Checkout: stable{rustSample()}, Caches: Caches{Bytes: bytes}, Log: quiet(), Env: os.Environ()})
				if err != nil {
					b.Fatal(err)
				}
				build := of("q", cached("cargo test --offline -q", nil, "target"))
				for i := range 2 {
					begin := time.Now()
					if res := execute(b.Context(), r, build); res.end.Outcome != queue.JobPassed {
						b.Fatalf("%+v\n%s", res.end, res.log)
					}
					b.ReportMetric(time.Since(begin).Seconds(), fmt.Sprintf("s/build%d", i+1))
				}
			}
		})
	}
}
