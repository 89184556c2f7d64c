// Types checks that packages with their tests are sound Go for another system. It reads the
// sources of all that they import, so that nothing has to be compiled for that system first, which
// takes minutes on a new machine.
//
//	go run ./.ci/types darwin/arm64 ./workers/...
package main

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: types SYSTEM/ARCHITECTURE PACKAGE...")
		os.Exit(2)
	}
	faults, err := check(os.Args[1], os.Args[2:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "types:", err)
		os.Exit(2)
	}
	for _, f := range faults {
		fmt.Println(f)
	}
	if len(faults) > 0 {
		os.Exit(1)
	}
}

// check returns the faults of packages on a system, each with its place. The error is about
// what could not be read at all.
func check(platform string, patterns []string) ([]string, error) {
	system, architecture, ok := strings.Cut(platform, "/")
	if !ok {
		return nil, fmt.Errorf("%q is no system and architecture: say darwin/arm64", platform)
	}
	pkgs, err := packages.Load(&packages.Config{
		// Syntax of what is imported, too: else its types would be read from compiled packages.
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedDeps |
			packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedTypesSizes,
		Env:   append(os.Environ(), "GOOS="+system, "GOARCH="+architecture, "CGO_ENABLED=0"),
		Tests: true,
	}, patterns...)
	if err != nil {
		return nil, err
	}
	if len(pkgs) == 0 {
		return nil, fmt.Errorf("no package matches %s", strings.Join(patterns, " "))
	}
	var faults []string
	packages.Visit(pkgs, nil, func(p *packages.Package) {
		for _, e := range p.Errors {
			faults = append(faults, e.Error())
		}
	})
	return faults, nil
}
