package audit

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/queue/config"
)

// fewFiles is the largest number of files of one kind that a proposal names one by one.
const fewFiles = 3

// Propose returns the declared inputs that take the findings of each target into its
// hashes. Where the command also read the names in a folder, or many files of one kind,
// it names the files by a glob, so that the next such file is included.
func Propose(judged map[string]*Judged) []config.Inputs {
	targets := map[string][]string{} // by their files, joined
	for target, j := range judged {
		if len(j.Findings) > 0 {
			key := strings.Join(globsOf(j), "\x00")
			targets[key] = append(targets[key], target)
		}
	}
	var out []config.Inputs
	for _, key := range slices.Sorted(maps.Keys(targets)) {
		names := targets[key]
		slices.Sort(names)
		for i := range names {
			names[i] = escaped(names[i])
		}
		out = append(out, config.Inputs{Targets: names, Files: strings.Split(key, "\x00")})
	}
	slices.SortFunc(out, func(a, b config.Inputs) int { return slices.Compare(a.Targets, b.Targets) })
	return out
}

// globsOf names the findings of a target.
func globsOf(j *Judged) []string {
	kinds := map[string][]string{} // files by ending; those without an ending are named one by one
	for _, f := range j.Findings {
		kind := path.Ext(f.File)
		if kind == path.Base(f.File) {
			kind = ""
		}
		kinds[kind] = append(kinds[kind], f.File)
	}
	globs := map[string]bool{}
	for kind, files := range kinds {
		dirs := map[string][]string{}
		for _, file := range files {
			dirs[path.Dir(file)] = append(dirs[path.Dir(file)], file)
		}
		up := above(slices.Collect(maps.Keys(dirs)))
		if kind != "" && (len(dirs) > fewFiles || len(dirs) > 1 && slices.Contains(j.Listed, up)) {
			globs[path.Join(escaped(up), "**", "*"+escaped(kind))] = true
			continue
		}
		for dir, files := range dirs {
			if kind != "" && (len(files) > fewFiles || slices.Contains(j.Listed, dir) && len(files) > 1) {
				globs[path.Join(escaped(dir), "*"+escaped(kind))] = true
				continue
			}
			for _, file := range files {
				globs[escaped(file)] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(globs))
}

// above returns the folder that all of the folders are in, "." for the root.
func above(dirs []string) string {
	common := strings.Split(dirs[0], "/")
	for _, dir := range dirs[1:] {
		parts := strings.Split(dir, "/")
		n := 0
		for n < len(common) && n < len(parts) && common[n] == parts[n] {
			n++
		}
		common = common[:n]
	}
	if len(common) == 0 {
		return "."
	}
	return strings.Join(common, "/")
}

// escaped returns a glob that matches only this name.
func escaped(name string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`, "{", `\{`, "}", `\}`).Replace(name)
}
