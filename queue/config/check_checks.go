package config

import (
	"fmt"
	"slices"
	"strings"
)

// ownCheck is the name of the check that the queue itself reports; a step that
// waited for it would wait for ever.
const ownCheck = "submitqueue"

// checkChecks checks the keys of a step with checks. It reports whether the
// step is to be checked as one with a command.
func checkChecks(d *document, path string, s Step, a Analysis) bool {
	at := path + ".checks"
	written := func(name string) bool { return d.written(path + "." + name) }
	if !s.ByForge() {
		if d.refused[at] {
			return false
		}
		for _, name := range []string{"covers", "appear", "rerun", "earlier"} {
			if written(name) {
				d.report(path+"."+name, "%s.%s is for steps with checks, and this one has none: delete the line", path, name)
			}
		}
		return true
	}
	seen := map[string][]string{} // Apps by name
	for i, c := range s.Checks {
		name, folded := c.Name, strings.ToLower(c.Name)
		sub := fmt.Sprintf("%s[%d]", at, i)
		if d.written(sub + ".name") {
			sub += ".name"
		}
		before, again := seen[folded]
		switch {
		case name == "":
			continue
		case folded == ownCheck:
			d.report(sub, "%s is %s, the check that the queue itself reports: name those of your CI", sub, quoted(name))
		case slices.Contains(before, c.App):
			d.report(sub, "%s is %s, which is in the list already (letters count in any case): keep one", sub, quoted(name))
		case again && (c.App == "" || slices.Contains(before, "")):
			d.report(sub, "%s is %s, which is in the list both with an app and without: keep the one with the app", sub, quoted(name))
		}
		seen[folded] = append(before, c.App)
	}
	for _, f := range []struct {
		name  string
		given bool
	}{{"report", s.Report != "" && s.Report != ReportExitCode}, {"report_files", len(s.ReportFiles) > 0}, {"image", s.Image != ""}, {"os", s.OS != ""}, {"arch", s.Arch != ""},
		{"tags", len(s.Tags) > 0}, {"env", len(s.Env) > 0}, {"dir", s.Dir != ""}} {
		if f.given {
			d.report(path+"."+f.name, "%s.%s is for steps with run: how checks run is written in the workflow; delete the line", path, f.name)
		}
	}
	if written("retries") {
		d.report(path+".retries", "%s.retries is for steps with run: for a workflow of GitHub Actions say rerun: 1", path)
	}
	if written("timeout_from") {
		d.report(path+".timeout_from", "%s.timeout_from is for steps with run: a run of the forge's CI does not end when the queue gives up on it, and would run twice; delete the line, and say timeout-minutes: in the workflow", path)
	}
	if s.Environment != "" {
		d.report(path+".environment", "%s.environment is for steps with run: of the forge's CI nobody reports what its machines have; delete the line, and have the workflow pin its tools", path)
	}
	if written("checkout") {
		d.report(path+".checkout", "%s.checkout is for steps with run: the forge's CI checks out by itself; delete the line, and say submodules: and lfs: in the workflow's actions/checkout", path)
	}
	if written("caches") {
		d.report(path+".caches", "%s.caches is for steps with run: the workflow says what the forge's CI keeps; delete the line, and say actions/cache there", path)
	}
	if written("quarantine") {
		d.report(path+".quarantine", "%s.quarantine is for steps with run: a check says no more than that it has failed; delete the line, and have the workflow pass what is not to count", path)
	}
	if written("strict_new") {
		d.report(path+".strict_new", "%s.strict_new is for steps with run: a workflow of the forge is run once for a commit; delete the line, and have the workflow repeat what is new", path)
	}
	if s.Counts == CountsTree && s.Scope == ScopeRepository {
		d.report(path+".covers", "%s.covers is for steps on targets; with scope: repository a pass is one of the whole tree anyway: delete the line", path)
	}
	if s.Scope == "" && a.HasTargets() && d.read("analysis") && !d.refused[path+".scope"] {
		// As with a command that is not told its targets, a result would be
		// taken for trees that it has never seen; here only the author of the
		// workflow can tell.
		d.report(path+".scope", "%s.scope is missing: say scope: targets where the workflow tests each target by itself (all of them, or those that the build asks for), "+
			"scope: repository where it looks at the whole tree", path)
	}
	checkStepPart(d, path, s, a)
	return false
}
