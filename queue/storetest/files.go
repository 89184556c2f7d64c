package storetest

import (
	"flag"
	"os"
	"strconv"
)

// FilesInMemory has the temporary folders of a package's tests lie in memory, where the
// machine has a file system there that runs programs and has 2 GB left: git makes and
// removes so many small files that a disk takes three times the processor's time and
// most of the waiting. Call it from TestMain. A TMPDIR that is set is kept.
func FilesInMemory() {
	if os.Getenv("TMPDIR") == "" && fit(inMemory, 2<<30) {
		os.Setenv("TMPDIR", inMemory)
	}
}

// Sample has every property of a package's tests tried so many times, where
// SUBMITQUEUE_REQUIRE does not name "long" and no -rapid.checks says otherwise: each run
// draws other cases, and CI draws as many as the library would. Call it from TestMain.
func Sample(checks int) {
	if !Required("long") {
		if err := flag.Set("rapid.checks", strconv.Itoa(checks)); err != nil {
			panic(err) // the package has no properties
		}
	}
}

// AtOnce has so many of a package's parallel tests run at once, however few processors
// there are, where no -parallel says otherwise: for tests that mostly wait for git, for
// timers and for a forge. Call it from TestMain.
func AtOnce(tests int) {
	if err := flag.Set("test.parallel", strconv.Itoa(tests)); err != nil {
		panic(err) // this is no test
	}
}
