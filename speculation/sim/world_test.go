package sim_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/submitqueue/submitqueue/speculation/sim"
)

// mustWorld reads one of the given worlds.
func mustWorld(t testing.TB, name string) *sim.World {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name+".jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := sim.ReadWorld(f)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// mustWrite returns a world's file.
func mustWrite(t testing.TB, w *sim.World) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := sim.WriteWorld(&b, w); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func mustUnpack(t testing.TB, packed []byte) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestGivenWorldsSurviveTheRound(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"e-500", "large-500", "e-100"} {
		w := mustWorld(t, name)
		packed := mustWrite(t, w)
		if again := mustWrite(t, w); !bytes.Equal(packed, again) {
			t.Errorf("%s: the same world makes other bytes", name)
		}
		back, err := sim.ReadWorld(bytes.NewReader(packed))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if d := cmp.Diff(w, back); d != "" {
			t.Errorf("%s is not what was written:\n%s", name, d)
		}
		plain, err := sim.ReadWorld(bytes.NewReader(mustUnpack(t, packed)))
		if err != nil {
			t.Fatalf("%s, not packed: %v", name, err)
		}
		if d := cmp.Diff(w, plain); d != "" {
			t.Errorf("%s, not packed, is another:\n%s", name, d)
		}
	}
}

func TestWorldsBeyondTheGivenSurviveTheRound(t *testing.T) {
	w := mustGenerate(t, func(p *sim.Params) {
		p.Changes, p.Flaky, p.ExternalPush, p.TreeStepMin, p.Large, p.Conflict = 200, 0.01, 60, 3, 0.05, 0.3
	})
	if len(w.Pushes) == 0 {
		t.Fatal("nothing was pushed from outside")
	}
	back, err := sim.ReadWorld(bytes.NewReader(mustWrite(t, w)))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(w, back); d != "" {
		t.Error(d)
	}
}

const (
	goodHeader = `{"world":1,"seed":1,"changes":2,"rate_per_hour":60,"arrivals":"fixed","large_share":0,"overhead_min":4,"targets":[{"cost_min":1,"group":0},{"cost_min":1,"group":0}]}`
	goodFirst  = `{"id":0,"arrive_min":0,"duration_min":30,"large":false,"targets":[0,1],"broken_target":-1,"conflicts":[],"predicted":{"success":0.9,"duration_min":30,"duration_sd_min":1,"conflicts":[]}}`
	goodSecond = `{"id":1,"arrive_min":1,"duration_min":30,"large":false,"targets":[1],"broken_target":-1,"conflicts":[{"with":0,"target":1}],"predicted":{"success":0.9,"duration_min":30,"duration_sd_min":1,"conflicts":[{"with":0,"p":0.5}]}}`
)

func TestReaderNamesTheLine(t *testing.T) {
	good := goodHeader + "\n" + goodFirst + "\n" + goodSecond + "\n"
	if _, err := sim.ReadWorld(strings.NewReader(good)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, from, to, want string }{
		{"empty", good, "", "line 1: the world is empty"},
		{"no JSON", goodFirst, "{", "line 2: it ends in the middle"},
		{"another format", `"world":1`, `"world":2`, "line 1: world format 2"},
		{"an unknown member", `"seed":1`, `"sead":1`, `line 1: json: unknown field "sead"`},
		{"two values", goodFirst, goodFirst + goodFirst, "line 2: there is more than one value"},
		{"too few", goodSecond + "\n", "", "line 2: the header promises 2 changes and there are 1"},
		{"a wrong id", `"id":1`, `"id":7`, "line 3: change 7 is at place 1"},
		{"back in time", `"arrive_min":1`, `"arrive_min":-1`, "line 3: change 1 arrives before"},
		{"no targets", `"targets":[1]`, `"targets":[]`, "line 3: change 1 affects no target"},
		{"an unknown target", `"targets":[1]`, `"targets":[2]`, "line 3: change 1: target 2 is unknown"},
		{"targets out of order", `"targets":[0,1]`, `"targets":[1,0]`, "line 2: change 0: target 0 is unknown or out of order"},
		{"broken elsewhere", `"targets":[1],"broken_target":-1`, `"targets":[1],"broken_target":0`, "line 3: change 1 is broken at target 0"},
		{"a conflict with the future", `{"with":0,"target":1}`, `{"with":1,"target":1}`, "line 3: change 1: no conflict with 1"},
		{"a conflict elsewhere", `{"with":0,"target":1}`, `{"with":0,"target":0}`, "line 3: change 1: no conflict with 0 at target 0"},
		{"no chance", `"p":0.5`, `"p":1.5`, "line 3: change 1: a conflict with 0 of 1.5"},
		{"no prediction", `"success":0.9,"duration_min":30,"duration_sd_min":1,"conflicts":[]`, `"success":2,"duration_min":30,"duration_sd_min":1,"conflicts":[]`, "line 2: change 0: the prediction"},
		{"no duration", `"arrive_min":0,"duration_min":30`, `"arrive_min":0,"duration_min":0`, "line 2: change 0 takes 0 minutes"},
		{"no end", `"arrive_min":0,"duration_min":30`, `"arrive_min":0,"duration_min":1e11`, "line 2: change 0 takes 1e+11 minutes"},
		{"an endless prediction", `"success":0.9,"duration_min":30`, `"success":0.9,"duration_min":1e11`, "line 2: change 0: the prediction"},
		{"no changes", goodHeader + "\n" + goodFirst + "\n" + goodSecond, strings.Replace(goodHeader, `"changes":2`, `"changes":0`, 1), "line 1: the world has no changes"},
		{"free work", `{"cost_min":1,"group":0},`, `{"cost_min":0,"group":0},`, "line 1: target 0 costs 0"},
		{"broken gzip", good, "\x1f\x8bnot gzip", "line 1: this is no gzip"},
	} {
		text := strings.Replace(good, c.from, c.to, 1)
		if _, err := sim.ReadWorld(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", c.name, err, c.want)
		}
	}
}

// FuzzReadWorld: whatever is read without an error can be written, read again,
// and replayed.
func FuzzReadWorld(f *testing.F) {
	f.Add([]byte(goodHeader + "\n" + goodFirst + "\n" + goodSecond + "\n"))
	f.Add([]byte(goodHeader))
	f.Add([]byte("\x1f\x8b"))
	f.Fuzz(func(t *testing.T, data []byte) {
		w, err := sim.ReadWorld(bytes.NewReader(data))
		if err != nil {
			return
		}
		back, err := sim.ReadWorld(bytes.NewReader(mustWrite(t, w)))
		if err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		if d := cmp.Diff(w, back); d != "" {
			t.Fatal(d)
		}
		if m := mustMeasure(t, w, "oracle", sim.Options{Workers: 2}); m.Bad() {
			t.Fatalf("the oracle is wrong: %+v", m)
		}
	})
}
