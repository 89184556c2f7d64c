// Package report reads what a step says of each of its targets.
//
// A step runs a build system's own command, which says in its own words what has passed:
// in lines of its output, or in files that it writes. A Reader knows the words of one kind
// of report; Report puts it beside one run of a step:
//
//	r, err := report.All().For(files, step, targets) // before any step has run; nil: by exit status
//	run r.Step(), not step
//	for each line of output { say(r.Line(line, tidy)) }
//	for each file that the step has written { err := r.File(name, content, tidy) }
//	v := r.Judge(exitStatus, targets)
//
// Whoever has the files of the commit, the lines and the exit status can judge: the runner
// of this process from its checkout, or a server from its mirror, when the step has run
// elsewhere.
//
// # How do I add a report?
//
// One Reader and its row in All; what the step must be for it is its row in
// config.Reports. The reader says of each target whether it has passed or failed; Judge
// makes the verdict of that, and of the exit status, for all reports alike. For example,
// of lines "ok TARGET":
//
//	"ticks": func(files fs.FS, step config.Step, targets []string) (Reader, error) { return newTicks(targets), nil }
package report
