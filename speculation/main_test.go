package speculation

import (
	"flag"
	"os"
	"runtime/debug"
	"testing"

	"github.com/submitqueue/submitqueue/queue/storetest"
)

// long says that SUBMITQUEUE_REQUIRE asks for every history: without it, the properties
// are tried on fewer, and a rare case need not be among them.
var long = storetest.Required("long")

func TestMain(m *testing.M) {
	storetest.Sample(20)
	if !long {
		for name, seeds := range map[string]string{"histories": "0:100", "red-histories": "0:10"} {
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
