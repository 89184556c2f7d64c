package node

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/submitqueue/submitqueue/queue/digest"

	"github.com/submitqueue/submitqueue/conflict/internal/layout"
)

// pnpmLock is pnpm-lock.yaml of versions 5 to 9.
type pnpmLock struct{ *lock }

var pnpmKinds = []string{"dependencies", "devDependencies", "optionalDependencies"}

func parsePnpm(data []byte) (*lock, error) {
	file, before, err := lastDocument(data)
	if err != nil {
		return nil, err
	}
	version := file.text("lockfileVersion")
	switch major, _, _ := strings.Cut(version, "."); major {
	case "5", "6", "7", "8", "9":
	default:
		return nil, fmt.Errorf("version %q is not known", version)
	}
	for _, key := range []string{"packages", "snapshots", "importers", "catalogs"} {
		if section := file.sub(key); file[key] != nil && (section == nil || !section.allMaps()) {
			return nil, fmt.Errorf("%s is no map of maps", key)
		}
	}
	p := pnpmLock{newLock()}
	for catalog := range file.sub("catalogs") {
		for name, v := range file.sub("catalogs").sub(catalog) {
			p.catalogs[entryOf{catalog, name}] = string(mapping{"": v}.digest())
		}
	}
	p.readPackages(file.sub("packages"), file.sub("snapshots"))
	importers := file.sub("importers")
	if importers == nil {
		top := map[string]any{}
		for _, k := range append([]string{"specifiers"}, pnpmKinds...) {
			if v, ok := file[k]; ok {
				top[k] = v
			}
		}
		importers = mapping{".": top}
	}
	table := map[string]map[string]found{}
	for _, name := range slices.Sorted(maps.Keys(importers)) {
		dir, ok := layout.Join("", name)
		p.own[dir] += string(importers.sub(name).digest())
		if !ok {
			continue // the importer is outside of the tree
		}
		deps, err := p.readImporter(dir, importers.sub(name))
		if err != nil {
			return nil, err
		}
		table[dir] = deps
	}
	p.find = func(dir, name, _ string) found { return table[dir][name] }
	facts := []string{string(file.digest(append([]string{"importers", "packages", "snapshots", "catalogs", "specifiers", "time"}, pnpmKinds...)...))}
	for _, d := range before {
		facts = append(facts, string(d.digest()))
	}
	p.facts = digest.Of(facts...)
	if strings.HasPrefix(version, "5") { // these versions of pnpm put types where all compiler runs find them
		for name, ids := range p.byName {
			if strings.HasPrefix(name, "@types/") {
				p.hoisted = append(p.hoisted, ids...)
			}
		}
	}
	return p.lock, nil
}

// lastDocument returns the last document of a YAML file and those before it:
// pnpm 11 and later begin the file with one about pnpm itself.
func lastDocument(data []byte) (last mapping, before []mapping, err error) {
	for dec := yaml.NewDecoder(bytes.NewReader(data)); ; {
		var m mapping
		switch err := dec.Decode((*map[string]any)(&m)); {
		case errors.Is(err, io.EOF):
			return last, before, nil
		case err != nil:
			return nil, nil, err
		}
		if last != nil {
			before = append(before, last)
		}
		last = m
	}
}

func (p pnpmLock) readPackages(packages, snapshots mapping) {
	kept := snapshots
	if kept == nil {
		kept = packages
	}
	for id := range kept {
		base, _, _ := strings.Cut(id, "(")
		d := digest.Of(string(packages.sub(base).digest("dev", "optional")), string(kept.sub(id).digest("dev", "optional")))
		p.add(id, &external{name: pnpmName(id, kept.sub(id)), digest: d})
	}
	for id, e := range p.packages {
		for _, kind := range pnpmKinds {
			for name := range kept.sub(id).sub(kind) {
				f, _ := p.resolve("", name, kept.sub(id).sub(kind).text(name))
				e.uses.add(f)
			}
		}
	}
}

// readImporter reads the dependencies of one package of the workspace.
func (p pnpmLock) readImporter(dir string, entry mapping) (map[string]found, error) {
	deps := map[string]found{}
	for _, kind := range pnpmKinds {
		for name, v := range entry.sub(kind) {
			ref := entry.sub(kind).text(name)
			if m, ok := v.(map[string]any); ok {
				ref = mapping(m).text("version")
			}
			f, ok := p.resolve(dir, name, ref)
			if !ok {
				return nil, fmt.Errorf("%s of %s is %q, and there is no such package", name, layout.Dotted(dir), ref)
			}
			g := deps[name]
			g.add(f)
			deps[name] = g
		}
	}
	return deps, nil
}

// resolve finds the package that a reference means.
func (p pnpmLock) resolve(dir, name, ref string) (found, bool) {
	var f found
	bare, _, _ := strings.Cut(ref, "(")
	if to, ok := strings.CutPrefix(bare, "link:"); ok {
		if at, ok := layout.Join(dir, to); ok {
			f.dirs = append(f.dirs, at)
		}
		return f, true // a directory outside of the tree is not ours
	}
	if i := strings.Index(bare, "file:"); i >= 0 {
		if at, ok := layout.Join("", bare[i+len("file:"):]); ok {
			f.dirs = append(f.dirs, at)
		}
	}
	for _, id := range []string{name + "@" + ref, "/" + name + "@" + ref, "/" + name + "/" + ref, ref, "/" + ref} {
		if p.packages[id] != nil {
			f.ids = append(f.ids, id)
			return f, true
		}
	}
	f.ids = append(f.ids, p.byName[name]...)
	return f, len(f.ids)+len(f.dirs) > 0
}

// pnpmName returns the name of a package by its id: "/a/1.0.0_b@2" of version
// 5, "/a@1.0.0(b@2)" of 6, "a@1.0.0" of 9.
func pnpmName(id string, entry mapping) string {
	if name := entry.text("name"); name != "" {
		return name
	}
	id = strings.TrimPrefix(id, "/")
	name := bareName(id)
	if i := strings.IndexByte(name[min(1, len(name)):], '@'); i >= 0 {
		return name[:i+1]
	}
	return name
}
