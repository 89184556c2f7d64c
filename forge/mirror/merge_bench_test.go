package mirror_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
)

// large is a repository of 10,000 files in 100 directories and n heads that
// change three files each, while main has moved on since they began.
func large(b *testing.B, n int) (*repo, *mirror.Mirror, queue.CommitID, []queue.CommitID) {
	b.Helper()
	r := newRepo(b)
	var s strings.Builder
	write := func(format string, args ...any) { fmt.Fprintf(&s, format, args...) }
	start := func(branch, from string) {
		write("commit refs/heads/%s\ncommitter A <a@x> 1700000000 +0000\ndata 1\nm\n%s", branch, from)
	}
	file := func(i int, content string) {
		write("M 100644 inline d%02d/s%d/f%04d.txt\ndata %d\n%s\n", i%100, i/1000, i, len(content), content)
	}
	start("main", "")
	for i := range 10_000 {
		file(i, lines(20, map[int]string{0: fmt.Sprint(i)}))
	}
	for h := range n {
		start(fmt.Sprintf("h%d", h), "from refs/heads/main\n")
		for k := range 3 {
			i := 7 + h*17 + k
			file(i, lines(20, map[int]string{0: fmt.Sprint(i), 10: fmt.Sprintf("head %d", h)}))
		}
	}
	start("main", "")
	file(0, "moved on")
	write("done\n")
	r.run(s.String(), "fast-import", "--quiet", "--done")
	m := openMirror(b)
	base := must(m.Remotes.FetchBranch(b.Context(), r.remote(), "main"))(b)
	heads := make([]queue.CommitID, n)
	refs := make([]mirror.HeadRef, n)
	for h, line := range strings.Split(r.run("", "for-each-ref", "--format=%(refname) %(objectname)", "refs/heads/h*"), "\n") {
		name, id, _ := strings.Cut(line, " ")
		refs[h] = mirror.HeadRef{Ref: name, Want: queue.CommitID(id)}
		heads[h] = queue.CommitID(id)
	}
	for _, err := range must(m.Remotes.FetchHeads(b.Context(), r.remote(), refs))(b) {
		if err != nil {
			b.Fatal(err)
		}
	}
	return r, m, base, heads
}

// cpu is what this process and its ended children have used.
func cpu() time.Duration {
	var total time.Duration
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if syscall.Getrusage(who, &u) == nil {
			total += time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
	}
	return total
}

func picks(base queue.CommitID, heads []queue.CommitID, salt int) []mirror.Pick {
	ps := make([]mirror.Pick, len(heads))
	for i, h := range heads {
		ps[i] = mirror.Pick{Parent: base, Head: h, Message: fmt.Sprintf("merge %d\n", salt), Date: queue.Instant(1_800_000_000_000 + salt*1000)}
	}
	return ps
}

// measure runs f in fresh mirrors' processes and reports time and CPU for one
// of the n things that f does. Persistent children are ended to be counted.
func measure(b *testing.B, m *mirror.Mirror, n int, f func(i int)) {
	b.Helper()
	b.ResetTimer()
	before := cpu()
	for i := range b.N {
		f(i)
	}
	b.StopTimer()
	m.Close()
	b.ReportMetric(float64((cpu()-before).Microseconds())/float64(b.N*n), "cpu-µs/each")
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*n), "µs/each")
}

func BenchmarkWave500(b *testing.B) {
	_, m, base, heads := large(b, 500)
	measure(b, m, 500, func(i int) {
		m.Forget()
		for _, r := range must(m.Merges.MergeWave(b.Context(), picks(base, heads, i)))(b) {
			if !r.Clean() || r.Empty {
				b.Fatalf("%+v", r)
			}
		}
	})
}

func BenchmarkChain100(b *testing.B) {
	_, m, base, heads := large(b, 100)
	measure(b, m, 100, func(i int) {
		if rs := must(m.Merges.MergeChain(b.Context(), base, picks(base, heads, i)))(b); len(rs) != 100 || !rs[99].Clean() {
			b.Fatalf("%+v", rs[len(rs)-1])
		}
	})
}

func BenchmarkListing(b *testing.B) {
	_, m, base, heads := large(b, 100)
	rs := must(m.Merges.MergeChain(b.Context(), base, picks(base, heads, 0)))(b)
	measure(b, m, 100, func(i int) {
		m.Forget()
		for _, r := range rs {
			tree := must(m.Objects.Tree(b.Context(), r.Commit))(b)
			if files := must(tree.Files(b.Context()))(b); len(files) != 10_000 {
				b.Fatal(len(files))
			}
		}
	})
}

func BenchmarkPush(b *testing.B) {
	r, m, base, heads := large(b, 1)
	measure(b, m, 1, func(i int) {
		rs := must(m.Merges.MergeWave(b.Context(), picks(base, heads, i)))(b)
		r.point("main", base)
		if o := must(m.Remotes.Push(b.Context(), r.remote(), "main", base, rs[0].Commit))(b); !o.Moved {
			b.Fatalf("%+v", o)
		}
	})
}

func BenchmarkFetchHead(b *testing.B) {
	r, m, base, _ := large(b, 1)
	measure(b, m, 1, func(i int) {
		head := r.commit("x", fmt.Sprint(i), files{"d00/new": fmt.Sprint(i)}, base)
		if err := m.Remotes.FetchHead(b.Context(), r.remote(), "refs/heads/x", head); err != nil {
			b.Fatal(err)
		}
	})
}

func BenchmarkFetchHeads50(b *testing.B) {
	r, m, base, _ := large(b, 1)
	var s strings.Builder
	heads := make([][]mirror.HeadRef, b.N)
	for i := range b.N * 50 {
		fmt.Fprintf(&s, "commit refs/heads/y%d\ncommitter A <a@x> 1 +0000\ndata 1\nm\nfrom %s\nM 644 inline d00/n%d\ndata 2\nxx\n", i, base, i)
	}
	r.run(s.String(), "fast-import", "--quiet")
	for i := range b.N * 50 {
		ref := fmt.Sprintf("refs/heads/y%d", i)
		heads[i/50] = append(heads[i/50], mirror.HeadRef{Ref: ref, Want: r.tip(ref[len("refs/heads/"):])})
	}
	measure(b, m, 50, func(i int) { must(m.Remotes.FetchHeads(b.Context(), r.remote(), heads[i]))(b) })
}

func BenchmarkCheckoutNear(b *testing.B) {
	_, m, base, heads := large(b, 20)
	rs := must(m.Merges.MergeWave(b.Context(), picks(base, heads, 0)))(b)
	dir := b.TempDir()
	must(m.Checkout(b.Context(), base, dir))(b)()
	measure(b, m, 1, func(i int) {
		if err := must(m.Checkout(b.Context(), rs[i%20].Commit, dir))(b)(); err != nil {
			b.Fatal(err)
		}
	})
}

func BenchmarkFetchBranchUnmoved(b *testing.B) {
	r, m, _, _ := large(b, 1)
	measure(b, m, 1, func(int) { must(m.Remotes.FetchBranch(b.Context(), r.remote(), "main"))(b) })
}
