package cargo

import (
	"bytes"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Paths that are put together of several literals: Path::new("..").join("proto"),
// PathBuf::from(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("proto"),
// [env!("CARGO_MANIFEST_DIR"), "..", "proto"].iter().collect(). They begin with a literal that
// leads up or with the name of a variable of the environment, which stands for the folder of a
// manifest.
var (
	beginning = regexp.MustCompile(`"((?:\./)*\.\.(?:/[^"\n\\{}]*)?|\$?[A-Z][A-Z0-9_]+)"`)
	between   = regexp.MustCompile(`\A[\s)]*(?:(?:\.(?:parent|unwrap|expect|ancestors|nth|as_path|as_ref|to_path_buf|to_owned|into|clone|canonicalize)\([^()\n]*\)|\?)[\s)]*)*(?:\.(?:join|push)\(\s*&?|,\s*)"([^"\n\\{}]+)"`)
	steps     = regexp.MustCompile(`\.parent\(|\.nth\((\d)\)`)
)

// together returns the paths that literals of a Rust file make together.
func together(src []byte) []string {
	var list []string
	for _, at := range beginning.FindAllSubmatchIndex(src, -1) {
		first := string(src[at[2]:at[3]])
		where := first
		if envName(first) {
			where = ""
		}
		end, n := at[1], 0
		for {
			m := between.FindSubmatchIndex(src[end:])
			if m == nil || n > maxLiteral {
				break
			}
			glue, word := string(src[end:end+m[2]]), string(src[end+m[2]:end+m[3]])
			for _, step := range steps.FindAllStringSubmatch(glue, -1) {
				up := 1
				if step[1] != "" {
					up, _ = strconv.Atoi(step[1])
				}
				where = path.Join(where, strings.Repeat("../", up))
			}
			where = path.Join(where, strings.TrimPrefix(word, "/"))
			end, n = end+m[1], n+len(word)
		}
		if where = string(fixed([]byte(where))); n == 0 || where == "" || len(where) > maxLiteral || upward([]byte(where)) {
			continue
		}
		if wordLike([]byte(where)) && where != "src" && !slices.Contains(testDirs, where) {
			where += "/" // the folder of that name wherever the path begins
		}
		list = append(list, where)
	}
	return list
}

// behind calls f with what is before each place of a word in a text, on its line, and with
// what is after it.
func behind(src []byte, word string, f func(before, after []byte)) {
	for at := 0; ; {
		i := bytes.Index(src[at:], []byte(word))
		if i < 0 {
			return
		}
		before := src[max(0, at+i-maxLiteral) : at+i]
		at += i + len(word)
		f(before[bytes.LastIndexByte(before, '\n')+1:], src[at:min(len(src), at+maxLiteral)])
	}
}

// nameAt returns the name that a text begins with.
func nameAt(text []byte) (name string, rest []byte) {
	n := 0
	for n < len(text) && wordLike(text[n:n+1]) {
		n++
	}
	return string(text[:n]), text[n:]
}

// packagePrefix begins a literal that is the name of a package that a command of Cargo gets.
const packagePrefix = "cargo -p "

// commanded returns these names, each behind the prefix.
func commanded(src []byte) []string {
	var list []string
	for _, option := range []string{`"-p"`, `"--package"`, "-p ", "--package ", "--package=", ".package("} {
		behind(src, option, func(_, after []byte) {
			after = bytes.TrimPrefix(bytes.TrimSpace(bytes.TrimPrefix(after, []byte(")"))), []byte(".arg("))
			if name, _ := nameAt(bytes.TrimLeft(after, " ,\"\t\r\n")); name != "" {
				list = append(list, packagePrefix+name)
			}
		})
	}
	return list
}

// modulePrefix begins a literal that is the name of a module that is in a file of its own.
const modulePrefix = "mod "

// modulesOf returns these names, each behind the prefix.
func modulesOf(src []byte) []string {
	var list []string
	behind(src, "mod ", func(before, after []byte) {
		if before = bytes.TrimSpace(before); len(before) > 0 && !bytes.HasPrefix(before, []byte("pub")) && !bytes.HasSuffix(before, []byte("]")) {
			return
		}
		name, rest := nameAt(bytes.TrimPrefix(bytes.TrimLeft(after, " \t"), []byte("r#")))
		if name != "" && bytes.HasPrefix(bytes.TrimLeft(rest, " \t"), []byte(";")) {
			list = append(list, modulePrefix+name)
		}
	})
	return list
}

// envName reports whether a literal may be the name of a variable of the environment.
func envName(s string) bool {
	s = strings.TrimPrefix(s, "$")
	return len(s) > 1 && s[0] >= 'A' && s[0] <= 'Z' && !strings.ContainsFunc(s, func(r rune) bool {
		return r != '_' && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	})
}

// fixed returns the part of a path before a wildcard, "" if that is no folder.
func fixed(s []byte) []byte {
	i := strings.IndexAny(string(s), "*?[")
	if i < 0 {
		return s
	}
	return s[:max(strings.LastIndexByte(string(s[:i]), '/'), 0)]
}

// relatives are the endings of files that read others beside them by names that no Rust file
// has: interfaces, and C.
var relatives = map[string]bool{".proto": true, ".fbs": true, ".capnp": true, ".thrift": true, ".graphql": true, ".graphqls": true, ".wit": true, ".udl": true,
	".c": true, ".cc": true, ".cpp": true, ".cxx": true, ".h": true, ".hh": true, ".hpp": true, ".hxx": true, ".m": true, ".mm": true, ".s": true, ".S": true, ".asm": true, ".inc": true}
