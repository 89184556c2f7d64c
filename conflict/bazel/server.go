package bazel

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/checkout"
)

// Bounds of Bazel.
const (
	heap        = "1g"      // of a server
	idle        = 900       // seconds after which a forgotten server ends on its own
	maxOutput   = 512 << 20 // bytes of an answer
	goneTimeout = 5 * time.Second

	fetchTimeout = 10 * time.Minute // at least, as files may have to be downloaded
)

// server is the Bazel server that lives beside one checkout.
type server struct {
	program string
	dir     *checkout.Dir
	keep    string
	timeout time.Duration
}

// newServer returns the server of a checkout. It starts with the first query.
func newServer(program string, d *checkout.Dir, timeout time.Duration) (*server, error) {
	s := &server{program: program, dir: d, timeout: timeout}
	keep, err := d.Keep(Name, func() error { return kill(filepath.Join(s.keep, "base")) })
	s.keep = keep
	return s, err
}

// startup are Bazel's startup options: no rc file of the tree or of a home is
// read, and all files of the server are in its own folder.
func (s *server) startup(base string) []string {
	return []string{s.program, "--nohome_rc", "--noworkspace_rc", "--output_user_root=" + filepath.Join(s.keep, "root"),
		"--output_base=" + base, "--host_jvm_args=-Xmx" + heap, "--max_idle_secs=" + strconv.Itoa(idle)}
}

// asking are the options of every query: nothing is downloaded, and the output
// does not depend on places in files or on the disk.
var asking = []string{"--experimental_repository_disable_download", "--color=no", "--curses=no", "--noshow_progress", "--order_output=no",
	"--output=streamed_proto", "--noproto:locations", "--noproto:flatten_selects", "--proto:default_values"}

// query returns Bazel's answer about all targets of packages, as a stream. The deleted
// ones are none.
func (s *server) query(ctx context.Context, dirs, deleted []string) ([]byte, error) {
	var b strings.Builder
	b.WriteString("set(")
	for _, dir := range dirs {
		fmt.Fprintf(&b, "\"//%s:all-targets\"\n", dir)
	}
	b.WriteString(")")
	file := filepath.Join(s.keep, "query")
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		return nil, fmt.Errorf("bazel: %w: %w", conflict.ErrProvisional, err)
	}
	argv := append(append(s.startup(filepath.Join(s.keep, "base")), "query", "--query_file="+file), asking...)
	if len(deleted) > 0 {
		argv = append(argv, "--deleted_packages="+strings.Join(deleted, ","))
	}
	out, err := s.run(ctx, argv)
	if failed := (*checkout.RunError)(nil); errors.As(err, &failed) && failed.Failed {
		out, err = s.run(ctx, argv) // a server's first start on a busy machine may fail
	}
	return out, explain(err)
}

func (s *server) run(ctx context.Context, argv []string) ([]byte, error) {
	p := checkout.Program{Argv: argv, Dir: s.dir.Tree, Timeout: s.timeout, Output: maxOutput, Raw: true,
		Env: []string{"BAZELISK_SKIP_WRAPPER=true"}}
	out, err := s.dir.Run(ctx, p)
	if failed := (*checkout.RunError)(nil); err != nil && !(errors.As(err, &failed) && failed.Failed) {
		err = errors.Join(err, kill(filepath.Join(s.keep, "base"))) // it would go on though nobody listens any more
	}
	return out, err
}

// Exit statuses of Bazel that are the fault of a tree.
const (
	exitLoading = 7 // some package cannot be loaded
	exitBuild   = 1
)

// explain turns an error of a run into one for people. A failure that is not
// the tree's fault is provisional.
func explain(err error) error {
	failed := (*checkout.RunError)(nil)
	if !errors.As(err, &failed) {
		return err
	}
	said := clean(failed.Last)
	if failed.Failed && (failed.Code == exitLoading || failed.Code == exitBuild) {
		return fmt.Errorf("bazel query: %s", said)
	}
	reason := failed.Reason
	if said != "" {
		reason += ": " + said
	}
	return fmt.Errorf("bazel query: %s: %w", reason, conflict.ErrProvisional)
}

// clean removes the lines from Bazel's messages that are always there.
func clean(said string) string {
	var lines []string
	for line := range strings.SplitSeq(said, "\n") {
		noise := false
		for _, prefix := range []string{"Starting local Bazel server", "Loading:", "INFO:", "WARNING: Running Bazel server needs", "Extracting Bazel"} {
			noise = noise || strings.HasPrefix(line, prefix)
		}
		if !noise && strings.TrimSpace(line) != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// kill ends the server of an output base, if there is one. The server's memory
// only saves time.
func kill(base string) error {
	text, err := os.ReadFile(filepath.Join(base, "server", "server.pid.txt"))
	if err != nil {
		return nil // there is none, or it has ended
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid <= 1 || !ours(pid, base) {
		return nil
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("end the bazel server %d: %w", pid, err)
	}
	for end := time.Now().Add(goneTimeout); time.Now().Before(end) && ours(pid, base); {
		time.Sleep(5 * time.Millisecond)
	}
	return nil
}

// ours reports whether a process is the server of an output base. If the system
// cannot tell, the file in the base that names it is believed.
func ours(pid int, base string) bool {
	args, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	if errors.Is(err, fs.ErrNotExist) {
		_, err := os.Stat("/proc/self/cmdline")
		return err != nil && syscall.Kill(pid, 0) == nil
	}
	return err != nil || strings.Contains(string(args), base)
}
