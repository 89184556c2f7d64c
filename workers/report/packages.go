package report

import (
	"io"
	"io/fs"
	"path"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/submitqueue/submitqueue/queue/config"
)

// maxGoMod is the largest go.mod that is read.
const maxGoMod = 1 << 20

// packagesOf maps the import paths of the targets that are packages of a Go module to the
// targets. To the step's tool a target is a directory from the folder that the step runs in:
// "." or "./dir". Its module is the module of the nearest go.mod above it, whether or not a
// go.work names it. It leaves out targets without a module, and those that share an import
// path: no report can tell them apart.
//
// It is called before any step has run, while the files are still the commit's.
func packagesOf(files fs.FS, step config.Step, targets []string) (map[string]string, error) {
	if _, err := fs.Stat(files, "."); err != nil {
		return nil, err
	}
	modules := map[string]string{} // directory -> module path of its go.mod, "" without one
	found := map[string]string{}
	twice := map[string]bool{}
	for _, target := range targets {
		dir, ok := packageDir(step.ToolName(target))
		if !ok {
			continue
		}
		dir = path.Join(step.Dir, dir)
		importPath := importPathOf(files, modules, dir)
		if other, ok := found[importPath]; ok && other != target {
			twice[importPath] = true
		}
		if importPath != "" {
			found[importPath] = target
		}
	}
	for p := range twice {
		delete(found, p)
	}
	return found, nil
}

// packageDir returns the clean directory of a target that names one.
func packageDir(target string) (string, bool) {
	if target == "." {
		return ".", true
	}
	rest, ok := strings.CutPrefix(target, "./")
	if !ok || rest == "" || path.Clean(rest) != rest || !fs.ValidPath(rest) {
		return "", false
	}
	return rest, true
}

// importPathOf returns the import path of a directory, "" if it is in no module.
func importPathOf(files fs.FS, modules map[string]string, dir string) string {
	for at := dir; ; at = path.Dir(at) {
		module, ok := modules[at]
		if !ok {
			module = readModule(files, path.Join(at, "go.mod"))
			modules[at] = module
		}
		if module != "" {
			return path.Join(module, strings.TrimPrefix(strings.TrimPrefix(dir, at), "/"))
		}
		if at == "." {
			return ""
		}
	}
}

// readModule returns the module path that a go.mod declares, "" if there is
// none that can be read.
func readModule(files fs.FS, name string) string {
	return modfile.ModulePath(readFile(files, name, maxGoMod))
}

// readFile returns the content of a file of the commit; nil if it is no regular file, has more
// than limit bytes, or cannot be read.
func readFile(files fs.FS, name string, limit int64) []byte {
	info, err := fs.Lstat(files, name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > limit {
		return nil
	}
	f, err := files.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit))
	if err != nil {
		return nil
	}
	return data
}
