package workers

import (
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
)

// passed lists the variables of the agent's own environment that steps see. They see no others:
// above all, none of the server's secrets.
var passed = [...]string{
	"PATH", "TMPDIR", "TEMP", "TMP", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "USER", "LOGNAME",
	"SystemRoot", "ComSpec", "PATHEXT", "USERPROFILE", "LOCALAPPDATA",
	"GOPATH", "GOROOT", "GOBIN", "GOCACHE", "GOMODCACHE", "GOFLAGS", "GOPROXY", "GONOPROXY", "GOPRIVATE",
	"GOSUMDB", "GONOSUMDB", "GONOSUMCHECK", "GOINSECURE", "GOTOOLCHAIN", "GOTMPDIR", "GOENV", "GOEXPERIMENT",
	"GOMAXPROCS", "GOMEMLIMIT", "CGO_ENABLED", "CC", "CXX",
	"SSL_CERT_FILE", "SSL_CERT_DIR",
}

// ours lists the passed variables that name the agent's user and its folders: guests do not see
// them.
var ours = [...]string{"TMPDIR", "TEMP", "TMP", "USER", "LOGNAME", "GOPATH", "GOBIN", "GOCACHE", "GOMODCACHE", "GOTMPDIR", "GOENV"}

// guestName is the user name that guests see; they have no account.
const guestName = "guest"

// markVar names the slots of the steps that a process belongs to, the innermost last. It serves
// to find processes that left their session (package doc).
const markVar = "SUBMITQUEUE_SLOTS"

// maxInline is the longest list of targets, and the longest command, that is
// handed over in the environment or as an argument; Linux refuses 128 KiB.
const maxInline = 64 << 10

// environment returns the environment of a step: the variables passed on from the agent,
// secrets, the step's own variables, then ours. A later one overrides an earlier one.
//
// The steps of a guest have separate caches and temporary files: they could not reach the
// agent's, or could change them for others.
func environment(o RunnerOptions, b queue.Build, j queue.Job, files slotFiles) []string {
	env := map[string]string{}
	base, outer := o.Env, ""
	for _, pair := range base {
		name, value, _ := strings.Cut(pair, "=")
		if name == markVar {
			outer = value
		}
		for _, p := range passed {
			if p == name && (files.guest == nil || !slices.Contains(ours[:], name)) {
				env[name] = value
			}
		}
		if slices.Contains(o.Pass, name) {
			env[name] = value
		}
	}
	for name, where := range toolchainsOf(base, files.guest != nil) {
		env[name] = where
	}
	if env["PATH"] == "" {
		env["PATH"] = "/usr/local/bin:/usr/bin:/bin"
	}
	// The agent's own home may hold credentials; the build caches in it are
	// shared on purpose.
	env["HOME"] = files.home
	if files.guest != nil {
		env["TMPDIR"], env["USER"], env["LOGNAME"] = files.tmp, guestName, guestName
		if files.guest.room != nil && roomsHaveTmp {
			env["TMPDIR"] = "/tmp" // where files.tmp is shown
		}
	} else {
		for name, dir := range caches(base) {
			if env[name] == "" {
				env[name] = dir
			}
		}
	}
	maps.Copy(env, SecretsOf(o.Secrets, b.Queue, o.Called))
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

// caches returns the folders of Go's caches of the agent's user. Steps have another HOME, and
// would begin with empty caches.
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
