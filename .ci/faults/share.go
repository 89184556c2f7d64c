package main

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Compiling a test costs more than finding a fault with it. So the faults that are
// tested in one package share a test binary: it holds each function that a fault
// changes as it is and as the fault has it, and an environment variable says which
// runs. A fault that changes something else than functions, or a function with
// parameters that cannot be handed on by name, has a binary of its own.

// faultVariable names the fault that a shared test binary runs with.
const faultVariable = "SUBMITQUEUE_FAULT"

// target returns the package and the flags of a fault's test.
func (f fault) target() (pkg string, flags []string, ok bool) {
	words := strings.Fields(f.test)[2:]
	if len(words) < 3 || !strings.HasPrefix(words[0], "./") || words[1] != "-run" {
		return "", nil, false
	}
	return words[0], append([]string{"-test.run=" + words[2]}, words[3:]...), true
}

// share returns the files of the repository with those faults in them that can share one
// binary, and the ids of these faults.
func share(faults []fault, read func(string) ([]byte, error)) (map[string]string, []string) {
	out, dirs := map[string]string{}, map[string]string{}
	var ids []string
	for _, f := range faults {
		with := func(file string) ([]byte, error) { return read(file) }
		files, err := f.apply(with)
		if err != nil {
			continue
		}
		mixed := map[string]string{}
		for file, changed := range files {
			was, err := read(file)
			if err != nil {
				break
			}
			base := string(was)
			if shared, ok := out[file]; ok {
				base = shared
			}
			text, err := both(f.id, string(was), changed, base)
			if err != nil {
				break
			}
			mixed[file] = text
		}
		if len(mixed) < len(files) {
			continue
		}
		for file, text := range mixed {
			out[file] = text
			dirs[filepath.Dir(file)] = strings.Fields(text[strings.Index("\n"+text, "\npackage "):])[1]
		}
		ids = append(ids, f.id)
	}
	for dir, name := range dirs {
		out[filepath.Join(dir, "fault_now.go")] = "package " + name + "\n\nimport \"os\"\n\nvar faultNow = os.Getenv(\"" + faultVariable + "\")\n"
	}
	return out, ids
}

// both adds to a file, in which other faults may be already, the functions of its source that a
// fault changes, and calls them if the fault is chosen.
func both(id, was, changed, base string) (string, error) {
	before, err := functions(was)
	if err != nil {
		return "", err
	}
	after, err := functions(changed)
	if err != nil {
		return "", err
	}
	if before.rest != after.rest || len(before.list) != len(after.list) {
		return "", errors.New("it changes more than functions")
	}
	for i, f := range before.list {
		g := after.list[i]
		if f.text == g.text {
			continue
		}
		name := f.decl.Name.Name + "Fault" + strings.Map(letter, id)
		call, err := handOn(f.decl, name)
		if err != nil || f.head != g.head {
			return "", errors.Join(err, errors.New("its functions cannot be called for one another"))
		}
		if strings.Count(base, f.head) != 1 {
			return "", errors.New("a function's head is there twice")
		}
		base = strings.Replace(base, f.head, f.head+"\n\tif faultNow == \""+id+"\" {\n\t\t"+call+"\n\t}\n", 1)
		at := strings.Index(g.text, f.decl.Name.Name+"(")
		if f.decl.Recv != nil {
			at = strings.Index(g.text, ") "+f.decl.Name.Name+"(") + 2
		}
		base += "\n" + g.text[:at] + name + g.text[at+len(f.decl.Name.Name):] + "\n"
	}
	return base, nil
}

func letter(r rune) rune {
	if r == '-' || r == '.' {
		return '_'
	}
	return r
}

// source is a file, divided into its functions and the rest.
type source struct {
	list []function
	rest string
}

type function struct {
	decl *ast.FuncDecl
	head string // up to the body, with its brace
	text string
}

func functions(text string) (out source, err error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "", text, parser.SkipObjectResolution)
	if err != nil {
		return out, err
	}
	at := 0
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}
		from, body, to := set.Position(f.Pos()).Offset, set.Position(f.Body.Lbrace).Offset+1, set.Position(f.End()).Offset
		out.list = append(out.list, function{f, text[from:body], text[from:to]})
		out.rest, at = out.rest+text[at:from], to
	}
	out.rest += text[at:]
	return out, nil
}

// handOn returns the statement that calls another function of the same parameters.
func handOn(f *ast.FuncDecl, name string) (string, error) {
	if f.Type.TypeParams != nil {
		return "", errors.New("it has type parameters")
	}
	if f.Recv != nil {
		if len(f.Recv.List[0].Names) == 0 {
			return "", errors.New("its receiver has no name")
		}
		name = f.Recv.List[0].Names[0].Name + "." + name
	}
	var names []string
	for _, p := range f.Type.Params.List {
		if len(p.Names) == 0 {
			return "", errors.New("a parameter has no name")
		}
		for _, n := range p.Names {
			if n.Name == "_" {
				return "", errors.New("a parameter has no name")
			}
			names = append(names, n.Name)
		}
		if _, many := p.Type.(*ast.Ellipsis); many {
			names[len(names)-1] += "..."
		}
	}
	call := name + "(" + strings.Join(names, ", ") + ")"
	if f.Type.Results == nil {
		return call + "\n\t\treturn", nil
	}
	return "return " + call, nil
}

// shared is a test binary of several faults.
type shared struct {
	binary string
	ids    []string
}

// build compiles the test binary that the faults of a package share.
func build(ctx context.Context, pkg string, faults []fault, temp string) (shared, error) {
	files, ids := share(faults, os.ReadFile)
	if len(ids) < 2 {
		return shared{}, nil
	}
	list, err := overlay(files, temp)
	if err != nil {
		return shared{}, err
	}
	s := shared{filepath.Join(temp, "test"), ids}
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-overlay="+list, "-o", s.binary, pkg)
	if out, err := cmd.CombinedOutput(); err != nil {
		return shared{}, fmt.Errorf("%w: %s", err, tail(string(out)))
	}
	return s, nil
}

// holds reports whether a fault is in the binary.
func (s shared) holds(id string) bool { return slices.Contains(s.ids, id) }

// command runs a fault's test in the binary and returns what it printed.
func (s shared) command(ctx context.Context, f fault, o options) (string, error) {
	pkg, flags, _ := f.target()
	cmd := exec.CommandContext(ctx, s.binary, flags...)
	cmd.Dir = pkg
	cmd.Env = append(o.environment(), faultVariable+"="+f.id)
	return printed(ctx, cmd)
}
