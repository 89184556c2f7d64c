package node

import (
	"strings"
)

// turboNames are the names that Turborepo's configuration may have.
var turboNames = []string{"turbo.json", "turbo.jsonc"}

// turbo has the fields of a turbo.json that are about files and packages.
type turbo struct {
	global  []string // files that every package depends on
	extends []string // packages with the configuration that this one continues
	tasks   []turboTask
}

type turboTask struct {
	pkg    string   // that the task is of, "" for all
	on     []string // packages with tasks that run before it
	inputs []string // globs beside its own files
}

func parseTurbo(file string, data []byte) (*turbo, error) {
	o, err := parseCommented(file, data)
	if err != nil {
		return nil, err
	}
	t := &turbo{global: append(o.texts("globalDependencies"), o.texts("globalDotEnv")...), extends: o.texts("extends")}
	for _, key := range []string{"pipeline", "tasks"} {
		tasks := o.object(key)
		for _, name := range tasks.keys() {
			def := tasks.object(name)
			task := turboTask{inputs: append(def.texts("inputs"), def.texts("dotEnv")...)}
			task.pkg, _ = splitTask(name)
			for _, d := range append(def.texts("dependsOn"), def.texts("with")...) {
				if on, ok := splitTask(d); ok {
					task.on = append(task.on, on)
				}
			}
			t.tasks = append(t.tasks, task)
		}
	}
	return t, nil
}

// splitTask returns the package of "package#task". A task without a package is
// a task of all packages or, with a caret, of dependencies: these are edges
// already.
func splitTask(name string) (string, bool) {
	i := strings.LastIndexByte(name, '#')
	if i <= 0 {
		return "", false
	}
	return strings.TrimPrefix(name[:i], "^"), true
}

// applyTurbo adds the edges of a root's configuration (at is nil) or of the
// package's own.
func (b *builder) applyTurbo(r *root, at *pkg, t *turbo) {
	for _, x := range t.extends {
		if at != nil && x != rootPackage {
			b.dependName(at, x)
		}
	}
	for _, task := range t.tasks {
		of := r.members
		switch {
		case at != nil:
			of = []*pkg{at}
		case task.pkg == rootPackage:
			of = nil
			if p := b.pkgs[r.dir]; p != nil {
				of = []*pkg{p}
			}
		case task.pkg != "":
			of = b.byName[task.pkg]
		}
		for _, p := range of {
			for _, on := range task.on {
				if on == rootPackage {
					b.readLoose(p, r.dir)
				}
				b.dependName(p, on)
			}
			for _, glob := range task.inputs {
				b.addInputs(p, r, glob)
			}
		}
	}
}

// rootPackage is Turborepo's name of a workspace's root.
const rootPackage = "//"
