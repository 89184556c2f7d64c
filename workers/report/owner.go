package report

import (
	"encoding/json"
	"io/fs"
	"path"
	"strings"

	"github.com/submitqueue/submitqueue/queue/config"
)

// maxManifest is the largest package.json that is read.
const maxManifest = 4 << 20

// owners says which target a test file belongs to: the package of Node (package.json or
// project.json with a name) in the nearest folder above it, or a target with the name of a
// folder ("./dir"). It is made from the files of the commit, and reads nothing that a step can
// have changed.
type owners struct {
	dir   string            // the folder of the repository that the step runs in
	root  string            // its path on the machine of the step; "": not known
	dirs  map[string]owner  // folders that are packages
	tools map[string]string // names of targets in the tool -> target
}

// owner is the target that the files of a folder belong to.
type owner struct {
	target string // "": none that was asked for, or it is unknown
	known  bool
}

func newOwners(files fs.FS, step config.Step, targets []string) (*owners, error) {
	o := &owners{dir: path.Join(".", step.Dir), dirs: map[string]owner{}, tools: byToolName(step, targets)}
	at := map[string]string{} // name of a package -> its folder
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git"):
			return fs.SkipDir
		case d.Name() != "package.json" && d.Name() != "project.json":
			return nil
		}
		var m struct {
			Name string `json:"name"`
		}
		if json.Unmarshal(readFile(files, name, maxManifest), &m) != nil || m.Name == "" {
			return nil
		}
		dir := path.Dir(name)
		target := o.tools[m.Name]
		if other, ok := at[m.Name]; ok && other != dir && target != "" {
			o.dirs[other], target = owner{}, "" // two packages of one name cannot be told apart
			o.dirs[dir] = owner{}
			return nil
		}
		at[m.Name] = dir
		if o.dirs[dir].target == "" {
			o.dirs[dir] = owner{target: target, known: true}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for tool, target := range o.tools {
		if dir, ok := packageDir(tool); ok {
			o.dirs[path.Join(o.dir, dir)] = owner{target: target, known: true}
		}
	}
	return o, nil
}

// Root takes the folder that the step runs in.
func (o *owners) Root(dir string) { o.root = dir }

// of returns the owner of a file. The step has written its name: relative to the folder that
// the step runs in, or absolute.
func (o *owners) of(name string) owner {
	name = strings.ReplaceAll(name, "\\", "/")
	if path.IsAbs(name) {
		rest, ok := strings.CutPrefix(path.Clean(name), o.root+"/")
		if !ok || o.root == "" {
			return owner{}
		}
		name = rest
	}
	if name = path.Join(o.dir, name); !fs.ValidPath(name) {
		return owner{}
	}
	return o.ofDir(path.Dir(name))
}

// ofDir returns the owner of the files of a folder.
func (o *owners) ofDir(dir string) owner {
	for {
		if found, ok := o.dirs[dir]; ok {
			return found
		}
		if dir == "." || dir == "/" {
			return owner{}
		}
		dir = path.Dir(dir)
	}
}
