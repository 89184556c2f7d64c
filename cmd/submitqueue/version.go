package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// versionCommand prints which version this is.
type versionCommand struct{}

// Run implements the command.
func (versionCommand) Run() error {
	fmt.Println(version())
	return nil
}

// version says which version this is, as far as the build knows.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "submitqueue (built without module information)"
	}
	var notes []string
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			notes = append(notes, "revision "+s.Value)
		case s.Key == "vcs.time":
			notes = append(notes, "of "+s.Value)
		case s.Key == "vcs.modified" && s.Value == "true":
			notes = append(notes, "modified")
		}
	}
	notes = append(notes, fmt.Sprintf("%s %s/%s", info.GoVersion, runtime.GOOS, runtime.GOARCH))
	return "submitqueue " + info.Main.Version + " (" + strings.Join(notes, ", ") + ")"
}
