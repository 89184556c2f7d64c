package demo

import "errors"

// Flags are the flags of `submitqueue demo`.
type Flags struct {
	Changes  int    `default:"24" placeholder:"N" help:"Pull requests to open (at least 12, so that every kind is shown)."`
	Runners  int    `default:"4" placeholder:"N" help:"Builds that can run at once."`
	Seed     uint64 `default:"1" placeholder:"S" help:"The same seed makes the same repository and pull requests."`
	JSON     string `name:"json" placeholder:"FILE" type:"path" help:"Write the figures of the report to FILE."`
	Keep     bool   `help:"Keep serving after the report, until interrupted."`
	Repo     string `placeholder:"PATH" type:"existingdir" help:"Use a clone of your own repository at PATH; it is never written to."`
	Branches string `placeholder:"GLOB" help:"With --repo: open a pull request for each branch that matches, e.g. 'feature/**'."`
}

// Validate refuses flags that make no sense together. It is called by kong.
func (f *Flags) Validate() error {
	switch {
	case f.Runners < 1:
		return errors.New("--runners must be at least 1")
	case (f.Repo == "") != (f.Branches == ""):
		return errors.New("--repo and --branches go together: say which branches of your repository to land")
	case f.Repo == "" && f.Changes < MinChanges:
		return errors.New("--changes must be at least 12, so that every kind is shown")
	}
	return nil
}
