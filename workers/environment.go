package workers

import (
	"os"
	"path/filepath"
	"runtime"
	"sort"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
)

// passed lists the variables of the agent's own environment that steps see. All
// others, the server's secrets above all, they do not.
var passed = [...]string{
	"PATH", "TMPDIR", "TEMP", "TMP", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "USER", "LOGNAME",
	"SystemRoot", "ComSpec", "PATHEXT", "USERPROFILE", "LOCALAPPDATA",
	"GOPATH", "GOROOT", "GOBIN", "GOCACHE", "GOMODCACHE", "GOFLAGS", "GOPROXY", "GONOPROXY", "GOPRIVATE",
	"GOSUMDB", "GONOSUMDB", "GONOSUMCHECK", "GOINSECURE", "GOTOOLCHAIN", "GOTMPDIR", "GOENV", "GOEXPERIMENT",
	"GOMAXPROCS", "GOMEMLIMIT", "CGO_ENABLED", "CC", "CXX",
	"SSL_CERT_FILE", "SSL_CERT_DIR",
}

// markVar names the slots whose steps a process belongs to, the innermost last.
// It is how processes that left their session are found (package doc).
const markVar = "SUBMITQUEUE_SLOTS"

// maxInline is the longest list of targets, and the longest command, that is
// handed over in the environment or as an argument; Linux refuses 128 KiB.
const maxInline = 64 << 10

// environment returns the environment of a step: what is passed from base, the
// step's own, then ours, which win.
func environment(base []string, b queue.Build, j queue.Job, files slotFiles) []string {
	env := map[string]string{}
	outer := ""
	for _, pair := range base {
		name, value, _ := strings.Cut(pair, "=")
		if name == markVar {
			outer = value
		}
		for _, p := range passed {
			if p == name {
				env[name] = value
			}
		}
	}
	if env["PATH"] == "" {
		env["PATH"] = "/usr/local/bin:/usr/bin:/bin"
	}
	// The agent's own home may hold credentials; the build caches in it are
	// shared on purpose.
	env["HOME"] = files.home
	for name, dir := range caches(base) {
		if env[name] == "" {
			env[name] = dir
		}
	}
	for name, value := range j.Step.Env {
		env[name] = value
	}
	targets := strings.Join(j.Step.ToolNames(j.Targets()), "\n")
	env["CI"] = "true"
	env["PWD"] = files.checkout
	env["SUBMITQUEUE"] = "1"
	env["SUBMITQUEUE_COMMIT"] = string(b.Commit)
	env["SUBMITQUEUE_BUILD"] = string(b.ID)
	env["SUBMITQUEUE_STEP"] = j.Step.Name
	env["SUBMITQUEUE_MAIN"] = string(b.Main)
	env["SUBMITQUEUE_CHANGE"] = string(b.Change)
	env["SUBMITQUEUE_TARGETS_FILE"] = files.targets
	delete(env, "SUBMITQUEUE_TARGETS")
	if len(targets) <= maxInline {
		env["SUBMITQUEUE_TARGETS"] = targets
	}
	env[markVar] = files.root
	if outer != "" {
		env[markVar] = outer + string(os.PathListSeparator) + files.root
	}
	out := make([]string, 0, len(env))
	for name, value := range env {
		out = append(out, name+"="+value)
	}
	sort.Strings(out)
	return out
}

// caches returns where Go keeps what it has built and fetched for the agent's
// user, so that steps, whose HOME is another, do not begin with nothing.
func caches(base []string) map[string]string {
	home, cache := "", ""
	for _, pair := range base {
		switch name, value, _ := strings.Cut(pair, "="); name {
		case "HOME":
			home = value
		case "XDG_CACHE_HOME":
			cache = value
		}
	}
	if home == "" {
		return nil
	}
	switch {
	case runtime.GOOS == "darwin":
		cache = filepath.Join(home, "Library", "Caches")
	case cache == "":
		cache = filepath.Join(home, ".cache")
	}
	return map[string]string{"GOCACHE": filepath.Join(cache, "go-build"), "GOPATH": filepath.Join(home, "go")}
}

// slotFiles are the places of one slot.
type slotFiles struct {
	root     string // absolute, without symbolic links: the slot's mark
	checkout string
	home     string // HOME of the steps, kept from build to build
	targets  string // SUBMITQUEUE_TARGETS_FILE
	script   string // a command too long for an argument
}

func newSlotFiles(dir string) (slotFiles, error) {
	root, err := filepath.Abs(dir)
	if err != nil {
		return slotFiles{}, err
	}
	if err := os.MkdirAll(filepath.Join(root, "home"), 0o700); err != nil {
		return slotFiles{}, err
	}
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return slotFiles{}, err
	}
	return slotFiles{
		root:     root,
		checkout: filepath.Join(root, "checkout"),
		home:     filepath.Join(root, "home"),
		targets:  filepath.Join(root, "targets"),
		script:   filepath.Join(root, "command.sh"),
	}, nil
}
