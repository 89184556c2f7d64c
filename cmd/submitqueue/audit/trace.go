package audit

import (
	"path"
	"slices"
	"strconv"
	"strings"
)

// calls are the system calls that strace traces. newStrace puts a question mark before
// each, so that strace ignores one that the machine does not have.
var calls = []string{
	"open", "openat", "openat2", "creat", "open_by_handle_at", "execve", "execveat", "getdents", "getdents64", "readlink", "readlinkat",
	"stat", "lstat", "newfstatat", "statx", "stat64", "lstat64", "fstatat64", "access", "faccessat", "faccessat2",
	"link", "linkat", "rename", "renameat", "renameat2", "symlink", "symlinkat",
	"chdir", "fchdir", "clone", "clone3", "fork", "vfork",
}

// trace reads the output of strace -f -y, line by line.
type trace struct {
	*recorder
	dir       string // the folder in which the first process began
	first     int    // the first process; 0: none yet
	ended     bool   // the first process has ended
	processes map[int]*process
	begun     map[int]string // calls that have not returned, by process
	forking   []int          // processes that are starting another one, the latest last
}

func newTrace(r *recorder, dir string) *trace {
	return &trace{recorder: r, dir: dir, processes: map[int]*process{}, begun: map[int]string{}}
}

// line reads one line. It skips a line that it does not understand.
func (t *trace) line(line string) {
	number, rest, ok := strings.Cut(strings.TrimRight(line, "\n"), " ")
	pid, err := strconv.Atoi(number)
	if !ok || err != nil || pid <= 0 {
		return
	}
	p := t.process(pid)
	rest = strings.TrimLeft(rest, " ")
	switch {
	case strings.HasPrefix(rest, "+++"):
		if pid == t.first && !strings.Contains(rest, "superseded") {
			t.ended = true
		}
		delete(t.processes, pid)
		delete(t.begun, pid)
		t.forking = slices.DeleteFunc(t.forking, func(id int) bool { return id == pid })
		return
	case strings.HasPrefix(rest, "---"):
		return
	case strings.HasPrefix(rest, "<... "):
		_, tail, ok := strings.Cut(rest, " resumed>")
		before, known := t.begun[pid]
		delete(t.begun, pid)
		if !ok || !known {
			return
		}
		rest = before + tail
	case strings.HasSuffix(rest, "<unfinished ...>"):
		rest = strings.TrimSuffix(rest, "<unfinished ...>")
		t.begun[pid] = rest
		if forks(rest) {
			t.forking = append(t.forking, pid)
		}
		return
	}
	if c, ok := parseCall(rest); ok {
		t.call(pid, p, c)
	}
}

func forks(call string) bool {
	name, _, _ := strings.Cut(call, "(")
	return name == "clone" || name == "clone3" || name == "fork" || name == "vfork"
}

// process returns what is known of a process. A process that is seen before its
// parent's call has returned is taken for a child of a process that is starting one.
func (t *trace) process(pid int) *process {
	if p := t.processes[pid]; p != nil {
		return p
	}
	p := &process{cwd: t.dir, program: "sh"}
	if t.first == 0 {
		t.first = pid
	} else if n := len(t.forking); n > 0 {
		if parent := t.processes[t.forking[n-1]]; parent != nil {
			*p = *parent
		}
	}
	t.processes[pid] = p
	return p
}

// abs returns the absolute path of a name that a process uses.
func (p *process) abs(dir, name string) string {
	if path.IsAbs(name) {
		return name
	}
	if dir == "" {
		dir = p.cwd
	}
	if name == "" {
		return dir
	}
	return dir + "/" + name // not cleaned: a link may be before a ".."
}

// at is the path of a call that may have a directory; fd < 0: it has none.
func (p *process) at(c call, fd, name int) string {
	dir := ""
	if fd >= 0 {
		num, annotated := c.fd(fd)
		dir = annotated
		if num == "AT_FDCWD" && dir != "" {
			p.cwd = dir
		}
	}
	text, ok := c.text(name)
	if !ok {
		return ""
	}
	return p.abs(dir, text)
}

// call notes what one call has done.
func (t *trace) call(pid int, p *process, c call) {
	switch c.name {
	case "open", "creat":
		t.opened(p, c, p.at(c, -1, 0), c.arg(1))
	case "openat", "openat2":
		t.opened(p, c, p.at(c, 0, 1), c.arg(2))
	case "open_by_handle_at":
		t.opened(p, c, "", c.arg(2))
	case "execve":
		t.ran(p, c, p.at(c, -1, 0), 1)
	case "execveat":
		t.ran(p, c, p.at(c, 0, 1), 2)
	case "getdents", "getdents64":
		if _, dir := c.fd(0); c.good() && dir != "" {
			t.listed(dir, p)
		}
	case "readlink", "stat", "lstat", "stat64", "lstat64", "access":
		t.looked(p, p.at(c, -1, 0))
	case "readlinkat":
		t.looked(p, p.at(c, 0, 1))
	case "newfstatat", "fstatat64", "statx", "faccessat", "faccessat2":
		if text, ok := c.text(1); ok && text != "" {
			t.looked(p, p.at(c, 0, 1))
		}
	case "link", "rename":
		t.moved(p, c, p.at(c, -1, 0), p.at(c, -1, 1))
	case "linkat", "renameat", "renameat2":
		t.moved(p, c, p.at(c, 0, 1), p.at(c, 2, 3))
	case "symlink":
		if named := p.at(c, -1, 1); c.good() {
			t.wrote(named)
		}
	case "symlinkat":
		if named := p.at(c, 1, 2); c.good() {
			t.wrote(named)
		}
	case "chdir":
		if named := p.at(c, -1, 0); c.good() && named != "" {
			t.through(named, p.name())
			p.cwd = path.Clean(named)
		}
	case "fchdir":
		if _, dir := c.fd(0); c.good() && dir != "" {
			p.cwd = dir
		}
	case "clone", "clone3", "fork", "vfork":
		t.forked(pid, p, c)
	}
}

// looked notes that a path was looked up.
func (t *trace) looked(p *process, named string) {
	if named == "" {
		return
	}
	t.through(named, p.name())
	t.tested(named, p)
}

// ran notes the program that a process becomes; argument number argv of the call has its words.
func (t *trace) ran(p *process, c call, named string, argv int) {
	if !c.good() {
		t.looked(p, named)
		return
	}
	t.through(named, p.name())
	by := *p
	p.runs(named, c.texts(argv))
	t.content(named, &by)
}

// forked notes a process that another one starts.
func (t *trace) forked(pid int, p *process, c call) {
	t.forking = slices.DeleteFunc(t.forking, func(id int) bool { return id == pid })
	child, err := strconv.Atoi(c.result)
	if err != nil || child <= 0 {
		return
	}
	if t.processes[child] == nil {
		as := *p
		t.processes[child] = &as
	}
}

// opened notes an open of a file, by the real path of the file.
func (t *trace) opened(p *process, c call, named, flags string) {
	if named != "" {
		t.through(named, p.name())
	}
	_, real := c.fdOf(c.result)
	switch {
	case !c.good():
		if named != "" {
			t.tested(named, p)
		}
	case real == "":
	case c.name == "creat" || strings.Contains(flags, "O_TRUNC") || strings.Contains(flags, "O_EXCL"):
		t.wrote(real)
	case strings.Contains(flags, "O_WRONLY") || strings.Contains(flags, "O_TMPFILE"):
	case strings.Contains(flags, "O_PATH") || strings.Contains(flags, "O_DIRECTORY"):
		t.tested(real, p)
	default:
		t.content(real, p)
	}
}

// moved notes that a file has got another name: a read of the new name reads the
// commit's file of the old name.
func (t *trace) moved(p *process, c call, from, to string) {
	if !c.good() || from == "" || to == "" {
		return
	}
	t.content(from, p)
	t.wrote(to)
}

// call is one system call as strace writes it.
type call struct {
	name   string
	args   []string
	result string
}

// parseCall splits "openat(AT_FDCWD</w>, "x", O_RDONLY) = 3</w/x>".
func parseCall(s string) (call, bool) {
	open := strings.IndexByte(s, '(')
	if open <= 0 {
		return call{}, false
	}
	c := call{name: s[:open]}
	depth, from := 0, open+1
	for i := open + 1; i < len(s); i++ {
		switch s[i] {
		case '"':
			for i++; i < len(s) && s[i] != '"'; i++ {
				if s[i] == '\\' {
					i++
				}
			}
		case '<':
			// The path of a descriptor, in which "<" and ">" are escaped.
			if end := strings.IndexByte(s[i:], '>'); end > 0 && i > 0 && (s[i-1] >= '0' && s[i-1] <= '9' || s[i-1] == 'D') {
				i += end
			}
		case '(', '[', '{':
			depth++
		case ']', '}':
			depth--
		case ',':
			if depth == 0 {
				c.args = append(c.args, strings.TrimSpace(s[from:i]))
				from = i + 1
			}
		case ')':
			if depth > 0 {
				depth--
				continue
			}
			if last := strings.TrimSpace(s[from:i]); last != "" || len(c.args) > 0 {
				c.args = append(c.args, last)
			}
			_, result, ok := strings.Cut(s[i+1:], "= ")
			c.result = strings.TrimSpace(result)
			return c, ok
		}
	}
	return call{}, false
}

func (c *call) arg(i int) string {
	if i < len(c.args) {
		return c.args[i]
	}
	return ""
}

// good reports whether the call has succeeded.
func (c *call) good() bool {
	return c.result != "" && c.result[0] >= '0' && c.result[0] <= '9'
}

// fd returns a descriptor among the arguments, and the path that strace says it has.
func (c *call) fd(i int) (number, at string) { return c.fdOf(c.arg(i)) }

func (c *call) fdOf(text string) (number, at string) {
	number, at, ok := strings.Cut(text, "<")
	end := strings.IndexByte(at, '>')
	if !ok || end < 0 || !strings.HasPrefix(at, "/") {
		return number, ""
	}
	if strings.HasPrefix(at[end+1:], "(deleted)") {
		return number, ""
	}
	return number, unescaped(at[:end])
}

// text returns an argument that is a string.
func (c *call) text(i int) (string, bool) { return unquoted(c.arg(i)) }

// texts returns an argument that is a list of strings.
func (c *call) texts(i int) []string {
	inner, ok := strings.CutPrefix(c.arg(i), "[")
	if !ok {
		return nil
	}
	list, ok := parseCall("list(" + strings.TrimSuffix(inner, "]") + ") = 0")
	if !ok {
		return nil
	}
	var out []string
	for i := range list.args {
		if text, ok := list.text(i); ok {
			out = append(out, text)
		}
	}
	return out
}

func unquoted(s string) (string, bool) {
	s, ok := strings.CutPrefix(s, `"`)
	if !ok {
		return "", false
	}
	s, ok = strings.CutSuffix(s, `"`)
	return unescaped(s), ok
}

// unescaped undoes strace's escapes of unusual bytes: \n, \", \303.
func unescaped(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		if letter := strings.IndexByte("ntrvfab", s[i]); letter >= 0 {
			b.WriteByte("\n\t\r\v\f\a\b"[letter])
			continue
		}
		n, digits := 0, 0
		for digits < 3 && i+digits < len(s) && s[i+digits] >= '0' && s[i+digits] <= '7' {
			n = n*8 + int(s[i+digits]-'0')
			digits++
		}
		if digits == 0 {
			b.WriteByte(s[i])
			continue
		}
		b.WriteByte(byte(n))
		i += digits - 1
	}
	return b.String()
}
