package audit

import (
	"bytes"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// traced reads lines as of a command in /w/tree, whose link "l" is the commit's.
func traced(t testing.TB, text string) (Reads, error) {
	t.Helper()
	return newRecorder("/w/tree", []string{"l", "dir-l"}).strace(strings.NewReader(text))
}

func TestTrace(t *testing.T) {
	by := func(program string, files ...string) map[string][]string {
		m := map[string][]string{}
		for _, f := range files {
			m[f] = []string{program}
		}
		return m
	}
	for name, tt := range map[string]struct {
		lines string
		want  Reads
	}{
		"an open":                   {`1 openat(AT_FDCWD</w/tree>, "a/b", O_RDONLY|O_CLOEXEC) = 3</w/tree/a/b>`, Reads{Content: by("sh", "a/b")}},
		"an open of an open folder": {`1 openat(5</w/tree/a>, "../c", O_RDONLY) = 3</w/tree/c>`, Reads{Content: by("sh", "c")}},
		"by number alone":           {`1 open("/w/tree/x", O_RDWR) = 3</w/tree/x>`, Reads{Content: by("sh", "x")}},
		"openat2":                   {`1 openat2(AT_FDCWD</w/tree>, "x", {flags=O_RDONLY, resolve=0}, 24) = 3</w/tree/x>`, Reads{Content: by("sh", "x")}},
		"outside":                   {`1 openat(AT_FDCWD</w/tree>, "../tree2/x", O_RDONLY) = 3</w/tree2/x>`, Reads{}},
		"of git's own":              {`1 openat(AT_FDCWD</w/tree>, ".git/HEAD", O_RDONLY) = 3</w/tree/.git/HEAD>`, Reads{}},
		"for writing":               {`1 openat(AT_FDCWD</w/tree>, "x", O_WRONLY|O_CREAT|O_APPEND, 0666) = 3</w/tree/x>`, Reads{}},
		"what was written before": {"1 openat(AT_FDCWD</w/tree>, \"x\", O_WRONLY|O_CREAT|O_TRUNC, 0666) = 3</w/tree/x>\n" +
			`1 openat(AT_FDCWD</w/tree>, "x", O_RDONLY) = 3</w/tree/x>`, Reads{}},
		"what is written after": {"1 openat(AT_FDCWD</w/tree>, \"x\", O_RDONLY) = 3</w/tree/x>\n" +
			`1 openat(AT_FDCWD</w/tree>, "x", O_WRONLY|O_TRUNC) = 3</w/tree/x>`, Reads{Content: by("sh", "x")}},
		"not there":      {`1 openat(AT_FDCWD</w/tree/a>, "x", O_RDONLY) = -1 ENOENT (No such file or directory)`, Reads{Tested: by("sh", "a/x")}},
		"a lookup":       {`1 newfstatat(AT_FDCWD</w/tree>, "x", {st_mode=S_IFREG|0644, st_size=1, ...}, 0) = 0`, Reads{Tested: by("sh", "x")}},
		"of the open":    {`1 newfstatat(3</w/tree/x>, "", {st_mode=S_IFREG|0644, ...}, AT_EMPTY_PATH) = 0`, Reads{}},
		"an old lookup":  {`1 stat("./x", 0x7ffd) = -1 ENOENT (No such file or directory)`, Reads{Tested: by("sh", "x")}},
		"a folder":       {"1 openat(AT_FDCWD</w/tree>, \".\", O_RDONLY|O_DIRECTORY) = 3</w/tree>\n1 getdents64(3</w/tree>, 0x55 /* 3 entries */, 32768) = 72", Reads{Listed: by("sh", ".")}},
		"through a link": {`1 openat(AT_FDCWD</w/tree>, "dir-l/x", O_RDONLY) = 3</w/tree/dir/x>`, Reads{Content: by("sh", "dir-l", "dir/x")}},
		"a link":         {`1 readlink("l", "to", 4095) = 2`, Reads{Content: by("sh", "l")}},
		"a program": {"1 execve(\"./tool\", [\"./tool\", \"-x\"], 0x7ffd /* 9 vars */) = 0\n" +
			`1 openat(AT_FDCWD</w/tree>, "x", O_RDONLY) = 3</w/tree/x>`, Reads{Content: map[string][]string{"tool": {"sh"}, "x": {"tool"}}}},
		"git status": {"1 execve(\"/usr/bin/git\", [\"git\", \"-C\", \"status\", \"status\", \"-s\"], 0x7ffd /* 9 vars */) = 0\n" +
			`1 openat(AT_FDCWD</w/tree>, "x", O_RDONLY) = 3</w/tree/x>`, Reads{Scanned: by("git status", "x")}},
		"git grep": {"1 execve(\"/usr/bin/git\", [\"git\", \"grep\"], 0x7ffd /* 9 vars */) = 0\n" +
			`1 openat(AT_FDCWD</w/tree>, "x", O_RDONLY) = 3</w/tree/x>`, Reads{Content: by("git grep", "x")}},
		"the go command": {"1 execve(\"/go/bin/go\", [\"go\", \"vet\"], 0x7ffd /* 9 vars */) = 0\n" +
			"1 openat(AT_FDCWD</w/tree>, \"b/b_test.go\", O_RDONLY) = 3</w/tree/b/b_test.go>\n" +
			`1 openat(AT_FDCWD</w/tree>, "b/b.go", O_RDONLY) = 3</w/tree/b/b.go>`, Reads{Content: by("go", "b/b.go"), Scanned: by("go", "b/b_test.go")}},
		"in a folder": {"1 chdir(\"a\") = 0\n1 access(\"x\", R_OK) = 0", Reads{Tested: by("sh", "a/x")}},
		"a child": {"1 chdir(\"a\") = 0\n1 clone(child_stack=NULL, flags=SIGCHLD) = 2\n1 chdir(\"/\") = 0\n2 access(\"x\", R_OK) = 0",
			Reads{Tested: by("sh", "a/x")}},
		"a child before its parent": {"1 chdir(\"a\") = 0\n1 vfork( <unfinished ...>\n2 access(\"x\", R_OK) = 0\n1 <... vfork resumed>) = 2",
			Reads{Tested: by("sh", "a/x")}},
		"calls at once": {"1 openat(AT_FDCWD</w/tree>, \"x\" <unfinished ...>\n2 openat(AT_FDCWD</w/tree>, \"y\", O_RDONLY) = 3</w/tree/y>\n" +
			"1 <... openat resumed>, O_RDONLY) = 3</w/tree/x>", Reads{Content: by("sh", "x", "y")}},
		"odd names": {`1 openat(AT_FDCWD</w/tree>, "a \"b\", (c\76\n\303\251", O_RDONLY) = 3</w/tree/a "b", (c\76\n\303\251>`,
			Reads{Content: by("sh", "a \"b\", (c>\né")}},
		"another name": {"1 rename(\"x\", \"y\") = 0\n1 open(\"y\", O_RDONLY) = 3</w/tree/y>", Reads{Content: by("sh", "x")}},
		"removed":      {`1 open("x", O_RDONLY) = 3</w/tree/x>(deleted)`, Reads{}},
		"a signal":     {"1 --- SIGCHLD {si_signo=SIGCHLD} ---", Reads{}},
		"no line":      {"strace: Process 7 attached\n\n1\n1 x\n1 x(\n1 <... y resumed>) = 0\nx y(1) = 0", Reads{}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := traced(t, "1 execve(\"/bin/sh\", [\"sh\"], 0x7f /* 9 vars */) = 0\n"+tt.lines+"\n1 +++ exited with 0 +++\n")
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range []*map[string][]string{&tt.want.Content, &tt.want.Listed, &tt.want.Tested, &tt.want.Scanned} {
				if *m == nil {
					*m = map[string][]string{}
				}
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestTraceThatEndsEarly(t *testing.T) {
	for _, text := range []string{"", "1 open(\"x\", O_RDONLY) = 3</w/tree/x>\n", "1 getpid() = 1\n2 +++ exited with 0 +++\n", "1 +++ superseded by execve in pid 3 +++\n"} {
		if _, err := traced(t, text); err == nil {
			t.Errorf("%q is taken for a whole trace", text)
		}
	}
	if _, err := traced(t, "1 getpid() = 1\n1 +++ killed by SIGKILL +++\n"); err != nil {
		t.Error(err)
	}
}

func FuzzTrace(f *testing.F) {
	f.Add([]byte("1 openat(AT_FDCWD</w/tree>, \"a\\303\\251\", O_RDONLY) = 3</w/tree/a\\303\\251>\n1 +++ exited with 0 +++"))
	f.Add([]byte("1 vfork( <unfinished ...>\n2 execve(\"x\", [\"git\", \"-c\"], 0x0) = 0\n1 <... vfork resumed>) = 2\n1 chdir(\"../tree/l\") = 0\n1 rename(\"x\", \"..\") = 0"))
	f.Add([]byte("1 openat2(3<, \"\\"))
	f.Fuzz(func(t *testing.T, in []byte) {
		r := newRecorder("/w/tree", []string{"l"})
		tr := newTrace(r, r.root)
		for line := range bytes.Lines(in) {
			tr.line(string(line))
		}
		got := r.done()
		for _, m := range []map[string][]string{got.Content, got.Listed, got.Tested, got.Scanned} {
			for file := range m {
				if file != path.Clean(file) || path.IsAbs(file) || file == ".." || strings.HasPrefix(file, "../") {
					t.Fatalf("%q is no path inside of the checkout", file)
				}
			}
		}
	})
}
