// Package report reads a step's results for each of its targets.
//
// A step runs a build system's own command, which reports its results in its own format: in
// lines of its output, or in files. A Reader knows one such format; Report uses it for one run
// of a step:
//
//	r, err := report.All().For(files, step, targets) // before any step has run; nil: by exit status
//	run r.Step(), not step
//	for each line of output { say(r.Line(line, tidy)) }
//	for each file that the step has written { err := r.File(name, content, tidy) }
//	v := r.Judge(exitStatus, targets)
//
// The files of the commit, the lines and the exit status are enough to judge: a runner of this
// process judges from its checkout, and a server from its mirror, when the step has run
// elsewhere.
//
// # How do I add a report?
//
// A Reader and its row in All; its row in config.Reports says what it asks of a step. The
// reader says whether each target has passed or failed; Judge makes the verdict from that and
// the exit status, for all reports alike. For example, for lines "ok TARGET":
//
//	"ticks": func(files fs.FS, step config.Step, targets []string) (Reader, error) { return newTicks(targets), nil }
package report
