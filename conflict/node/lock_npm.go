package node

import (
	"fmt"
	"strings"

	"github.com/submitqueue/submitqueue/queue"

	"github.com/submitqueue/submitqueue/conflict/internal/layout"
)

// npmLock is package-lock.json by the place where a package is installed:
// "node_modules/a/node_modules/b".
type npmLock struct {
	*lock
	links map[string]string // place → directory of the workspace
	uses  map[string][]string
}

// roleFlags say why a package is installed, not which one: they change when
// another package begins to use it.
var roleFlags = []string{"dev", "optional", "devOptional", "peer", "extraneous"}

func parseNpm(file string, data []byte) (*lock, error) {
	o, err := parseObject(file, data)
	if err != nil {
		return nil, err
	}
	n := &npmLock{lock: newLock(), links: map[string]string{}, uses: map[string][]string{}}
	version := canonical(o["lockfileVersion"])
	switch version {
	case "1":
		n.readTree("", o.object("dependencies"))
	case "2", "3":
		if o.object("packages") == nil {
			return nil, fmt.Errorf("no packages in a lock file of version %s", version)
		}
		for at, raw := range o.object("packages") {
			if raw[0] != '{' {
				return nil, fmt.Errorf("the entry of %q is no object", at)
			}
		}
		n.readPlaces(o.object("packages"))
	default:
		return nil, fmt.Errorf("version %q is not known", version)
	}
	n.facts = o.digest("name", "version", "packages", "dependencies")
	for at, names := range n.uses {
		for _, name := range names {
			n.packages[at].uses.add(n.resolve(at, name))
		}
	}
	for id, e := range n.packages {
		if strings.HasPrefix(e.name, "@types/") && id == "node_modules/"+e.name {
			n.hoisted = append(n.hoisted, id)
		}
	}
	n.find = func(dir, name, _ string) found { return n.resolve(dir, name) }
	return n.lock, nil
}

// readPlaces reads versions 2 and 3.
func (n *npmLock) readPlaces(places object) {
	for _, at := range places.keys() {
		e := places.object(at)
		i := strings.LastIndex(at, "node_modules/")
		switch {
		case e.flag("link"):
			n.link(at, e.text("resolved"))
		case i < 0:
			n.own[at] += string(e.digest("version"))
		default:
			for _, program := range e.object("bin").keys() {
				n.addProgram(program, at)
			}
			n.put(at, at[i+len("node_modules/"):], e.digest(roleFlags...), e.object("dependencies"), e.object("optionalDependencies"), e.object("peerDependencies"))
		}
	}
}

// readTree reads version 1.
func (n *npmLock) readTree(under string, deps object) {
	for _, name := range deps.keys() {
		at, e := under+"node_modules/"+name, deps.object(name)
		if dir, ok := strings.CutPrefix(e.text("version"), "file:"); ok {
			n.link(at, dir)
		} else {
			n.put(at, name, e.digest(append([]string{"dependencies"}, roleFlags...)...), e.object("requires"), e.object("dependencies"))
		}
		n.readTree(at+"/", e.object("dependencies"))
	}
}

// link notes that a package of the workspace is installed by a link. Without
// the link npm refuses the file, so it is part of the fields about that
// package.
func (n *npmLock) link(at, to string) {
	dir := strings.TrimPrefix(to, "./")
	n.links[at] = dir
	n.own[dir] += "link " + at + "\n"
}

func (n *npmLock) put(at, name string, d queue.Digest, deps ...object) {
	n.add(at, &external{name: name, digest: d})
	for _, o := range deps {
		n.uses[at] = append(n.uses[at], o.keys()...)
	}
}

// resolve finds a package as Node does: in the folder of installed packages
// beside the package that asks, else in those of the directories above.
func (n *npmLock) resolve(from, name string) found {
	for at := from; ; at = layout.Dir(at) {
		place := strings.TrimPrefix(at+"/node_modules/"+name, "/")
		if dir, ok := n.links[place]; ok {
			return found{dirs: []string{dir}}
		}
		if n.packages[place] != nil {
			return found{ids: []string{place}}
		}
		if at == "" {
			return found{}
		}
	}
}
