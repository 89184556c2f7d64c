package mirror

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// GitError is a git process that failed.
type GitError struct {
	Command  string // git's subcommand
	ExitCode int    // -1 when it was killed or never started
	Stderr   string // the end of its standard error, trimmed; may hold a remote's words, which are hostile text
	Err      error  // set when it could not be started
}

func (e *GitError) Error() string {
	switch {
	case e.Err != nil:
		return fmt.Sprintf("git %s: %v", e.Command, e.Err)
	case e.Stderr == "":
		return fmt.Sprintf("git %s: exit code %d", e.Command, e.ExitCode)
	}
	return fmt.Sprintf("git %s: %s", e.Command, e.Stderr)
}

// Unwrap returns why git could not be started.
func (e *GitError) Unwrap() error { return e.Err }

// repository is a git repository on this machine, in which git runs.
type repository struct {
	dir        string
	lock       atomic.Pointer[os.File] // says that the repository is in use; nil: it is not locked
	durable    bool                    // objects are on the disk before a ref names them
	generation atomic.Int64            // how often the knowledge of its content has become void
}

// invocation is one git process to run to its end.
type invocation struct {
	args   []string
	stdin  []byte
	env    []string // added to the environment
	dir    string   // where it runs; the mirror by default
	header []string // credentials, see Remote.Header
	free   bool     // finds its repository on its own
	alone  bool     // does not hold the mirror's lock: a remote's hooks may outlive it
}

// pushes reports whether the process writes to another repository.
func (inv invocation) pushes() bool { return inv.args[0] == "push" }

// run runs git and returns its standard output and standard error. A failure is
// a *GitError, or the context's error when that ended it.
func (m *repository) run(ctx context.Context, inv invocation) (stdout, stderr []byte, err error) {
	cmd := m.command(ctx, inv)
	var out bytes.Buffer
	errs := &tail{limit: 16 << 10}
	cmd.Stdin = bytes.NewReader(inv.stdin)
	cmd.Stdout, cmd.Stderr = &out, errs
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			if cmd.Process != nil {
				endGroup(cmd.Process.Pid, inv.pushes())
			}
			return nil, nil, ctx.Err()
		}
		return out.Bytes(), errs.bytes, gitError(inv.args[0], cmd, errs, err)
	}
	return out.Bytes(), errs.bytes, nil
}

// endWithin is how long a process has to end on its own, and then again after it is
// told to end.
const endWithin = 5 * time.Second

// endGroup ends the remaining processes of a process group. gently, for processes that
// write to another repository, tells them to end first, and gives them time to remove
// their locks; then all are killed.
func endGroup(group int, gently bool) {
	if gently && syscall.Kill(-group, syscall.SIGTERM) == nil {
		for end := time.Now().Add(endWithin); time.Now().Before(end) && syscall.Kill(-group, 0) == nil; {
			time.Sleep(10 * time.Millisecond)
		}
	}
	_ = syscall.Kill(-group, syscall.SIGKILL)
}

// git runs a git command on the mirror and returns its standard output.
func (m *repository) git(ctx context.Context, args ...string) ([]byte, error) {
	out, _, err := m.run(ctx, invocation{args: args})
	return out, err
}

func (m *repository) command(ctx context.Context, inv invocation) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "git", inv.args...)
	cmd.Dir = m.dir
	if inv.dir != "" {
		cmd.Dir = inv.dir
	}
	cmd.Env = environment(inv.header)
	if !inv.free {
		cmd.Env = append(cmd.Env, "GIT_DIR="+m.dir)
	}
	cmd.Env = append(cmd.Env, inv.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		if inv.pushes() {
			// The other end may be a process on this machine, in somebody's repository. It gets
			// time to end. If git is killed, and in rare cases if it is told to end, it leaves
			// a lock there, and nobody could push to the branch any more.
			return nil
		}
		return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	cmd.WaitDelay = endWithin
	if lock := m.lock.Load(); lock != nil && !inv.alone {
		// The child inherits the lock, so that nobody takes the mirror for
		// abandoned while an orphan of a killed server still writes to it.
		cmd.ExtraFiles = []*os.File{lock}
	}
	return cmd
}

// gitConfig is the configuration of every git process, whatever the machine's own
// configuration says. Mirrors hold other people's content: no hooks, no helper
// programs, no transport that runs a command.
var gitConfig = [...][2]string{
	{"core.hooksPath", "/dev/null"},
	{"core.fsmonitor", "false"},
	{"core.autocrlf", "false"},
	{"core.attributesFile", "/dev/null"},
	{"core.excludesFile", "/dev/null"},
	{"core.logAllRefUpdates", "false"},
	{"core.quotePath", "false"},
	{"credential.helper", ""},
	{"gc.auto", "0"},
	{"maintenance.auto", "false"},
	{"fetch.recurseSubmodules", "false"},
	{"fetch.unpackLimit", "1"}, // fetched objects appear together, as a pack, or not at all
	{"submodule.recurse", "false"},
	{"push.gpgSign", "false"},
	{"push.followTags", "false"},
	{"protocol.allow", "never"},
	{"protocol.ext.allow", "never"},
	{"protocol.file.allow", "always"},
	{"protocol.https.allow", "always"},
	{"protocol.http.allow", "always"},
	{"protocol.ssh.allow", "always"},
}

// passed are the variables of our own environment that git gets. Of those that
// begin with GIT_, git gets only the ones for certificates, SSH and its programs,
// so that a developer's shell or a trace setting does not change what git does or
// prints.
var passed = [...]string{
	"PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "SSH_AUTH_SOCK", "SSL_CERT_FILE", "SSL_CERT_DIR",
	"GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "GIT_SSH_COMMAND", "GIT_EXEC_PATH",
	"http_proxy", "https_proxy", "HTTPS_PROXY", "no_proxy", "NO_PROXY", "ALL_PROXY", "all_proxy",
}

func environment(header []string) []string {
	env := []string{
		"LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_ATTR_NOSYSTEM=1", "GIT_NO_REPLACE_OBJECTS=1", "GIT_OPTIONAL_LOCKS=0",
	}
	for _, name := range passed {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	if _, ok := os.LookupEnv("GIT_SSH_COMMAND"); !ok {
		env = append(env, "GIT_SSH_COMMAND=ssh -oBatchMode=yes")
	}
	n := 0
	set := func(key, value string) {
		i := strconv.Itoa(n)
		env = append(env, "GIT_CONFIG_KEY_"+i+"="+key, "GIT_CONFIG_VALUE_"+i+"="+value)
		n++
	}
	for _, c := range gitConfig {
		set(c[0], c[1])
	}
	for _, h := range header {
		set("http.extraHeader", h)
	}
	return append(env, "GIT_CONFIG_COUNT="+strconv.Itoa(n))
}

func gitError(command string, cmd *exec.Cmd, errs *tail, err error) error {
	e := &GitError{Command: command, ExitCode: -1, Stderr: strings.TrimSpace(string(errs.bytes))}
	if cmd.ProcessState != nil {
		e.ExitCode = cmd.ProcessState.ExitCode()
	} else {
		e.Err = err
	}
	return e
}

// tail keeps the end of what is written to it.
type tail struct {
	limit int
	bytes []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.bytes = append(t.bytes, p...)
	if over := len(t.bytes) - t.limit; over > 0 {
		t.bytes = append(t.bytes[:0], t.bytes[over:]...)
	}
	return len(p), nil
}
