package speculation

import (
	"flag"
	"os"
	"runtime/debug"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/queue/storetest"
)

// long says that SUBMITQUEUE_REQUIRE asks for every history: without it, the properties
// are tried on fewer, and a rare case need not be among them.
var long = storetest.Required("long")

// rounds draws n times as many histories as rapid.checks says. Where the seed is given, each
// round has another one: the same would draw the same histories.
func rounds(t *testing.T, n int, check func(*rapid.T)) {
	t.Helper()
	given := flag.Lookup("rapid.seed").Value.String()
	seed, err := strconv.ParseUint(given, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if seed != 0 {
			if err := flag.Set("rapid.seed", strconv.FormatUint(seed+uint64(i)*0x9e3779b97f4a7c15, 10)); err != nil {
				t.Fatal(err)
			}
		}
		rapid.Check(t, check)
	}
	if err := flag.Set("rapid.seed", given); err != nil {
		t.Fatal(err)
	}
}

func TestMain(m *testing.M) {
	storetest.Sample(12)
	if !long {
		for name, seeds := range map[string]string{"histories": "0:100", "red-histories": "0:10", "wide-histories": "0:20"} {
			if err := flag.Set(name, seeds); err != nil {
				panic(err)
			}
		}
	}
	// the histories drawn follow from the tree under test: one commit has one result
	if seed := os.Getenv("SUBMITQUEUE_SEED"); seed != "" {
		if err := flag.Set("rapid.seed", seed); err != nil {
			panic(err)
		}
	}
	debug.SetGCPercent(400) // a small heap with much garbage
	m.Run()
}

// go test keeps results by what tests read of the environment, and does not see what is
// read before they begin: a result of one seed, or of a sample, is none of another.
func TestResultsAreOfOneSeed(t *testing.T) {
	t.Log(os.Getenv("SUBMITQUEUE_SEED"), os.Getenv("SUBMITQUEUE_REQUIRE"))
}
