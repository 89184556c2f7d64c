package plan

import (
	"fmt"
	"os"
)

var dbg = os.Getenv("SQDBG") != ""

func D(f string, a ...any) {
	if dbg {
		fmt.Fprintf(os.Stderr, f+"\n", a...)
	}
}
