package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/submitqueue/submitqueue/"

// arrows says which packages of the module each package may import, the
// longest prefix first. A package that is not here may import nothing of ours.
var arrows = []struct {
	pkg     string
	imports []string
	why     string
}{
	{"cmd/submitqueue/demo", []string{"cmd/submitqueue/print", "queue"}, "the demo judges the product from outside; it sees views and git, not the core"},
	{"cmd/submitqueue/chaos", []string{"cmd/submitqueue/print"}, "it judges the product from outside: processes, git and the API"},
	{"cmd/submitqueue/audit", []string{"conflict", "queue"}, "it judges what a command has read against hashes; what runs the command is the caller's"},
	{"cmd/submitqueue/doctor", []string{"app/docs", "cmd/submitqueue/print", "forge", "forge/github", "forge/gitlab", "queue", "workers/forgeci/gitlabci", "workers/forgeci/workflow"}, "the doctor judges what an adapter has seen; it asks nobody itself"},
	{"cmd/submitqueue/demo/live", []string{"app", "app/texts", "cmd/submitqueue/demo", "cmd/submitqueue/print", "cmd/submitqueue/server", "forge", "forge/forgetest", "forge/forgetest/gitlab", "forge/github", "forge/gitlab", "queue", "speculation"}, "it puts the product beside a simulated forge; who judges it stays apart"},
	{"cmd/submitqueue/server/servertest", nil, "a browser for tests; the server is what they start"},
	{"cmd/submitqueue/server", []string{"*"}, "the one place that names concrete adapters and wires them"},
	{"cmd/submitqueue/analyzers", []string{"*"}, "the one place that names the build systems"},
	{"cmd/submitqueue/bench", []string{"*"}, "it measures any part, from outside"},
	{"cmd/submitqueue/ask", []string{"app/access", "app/api", "app/texts", "cmd/submitqueue/client", "cmd/submitqueue/explain", "cmd/submitqueue/print", "queue"}, "it asks a server and can do nothing itself"},
	{"cmd/submitqueue/cacheflags", []string{"workers", "workers/cache", "workers/cache/s3"}, "flags of two commands; what is kept is the runners'"},
	{"cmd/submitqueue/runner", []string{"app/api", "cmd/submitqueue/cacheflags", "cmd/submitqueue/client", "cmd/submitqueue/print", "workers", "workers/agent", "workers/coordinator"}, "machines that run builds, from their end, and the file of their tokens; no queue is decided there"},
	{"cmd/submitqueue/explain", []string{"app/api", "app/texts", "app/web", "cmd/submitqueue/client", "cmd/submitqueue/doctor", "cmd/submitqueue/githubapp", "cmd/submitqueue/gitlabaccount", "cmd/submitqueue/print", "forge/github", "forge/gitlab", "forge/mirror", "queue/redisstore"}, "it shows what a server or a forge answers; what it could reach beyond, it would decide"},
	{"cmd/submitqueue/inspect", []string{"app", "cmd/submitqueue/analyzers", "cmd/submitqueue/audit", "cmd/submitqueue/print", "conflict", "conflict/index", "conflict/checkout", "forge", "forge/mirror", "queue", "queue/config", "workers"}, "it looks at a clone as the queue does; no server, no code host, no store"},
	{"cmd/submitqueue/config", []string{"cmd/submitqueue/analyzers", "cmd/submitqueue/doctor", "cmd/submitqueue/inspect", "cmd/submitqueue/print", "queue/config", "workers/forgeci/gitlabci"}, "it reads and writes one file"},
	{"cmd/submitqueue/simulate", []string{"cmd/submitqueue/client", "cmd/submitqueue/history", "cmd/submitqueue/model", "cmd/submitqueue/print", "queue", "queue/history", "speculation/predict", "speculation/sim"}, "flags and tables; the world is the simulator's"},
	{"cmd/submitqueue/history", []string{"app/api", "cmd/submitqueue/client", "cmd/submitqueue/print", "queue", "queue/history"}, "rows from one place to another; what follows from them is of whoever reads them"},
	{"cmd/submitqueue/model", []string{"app/api", "cmd/submitqueue/client", "cmd/submitqueue/history", "cmd/submitqueue/print", "queue", "speculation/predict"}, "rows in, models and tables out; no queue is run by it"},
	{"cmd/submitqueue/client", []string{"app/api", "cmd/submitqueue/print", "queue"}, "it speaks the API; the server's insides are not at its end of the wire"},
	{"cmd/submitqueue/githubapp", []string{"cmd/submitqueue/print"}, "credentials in a file; who uses them is the caller's"},
	{"cmd/submitqueue/gitlabaccount", []string{"cmd/submitqueue/print"}, "a token and a secret in files; who uses them is the caller's"},
	{"cmd/submitqueue/setup", []string{"cmd/submitqueue/doctor", "cmd/submitqueue/gitlabaccount", "cmd/submitqueue/print", "forge", "forge/gitlab"}, "it makes what the doctor would miss; no server, queue or store can be reached from it"},
	{"cmd/submitqueue/print", nil, "it prints what it is given; words about a queue are of those that know queues"},
	{"cmd/submitqueue", []string{"app/docs", "cmd/submitqueue/ask", "cmd/submitqueue/bench", "cmd/submitqueue/chaos", "cmd/submitqueue/client", "cmd/submitqueue/config", "cmd/submitqueue/demo/live", "cmd/submitqueue/explain", "cmd/submitqueue/history", "cmd/submitqueue/inspect", "cmd/submitqueue/model", "cmd/submitqueue/print", "cmd/submitqueue/runner", "cmd/submitqueue/server", "cmd/submitqueue/setup", "cmd/submitqueue/simulate"}, "the table of commands; what a command does is of its package"},
	{"app/docs", nil, "texts for people; they say nothing of one server"},
	{"app/web", []string{"app/docs", "app/texts", "queue"}, "pages render facts; they decide and fetch nothing"},
	{"app/api", []string{"app/access", "app/texts", "app/web", "forge", "queue"}, "it shows what a source gives it; no turn, store or worker can be reached from it"},
	{"app/intake", []string{"forge", "queue"}, "it puts what the forge says into inboxes; it knows no state"},
	{"app/texts", []string{"queue", "workers"}, "words are made of facts alone: the same facts give the same text, whoever shows it"},
	{"app/notify", []string{"app/texts", "queue"}, "it tells people what a history says; no turn, forge or worker can be reached from it"},
	{"app/access", nil, "it says who may come in; it knows no HTTP, no queue and no forge"},
	{"app", []string{"app/access", "app/api", "app/docs", "app/intake", "app/notify", "app/texts", "app/web", "speculation", "speculation/predict", "conflict", "queue", "forge", "forge/mirror", "workers"}, "the service knows ports, never an adapter: a second forge, store or build system must not touch it"},
	{"speculation/predict", []string{"queue"}, "models see facts; they cannot reach what decides"},
	{"speculation/sim", []string{"speculation", "speculation/predict", "queue"}, "the simulator plays the world for the very core that the server runs; no adapter may help it"},
	{"speculation/culprit", nil, "sets in, chances out: it knows no queue"},
	{"speculation/derived", []string{"speculation/culprit", "speculation/predict", "conflict/index", "queue"}, "facts follow from the state; whoever decides or plans reads them, and they know neither"},
	{"speculation/plan", []string{"speculation/derived", "queue"}, "a planner reads facts and proposes: what could give a verdict cannot be reached from it"},
	{"speculation", []string{"speculation/derived", "speculation/plan", "speculation/predict", "conflict", "conflict/index", "queue"}, "the decision core is pure: no forge, worker or store can be reached from it"},
	{"conflict/conflicttest", []string{"conflict", "conflict/index", "queue"}, "a fake of the port"},
	{"conflict/synth", nil, "graphs of numbers for benchmarks; what they are turned into is the benchmark's"},
	{"conflict/bazel", []string{"conflict", "conflict/checkout", "queue"}, "it runs a tool, in a checkout"},
	{"conflict/command", []string{"conflict", "conflict/checkout", "conflict/internal/layout", "queue"}, "it runs a program, in a checkout"},
	{"conflict/gn", []string{"conflict", "conflict/checkout", "conflict/internal/layout", "queue"}, "it runs a tool, in a checkout"},
	{"conflict/index/internal/names", nil, "a table of numbers; what they stand for is the index's"},
	{"conflict/index/internal/rows", []string{"conflict/index/internal/names"}, "bits by number; what they stand for is the index's"},
	{"conflict/index", []string{"conflict", "conflict/index/internal/names", "conflict/index/internal/rows", "conflict/internal/sorted", "queue"}, "it compares footprints; which trees and hashes they are of is not its concern"},
	{"conflict/internal/sorted", nil, "lists of names; what they name is the caller's"},
	{"conflict/cargo", []string{"conflict", "conflict/internal/layout", "queue"}, "it reads trees through the port"},
	{"conflict/node", []string{"conflict", "conflict/internal/layout", "queue"}, "it reads trees through the port"},
	{"conflict/paths", []string{"conflict", "conflict/internal/layout", "queue"}, "it reads trees through the port"},
	{"conflict/several", []string{"conflict", "conflict/internal/layout", "queue"}, "it reads trees through the port, and has other analyzers read theirs"},
	{"conflict/internal/layout", []string{"conflict"}, "files by path; what they mean is the analyzer's"},
	{"conflict/", []string{"conflict", "queue"}, "an analyzer knows its port; analyzers never import one another"},
	{"conflict", []string{"conflict/internal/sorted", "queue"}, "the conflict core reads trees through its own interface"},
	{"forge/forgetest/conform", []string{"forge", "queue"}, "one suite for all forges; it knows the port, and no adapter"},
	{"forge/forgetest/contract", []string{"forge/forgetest", "queue/storetest"}, "it judges the simulated forge, for tests only"},
	{"forge/forgetest/gitlab/described", []string{"forge/forgetest/gitlab", "queue/storetest"}, "it judges the simulated GitLab, for tests only"},
	{"forge/forgetest/live", nil, "a script of pages"},
	{"forge/forgetest/markdown", nil, "it shows texts on pages"},
	{"forge/forgetest/gitlab", []string{"forge/forgetest/live", "forge/forgetest/markdown"}, "a simulated forge that shared code with the product would share its mistakes"},
	{"forge/forgetest", []string{"forge/forgetest/live", "forge/forgetest/markdown"}, "a simulated forge that shared code with the product would share its mistakes"},
	{"forge/lfs", nil, "a protocol and a store of contents; where a pointer stands is the mirror's"},
	{"forge/mirror/upload", []string{"forge/lfs", "forge/mirror", "queue"}, "it gives away what the mirror has; which token opens what, it is told"},
	{"forge/mirror", []string{"forge", "forge/lfs", "queue"}, "git is the same for every forge: of the port it takes addresses and errors, and it asks no host"},
	{"forge/local", []string{"forge", "forge/mirror", "queue"}, "its repository is the forge: requests are documents that the mirror's Store keeps in it"},
	{"forge/", []string{"forge", "queue"}, "an adapter imports its port and one SDK; adapters never import one another"},
	{"forge", []string{"queue"}, "the port must not depend on what is built on it"},
	{"queue/storetest", []string{"queue"}, "one suite for all stores"},
	{"queue/config", []string{"queue/digest", "queue/spell"}, "the file's rules are a leaf: no state, event or action can reach into what a file means"},
	{"queue/digest", nil, "a hash of fields; what they say is the caller's"},
	{"queue/sole", nil, "a folder and its process; what is in the folder is the caller's"},
	{"queue/redisstore", []string{"queue", "queue/sole"}, "a store knows its port; stores never import one another"},
	{"queue/spell", nil, "words that people have written; what they mean is the caller's"},
	{"queue/", []string{"queue"}, "a store knows its port; stores never import one another"},
	{"queue", []string{"queue/config", "queue/digest", "queue/spell"}, "the vocabulary imports its own leaves only: whatever it imported, everything would"},
	{"workers/forgeci/gitlabci", nil, "it reads files of GitLab's CI and judges; what follows from that is the caller's"},
	{"workers/forgeci/workflow", nil, "it reads files of GitHub Actions and judges; what follows from that is the caller's"},
	{"workers/forgeci", []string{"workers", "workers/forgeci/workflow", "forge", "forge/mirror", "queue"}, "it is where a build meets the forge: it drives one port and is the other"},
	{"workers/cage", nil, "it keeps a command apart; what the command is for is the caller's"},
	{"workers/cache/s3", []string{"workers/cache"}, "one store of the port, with its SDK"},
	{"workers/cache", []string{"queue"}, "it keeps folders; which builds may have them is the runner's"},
	{"workers/agent", []string{"workers", "workers/protocol"}, "it is the other end of the protocol, on another machine"},
	{"workers/coordinator", []string{"queue", "workers", "workers/cache", "workers/protocol", "workers/report"}, "it hands the pool's work to whoever speaks the protocol; where a commit is, it is told"},
	{"workers/report", []string{"queue"}, "it reads what a step has said, wherever the step was run"},
	{"workers", []string{"queue", "queue/sole", "workers/cache", "workers/cage", "workers/report"}, "runners know builds, not plans"},
}

// vocabulary are the leaves that package queue speaks in: whoever may import queue may
// import them.
var vocabulary = []string{"queue/config", "queue/digest"}

// outside says which packages beyond the module are kept to which places.
var outside = []struct {
	prefix string
	only   []string
	why    string
}{
	{"github.com/google/go-github", []string{"forge/github"}, "GitHub's types end at its adapter"},
	{"github.com/bradleyfalzon/ghinstallation", []string{"forge/github"}, "credentials end at the adapter"},
	{"github.com/xanzy/go-gitlab", []string{"forge/gitlab"}, "GitLab's types end at its adapter"},
	{"github.com/redis/go-redis", []string{"queue/redisstore"}, "Redis is one way to store"},
	{"github.com/labstack/echo", []string{"app", "app/api"}, "HTTP routing ends at the service"},
	{"github.com/prometheus", []string{"app"}, "metrics are the service's"},
	{"github.com/santhosh-tekuri/jsonschema", []string{"queue/config"}, "one file has a schema, and one place checks files against it"},
	{"github.com/robfig/cron", []string{"queue/config"}, "what a rule's times mean is the file's to say; nothing is run by it"},
	{"github.com/getkin/kin-openapi", []string{"forge/forgetest/contract"}, "what describes GitHub is for tests and not part of the program"},
	{"github.com/vektah/gqlparser", []string{"forge/forgetest/contract"}, "what describes GitHub is for tests and not part of the program"},
	{"github.com/yuin/goldmark", []string{"app/docs"}, "Markdown is made into pages in one place"},
	{"github.com/hmarr/codeowners", []string{"forge/github"}, "CODEOWNERS is GitHub's"},
	{"github.com/alecthomas/kong", []string{"cmd/submitqueue"}, "flags end at the command"},
}

// pure packages do no I/O, read no clock, draw no chance and log nothing.
var pure = []string{"queue", "queue/config", "conflict", "conflict/index", "conflict/index/internal/names", "conflict/index/internal/rows", "conflict/internal/sorted", "speculation", "speculation/culprit", "speculation/derived", "speculation/plan", "speculation/predict"}

var impure = []string{"os", "os/exec", "io/ioutil", "net", "net/http", "log", "log/slog", "math/rand", "math/rand/v2", "crypto/rand", "syscall"}

func TestImportsGoOneWay(t *testing.T) {
	root := filepath.Join("..", "..")
	seen := 0
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), "_") || strings.HasPrefix(d.Name(), ".") && d.Name() != ".."):
			return fs.SkipDir
		case !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go"):
			return nil
		}
		seen++
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		return checkFile(t, file, filepath.ToSlash(rel))
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 50 {
		t.Errorf("only %d files were looked at", seen)
	}
}

func checkFile(t *testing.T, file, rel string) error {
	src, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	f, err := parser.ParseFile(token.NewFileSet(), file, src, parser.ImportsOnly)
	if err != nil {
		return err
	}
	pkg := path.Dir(rel)
	for _, spec := range f.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return err
		}
		if ours, ok := strings.CutPrefix(imported, module); ok {
			checkArrow(t, rel, pkg, ours)
			continue
		}
		checkOutside(t, rel, pkg, imported)
	}
	return nil
}

func checkArrow(t *testing.T, rel, pkg, imported string) {
	for _, a := range arrows {
		if pkg != a.pkg && !(strings.HasSuffix(a.pkg, "/") && strings.HasPrefix(pkg, a.pkg)) {
			continue
		}
		for _, ok := range a.imports {
			if ok == "*" || ok == imported || ok == "queue" && slices.Contains(vocabulary, imported) {
				return
			}
		}
		t.Errorf("%s imports %s: %s", rel, imported, a.why)
		return
	}
	t.Errorf("%s: package %s is not in the table of arrows: say there what it may import, and why", rel, pkg)
}

func checkOutside(t *testing.T, rel, pkg, imported string) {
	for _, o := range outside {
		if imported != o.prefix && !strings.HasPrefix(imported, o.prefix+"/") {
			continue
		}
		for _, p := range o.only {
			if pkg == p {
				return
			}
		}
		t.Errorf("%s imports %s, which belongs to %s: %s", rel, imported, strings.Join(o.only, ", "), o.why)
	}
	for _, p := range pure {
		if pkg != p {
			continue
		}
		for _, bad := range impure {
			if imported == bad {
				t.Errorf("%s imports %s: package %s is pure, so that the server, the simulator and tests run the same code", rel, imported, p)
			}
		}
	}
}
