package gn

import (
	"strings"
	"testing"
)

func TestDotfileHasPlainValuesOnly(t *testing.T) {
	dot, _, err := makeDotfile("# c\nbuildconfig=\"//b/C.gn\"root = \"//x\"\ndefault_args = { a = -1 b = [ \"x\", true ] + [] c = { d = {} } }\nscript_executable = \"\"\nno_check_targets += 1\n")
	if err == nil {
		t.Fatalf("+= was taken: %s", dot)
	}
	dot, config, err := makeDotfile("# c\nbuildconfig=\"//b/C.gn\"root = \"//x\"\ndefault_args = { a = -1 b = [ \"x\", true ] + [] c = { d = {} } }\nscript_executable = \"\"\n")
	const want = `exec_script_whitelist = [] buildconfig = "//b/C.gn" root = "//x" default_args = { a = -1 b = [ "x" , true ] + [ ] c = { d = { } } }`
	if err != nil || config != "b/C.gn" || strings.Join(strings.Fields(dot), " ") != want {
		t.Errorf("%v, %q:\n%s", err, config, dot)
	}
	for _, src := range []string{"buildconfig = \"//x/$y.gn\"", "buildconfig = \"//a.gn\" + \"b\"", "buildconfig = x", "buildconfig = \"//a.gn\"\nbuildconfig = \"//b.gn\"",
		"buildconfig", "= 1", "buildconfig = ", "buildconfig = [", "buildconfig = \"//a.gn\" ]", "if (true) { }", "a = b(c)", "a = \"\x00\"", "a = 1\x00"} {
		if _, _, err := makeDotfile(src); err == nil {
			t.Errorf("%q was taken", src)
		}
	}
}

func TestWhatAFileNeeds(t *testing.T) {
	got, _, err := needs("a/BUILD.gn", "template(\"t\") {\n if (x) { import(\"//t.gni\") }\n}\n# import(\"no.gni\")\nimport(\"x.gni\") import ( \"//b/y.gni\" )\nx = \"import(\\\"no.gni\\\")\"\nread_file(\"../n\", \"string\")\n")
	if err != nil || strings.Join(got, " ") != "t.gni a/x.gni b/y.gni n" {
		t.Errorf("%q, %v", got, err)
	}
	for _, src := range []string{"import(x)", "import(\"a.gni\" + x)", "import(\"$x.gni\")", "import(\"\\$x.gni\")", "import", "import(", "import(\"a.gni\"",
		"import(\"/etc/x.gni\")", "import(\"../../x.gni\")", "import(\"///x.gni\")", "import(\"x.txt\")", "read_file(\"/etc/passwd\", \"\")", "exec_script(\"x\")",
		"read_file([\"x\"])", "template(\"t\") { import(\"x.gni\") }", "template(\"t\") {\n a = { b = 1 }\n if (b) { a = read_file(\"x\", \"string\") } }", "x = \"${exec_script}\"", "x = \"\nimport(y)\n\""} {
		if got, _, err := needs("a/BUILD.gn", src); err == nil {
			t.Errorf("%q needs %q", src, got)
		}
	}
}

// Whatever .gn holds, GN's own reading of what is made of it has no call.
func FuzzDotfile(f *testing.F) {
	f.Add("buildconfig = \"//b/C.gn\"\ndefault_args = { a = -1 b = [ \"x\", true ] }\n")
	f.Add("buildconfig = \"//b/C.gn\" # \"\nroot = \"\\\"\" exec_script(\"x\")")
	f.Fuzz(func(t *testing.T, src string) {
		dot, _, err := makeDotfile(src)
		if err != nil {
			return
		}
		list, err := tokens(dot)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(dot, "exec_script_whitelist = []\n") || strings.Count(dot, "whitelist = ") != 1 && !strings.Contains(src, "whitelist") {
			t.Fatalf("the whitelist: %s", dot)
		}
		for _, x := range list {
			if x.kind == sign && strings.ContainsAny(x.text, "().$") || x.kind == text && !plain(x.text) {
				t.Fatalf("it has %q", x.text)
			}
		}
	})
}
