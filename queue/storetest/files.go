package storetest

import (
	"flag"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// FilesInMemory puts the temporary folders of a package's tests in memory, if the
// machine has a file system there that can run programs and has 2 GB left: git makes
// and removes so many small files that a disk takes three times the processor's time
// and most of the waiting. Call it from TestMain. A TMPDIR that is set is kept.
func FilesInMemory() {
	if os.Getenv("TMPDIR") == "" && fit(inMemory, 2<<30) {
		os.Setenv("TMPDIR", inMemory)
	}
}

// Sample lets every property of a package's tests be tried so many times, and three times as
// many where SUBMITQUEUE_SEED is set, as in CI. It does nothing where SUBMITQUEUE_REQUIRE names
// "long", which is as many as the library does by default, or where -rapid.checks says otherwise.
// Each run draws other cases. Call it from TestMain.
func Sample(checks int) {
	if os.Getenv("SUBMITQUEUE_SEED") != "" {
		checks *= 3
	}
	if !Required("long") {
		if err := flag.Set("rapid.checks", strconv.Itoa(checks)); err != nil {
			panic(err) // the package has no properties
		}
	}
}

// AtOnce lets so many of a package's parallel tests run at once, even on few
// processors, unless -parallel says otherwise: for tests that mostly wait for git, for
// timers and for a forge. Call it from TestMain.
func AtOnce(tests int) {
	if err := flag.Set("test.parallel", strconv.Itoa(tests)); err != nil {
		panic(err) // this is no test
	}
}

// OneOf leaves out a costly test, or a case of many that are alike, by its draw: all but one
// time of n. It leaves out nothing where SUBMITQUEUE_REQUIRE names "long" or "every", or where
// tests or benchmarks were asked for by name (go test -run, -bench). A test is drawn once: what it
// or a case of it asks later counts no more.
func OneOf(t testing.TB, n int) {
	t.Helper()
	for name := t.Name(); ; name = name[:strings.LastIndexByte(name, '/')] {
		if _, known := inThisRun.Load(name); known {
			return
		}
		if !strings.Contains(name, "/") {
			break
		}
	}
	if !Drawn(t.Name(), n) {
		t.Skipf("a plain go test runs one of %d of these; SUBMITQUEUE_REQUIRE=long, or -run, runs each", n)
	}
	inThisRun.Store(t.Name(), true)
}

var inThisRun sync.Map // names of tests that were drawn

// Drawn says what [OneOf] says, for a named case that is no test of its own.
func Drawn(name string, n int) bool {
	byName := flag.Lookup("test.run").Value.String()+flag.Lookup("test.bench").Value.String() != ""
	return byName || Required("long") || Required("every") || Draws(name).IntN(n) == 0
}

// Draws is the randomness of a named test: other numbers in each run, and the same ones in each
// run with the same SUBMITQUEUE_SEED, so that one tree has one result.
func Draws(name string) *rand.Rand {
	seed := os.Getenv("SUBMITQUEUE_SEED")
	if seed == "" {
		return rand.New(rand.NewPCG(rand.Uint64(), 0))
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(seed + " " + name))
	return rand.New(rand.NewPCG(h.Sum64(), 0))
}
