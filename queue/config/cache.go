package config

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Cache is a part of a step's checkout that runners keep from build to build, beside the
// files of the commit. A step finds the files there that another step has left, of any
// change: a cache makes steps faster, and must hold nothing that a result depends on.
type Cache struct {
	// Paths are the folders and files that are kept, from the root of the repository, e.g. node_modules or target. They are no globs, and no path lies in another one.
	Paths []string `json:"paths" yaml:"paths" jsonschema:"required,minItems=1,maxItems=20,minLength=1,maxLength=300"`
	// Key are globs of files of the commit whose content selects the cache, e.g. package-lock.json: files that are kept under one content are not found under another. Default none: there is one cache for all commits.
	Key []string `json:"key,omitempty" yaml:"key,omitempty" jsonschema:"maxItems=20,minLength=1,maxLength=300"`
}

// Equal reports whether two caches are one: the same paths, selected by the same files.
func (c Cache) Equal(d Cache) bool { return slices.Equal(c.fields(), d.fields()) }

// Name says for people which cache it is.
func (c Cache) Name() string { return strings.Join(c.Paths, ", ") }

// fields returns the fields that the cache adds to the digest of its step. The order of
// the paths and of the globs means nothing.
func (c Cache) fields() []string {
	sorted := func(list []string) []string { return slices.Compact(slices.Sorted(slices.Values(list))) }
	paths, key := sorted(c.Paths), sorted(c.Key)
	fields := append([]string{"cache1", strconv.Itoa(len(paths)), strconv.Itoa(len(key))}, paths...)
	return append(fields, key...)
}

// cacheFields are the fields of all caches of a step; the order of the caches means nothing.
func (s Step) cacheFields() (fields []string) {
	each := make([][]string, len(s.Caches))
	for i, c := range s.Caches {
		each[i] = c.fields()
	}
	slices.SortFunc(each, slices.Compare[[]string])
	return slices.Concat(each...)
}

// Within reports whether a slash-separated path is another one or lies in it.
func Within(name, in string) bool { return name == in || strings.HasPrefix(name, in+"/") }

// checkCaches reports paths of a step's caches that lead out of the repository or into one
// another, and invalid globs.
func checkCaches(d *document, at string, s Step) {
	type seen struct {
		path string
		line int
	}
	var before []seen
	for i, c := range s.Caches {
		for j, p := range c.Paths {
			sub := fmt.Sprintf("%s.caches[%d].paths[%d]", at, i, j)
			if d.refused[sub] || p == "" {
				continue
			}
			if why := BadCachePath(p); why != "" {
				d.report(sub, "%s is %s: %s", sub, quoted(p), why)
				continue
			}
			for _, b := range before {
				switch {
				case b.path == p:
					d.report(sub, "%s is %s, which is in line %d already: take it out", sub, quoted(p), b.line)
				case Within(p, b.path):
					d.report(sub, "%s is %s, which lies in %s of line %d: that is kept with all that is in it; take one of them out", sub, quoted(p), quoted(b.path), b.line)
				case Within(b.path, p):
					d.report(sub, "%s is %s, in which %s of line %d lies: this one is kept with all that is in it; take one of them out", sub, quoted(p), quoted(b.path), b.line)
				}
			}
			before = append(before, seen{p, d.place(sub).line})
		}
		d.globs(fmt.Sprintf("%s.caches[%d].key", at, i), c.Key)
	}
}

// BadCachePath says for people what is wrong with the path of a cache, or "".
func BadCachePath(p string) string {
	parts := strings.Split(p, "/")
	switch {
	case strings.ContainsFunc(p, func(c rune) bool { return c < ' ' || c == 0x7f }):
		return "a path has no control characters"
	case strings.HasPrefix(p, "~"), strings.Contains(p, "$"):
		return "no variables are put in here, and a step's home is new for each build: name a folder of the repository, and have the tool keep its files there (env: {CARGO_HOME: ...}, for example)"
	case path.IsAbs(p) || strings.Contains(p, `\`) || strings.Contains(parts[0], ":"):
		return "a path begins at the repository's root, and has slashes: write it without what is before"
	case slices.Contains(parts, ".."):
		return `a path cannot leave the repository with ".."`
	case p == ".":
		return "the whole checkout cannot be kept: name the folders in it that the step makes"
	case path.Clean(p) != p:
		return "write " + quoted(path.Clean(p))
	case strings.ContainsAny(p, "*?[]{}"):
		return "a path is no glob: write each folder and file that is to be kept"
	case strings.EqualFold(parts[0], ".git"):
		return "a checkout has no .git, which cannot be kept"
	}
	return ""
}
