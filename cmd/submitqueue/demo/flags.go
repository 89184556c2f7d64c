package demo

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Flags are the flags of `submitqueue demo`.
type Flags struct {
	Changes  int    `default:"24" placeholder:"N" help:"Pull requests to open, ${default} unless told (12 to 1000, so that every kind is shown)."`
	Runners  int    `default:"4" placeholder:"N" help:"Builds that can run at once, ${default} unless told."`
	Seed     uint64 `default:"1" placeholder:"S" help:"The same seed, ${default} unless told, makes the same repository and pull requests."`
	JSON     string `name:"json" placeholder:"FILE" type:"path" help:"Write the figures of the report to FILE."`
	Red      int    `placeholder:"N" help:"Instead, push commits past the queue that break the branch, N times, and see whether the one that did it is named and taken back."`
	Keep     bool   `help:"Keep serving after the report, until interrupted: to look at the dashboard, the bot's comments and the server's log."`
	Play     bool   `help:"Instead, open the pull requests, ask to land none of them, and serve until interrupted: you comment, and push branches of your own."`
	Forge    string `enum:"github,gitlab" default:"github" help:"Which forge to simulate: github or gitlab."`
	Repo     string `placeholder:"PATH" type:"path" help:"Use a clone of your own repository at PATH; it is never written to."`
	Branches string `placeholder:"GLOB" help:"With --repo: open a pull request for each local branch that matches, e.g. 'feature/**'."`
}

// The bounds of the flags.
const (
	maxChanges = 1000
	maxRunners = 256
)

// Validate refuses flags that make no sense. It is called by kong.
func (f *Flags) Validate() error {
	switch {
	case f.Runners < 1 || f.Runners > maxRunners:
		return fmt.Errorf("--runners must be from 1 to %d, not %d", maxRunners, f.Runners)
	case f.Red < 0 || f.Red > maxChanges:
		return fmt.Errorf("--red must be from 0 to %d, not %d", maxChanges, f.Red)
	case f.Red > 0 && (f.Repo != "" || f.Keep || f.JSON != ""):
		return errors.New("--red goes with neither --repo, --keep nor --json: it breaks a repository of its own, and says what came of it")
	case f.Play && (f.Red > 0 || f.Keep || f.JSON != ""):
		return errors.New("--play goes with neither --red, --keep nor --json: it serves until you interrupt, and judges nothing")
	case (f.Repo == "") != (f.Branches == ""):
		return errors.New("--repo and --branches go together: say which branches of your repository to land")
	case f.Repo == "" && (f.Changes < MinChanges || f.Changes > maxChanges):
		return fmt.Errorf("--changes must be from %d, so that every kind is shown, to %d, not %d", MinChanges, maxChanges, f.Changes)
	}
	return nil
}

// noun is the forge's word for a pull request.
func (f *Flags) noun() string {
	if f.Forge == "gitlab" {
		return "merge request"
	}
	return "pull request"
}

// plural is the plural of noun, for the beginning of a line.
func (f *Flags) plural() string {
	n := f.noun()
	return strings.ToUpper(n[:1]) + n[1:] + "s"
}

// mark is the sign before the number of a pull request.
func (f *Flags) mark() string {
	if f.Forge == "gitlab" {
		return "!"
	}
	return "#"
}

// checkWritable returns why a file cannot be written. It changes nothing: it removes a
// file that it had to make.
func checkWritable(path string) error {
	_, err := os.Stat(path)
	made := errors.Is(err, fs.ErrNotExist)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no folder %s", filepath.Dir(path))
	case err != nil:
		return err
	}
	err = f.Close()
	if made {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}
