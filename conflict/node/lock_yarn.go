package node

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/submitqueue/submitqueue/conflict/internal/layout"
)

// yarnLock is yarn.lock of yarn 1 and later: entries under all descriptors,
// "name@range", that they satisfy.
type yarnLock struct {
	*lock
	ids map[string]string // descriptor → id
	dir map[string]string // id → directory of the workspace
}

func parseYarn(data []byte) (*lock, error) {
	var entries mapping
	var err error
	y := &yarnLock{lock: newLock(), ids: map[string]string{}, dir: map[string]string{}}
	if bytes.Contains(data, []byte("\n__metadata:")) || bytes.HasPrefix(data, []byte("__metadata:")) {
		if err := yaml.Unmarshal(data, (*map[string]any)(&entries)); err != nil {
			return nil, err
		}
		version := entries.sub("__metadata").text("version")
		if n, err := strconv.Atoi(version); err != nil || n < 4 || n > 10 {
			return nil, fmt.Errorf("version %q is not known", version)
		}
	} else if entries, err = parseYarn1(data); err != nil {
		return nil, err
	}
	if !entries.allMaps() {
		return nil, errors.New("an entry is no map")
	}
	y.read(entries)
	rest := maps.Clone(entries)
	for k := range entries {
		if k != "__metadata" {
			delete(rest, k)
		}
	}
	y.facts = rest.digest()
	for name, ids := range y.byName {
		if strings.HasPrefix(name, "@types/") {
			y.hoisted = append(y.hoisted, ids...)
		}
	}
	y.find = func(_, name, want string) found { return y.resolve(name, want) }
	return y.lock, nil
}

func (y *yarnLock) read(entries mapping) {
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		if key == "__metadata" {
			continue
		}
		e := entries.sub(key)
		id, name := key, ""
		for d := range strings.SplitSeq(key, ", ") {
			if name == "" {
				name = descriptorName(d)
			}
			y.ids[d] = id
		}
		if _, dir, ok := strings.Cut(e.text("resolution"), "@workspace:"); ok {
			at, in := layout.Join("", dir)
			y.own[at] += string(e.digest())
			if in {
				y.dir[id] = at
			}
			continue
		}
		for program := range e.sub("bin") {
			y.addProgram(program, id)
		}
		y.add(id, &external{name: name, archive: strings.ReplaceAll(name, "/", "-") + "-npm-" + e.text("version"), digest: e.digest()})
	}
	for id, x := range y.packages {
		for _, kind := range []string{"dependencies", "optionalDependencies", "peerDependencies"} {
			for name := range entries.sub(id).sub(kind) {
				x.uses.add(y.resolve(name, entries.sub(id).sub(kind).text(name)))
			}
		}
	}
}

// resolve finds the packages that a dependency leads to. If a descriptor is
// written in another way, or replaced by resolutions, they are all packages of
// the name.
func (y *yarnLock) resolve(name, want string) found {
	for _, d := range []string{name + "@" + want, name + "@npm:" + want} {
		id, ok := y.ids[d]
		if !ok {
			continue
		}
		if dir, ok := y.dir[id]; ok {
			return found{dirs: []string{dir}}
		}
		if strings.Contains(d, "patch:") {
			break
		}
		return found{ids: []string{id}}
	}
	return found{ids: y.byName[name]}
}

func descriptorName(d string) string {
	if i := strings.IndexByte(d[min(1, len(d)):], '@'); i >= 0 {
		return d[:i+1]
	}
	return d
}

// parseYarn1 reads the format of yarn 1, which is not quite YAML.
func parseYarn1(data []byte) (mapping, error) {
	if !bytes.Contains(data[:min(len(data), 200)], []byte("yarn lockfile v1")) {
		return nil, fmt.Errorf("version is not known")
	}
	entries := mapping{}
	var entry, deps map[string]any
	number := 0
	for line := range bytes.Lines(data) {
		number++
		text := strings.TrimRight(string(line), "\r\n ")
		body := strings.TrimLeft(text, " ")
		if body == "" || body[0] == '#' {
			continue
		}
		key, value, ok := yarn1Field(body)
		switch depth := len(text) - len(body); {
		case ok && depth == 0 && value == "" && strings.HasSuffix(body, ":"):
			entry, deps = map[string]any{}, nil
			entries[key] = entry
		case ok && depth == 2 && entry != nil && value == "" && strings.HasSuffix(body, ":"):
			deps = map[string]any{}
			entry[key] = deps
		case ok && depth == 2 && entry != nil:
			entry[key] = value
			deps = nil
		case ok && depth == 4 && deps != nil:
			deps[key] = value
		default:
			return nil, fmt.Errorf("line %d cannot be read", number)
		}
	}
	return entries, nil
}

// yarn1Field splits `"@a/b" "^1.0.0"`, `version "1"`, `integrity sha512-x` and
// `"a@1", "a@^1":`; it joins the parts of the last as later versions write
// them.
func yarn1Field(body string) (key, value string, ok bool) {
	if list, is := strings.CutSuffix(body, ":"); is {
		var parts []string
		for d := range strings.SplitSeq(list, ", ") {
			parts = append(parts, strings.Trim(d, `"`))
		}
		return strings.Join(parts, ", "), "", true
	}
	key, value, ok = strings.Cut(body, " ")
	return strings.Trim(key, `"`), strings.Trim(value, `"`), ok && key != "" && value != ""
}
