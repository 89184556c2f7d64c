package server

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/analyzers"
	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/checkout"
	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/local"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// toyForge is a forge of one repository, with webhooks: {"number": N, "body": "/land"},
// signed by the header Toy. A plain repository does the rest.
type toyForge struct{ forge.Forge }

func (toyForge) Verify(h http.Header) (io.Writer, func() error, error) {
	if h.Get("Toy") != "secret" {
		return nil, nil, forge.ErrSignature
	}
	return io.Discard, func() error { return nil }, nil
}

func (f toyForge) Receive(h http.Header, body []byte) (forge.Delivery, error) {
	if _, _, err := f.Verify(h); err != nil {
		return forge.Delivery{}, err
	}
	var said struct {
		Number int
		Body   string
	}
	if err := json.Unmarshal(body, &said); err != nil {
		return forge.Delivery{}, forge.ErrMalformed
	}
	return forge.Delivery{ID: "1", Kind: "comment", Repository: "acme/shop", Events: []queue.Event{
		{ID: "toy/1", Body: queue.Commented{Number: said.Number, Comment: "c1", Author: "ann", Body: said.Body}}}}, nil
}

// toyAnalyzer has a target for each folder at the root.
type toyAnalyzer struct{}

func (toyAnalyzer) ID() string { return "toy/1" }

func (toyAnalyzer) Graph(ctx context.Context, t conflict.Tree) (*conflict.Graph, error) {
	files, err := t.Files(ctx)
	g := &conflict.Graph{}
	for _, file := range files {
		dir, _, below := strings.Cut(file.Path, "/")
		if !below {
			continue
		}
		i := slices.IndexFunc(g.Targets, func(x conflict.Target) bool { return x.Name == dir })
		if i < 0 {
			i = len(g.Targets)
			g.Targets = append(g.Targets, conflict.Target{Name: dir, Kind: "folder"})
		}
		g.Targets[i].Sources = append(g.Targets[i].Sources, file)
	}
	return g, err
}

// A forge is a row, and so is an analyzer: a server that has both lands what a webhook
// of the forge asks for, and verifies the targets that the analyzer finds in it. The
// analyzer has the name of another in the file, since the words of the file are fixed.
func TestAddAForgeAndAnAnalyzer(t *testing.T) {
	t.Parallel()
	heard := filepath.Join(t.TempDir(), "heard")
	bare := toyRepository(t, "echo {targets} >> "+heard)
	var plain *local.Forge
	s := startServe(t, t.TempDir(), func(c *Serve) {
		c.Forge, c.Repo, c.Isolate = []string{"toy"}, []string{bare}, isolateFlags{Isolate: "none", UIDs: "58000-58999"}
		c.forges = append(forges(), forgeRow{"toy", "a toy", "", func(ctx context.Context, c *Serve, o *Options) (late, error) {
			var err error
			if plain, err = local.New(ctx, c.Repo[0], "main"); err != nil {
				return late{}, err
			}
			f := toyForge{plain}
			o.Receiver = map[string]forge.Receiver{"toy": f}
			o.Queues = []Queue{{Repository: "acme/shop", Branch: "main", Forge: f}}
			return late{}, nil
		}})
		c.analyzers = analyzers.All()
		i := slices.IndexFunc(c.analyzers, func(row analyzers.Row) bool { return row.Name == config.AnalyzerNode })
		c.analyzers[i].New = func(config.Analysis, *checkout.Pool) (conflict.Analyzer, error) { return toyAnalyzer{}, nil }
	})
	number, err := plain.Open(t.Context(), "change", "ann")
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(map[string]any{"number": number, "body": "/land"})
	if err != nil {
		t.Fatal(err)
	}
	for signature, want := range map[string]int{"": http.StatusUnauthorized, "secret": http.StatusAccepted} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.base+"/webhook/toy", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Toy", signature)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != want {
			t.Fatalf("signed %q: %s", signature, answer.Status)
		}
	}
	s.until("the change is on main", func() bool { return strings.Contains(git(t, bare, "ls-tree", "-r", "main"), "web/new") })
	text, err := os.ReadFile(heard)
	if err != nil {
		t.Fatal(err)
	}
	if asked := strings.Split(strings.TrimSpace(string(text)), "\n"); !slices.Contains(asked, "web") {
		t.Errorf("verified were %q, and the change affects web alone", asked)
	}
}

// toyRepository makes a bare repository with main, a branch change, and a step.
func toyRepository(t *testing.T, run string) (bare string) {
	t.Helper()
	work, bare := t.TempDir(), filepath.Join(t.TempDir(), "shop.git")
	git(t, work, "init", "-q", "-b", "main")
	commit := func(files map[string]string) {
		for name, text := range files {
			if err := os.MkdirAll(filepath.Join(work, path.Dir(name)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(work, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		git(t, work, "add", "-A")
		git(t, work, "commit", "-qm", "x")
	}
	commit(map[string]string{".submitqueue.yml": "version: 1\nanalysis: {analyzer: node}\nsteps:\n  - {name: unit, run: '" + run + "'}\n",
		"web/a": "a", "api/a": "a"})
	git(t, work, "checkout", "-q", "-b", "change")
	commit(map[string]string{"web/new": "n"})
	git(t, work, "clone", "-q", "--bare", work, bare)
	return bare
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	c := exec.Command("git", args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@x", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@x")
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}
