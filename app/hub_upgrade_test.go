package app_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/app"
	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/queue/storetest"
	"github.com/submitqueue/submitqueue/speculation"
)

// edition is an analyzer in a version of its own. The second sees that web needs
// api, which the first does not.
type edition struct {
	conflict.Analyzer
	version int
	elder   []conflict.Analyzer
}

var _ conflict.Versioned = edition{}

func (e edition) ID() string                 { return fmt.Sprintf("%s edition/%d", e.Analyzer.ID(), e.version) }
func (e edition) Elder() []conflict.Analyzer { return e.elder }

func (e edition) Graph(ctx context.Context, t conflict.Tree) (*conflict.Graph, error) {
	g, err := e.Analyzer.Graph(ctx, t)
	if err != nil || g == nil || e.version < 2 {
		return g, err
	}
	for i := range g.Targets {
		if g.Targets[i].Name == "web" {
			g.Targets[i].Deps = append(g.Targets[i].Deps, "api")
		}
	}
	return g, nil
}

// editions are the analyzers of a server that knows versions up to the newest.
func editions(newest int) app.Analyzers {
	return func(s config.Analysis) (conflict.Analyzer, error) {
		a, err := analyzers(s)
		if err != nil || a == nil {
			return a, err
		}
		e := edition{Analyzer: a, version: newest}
		for v := newest - 1; v > 0; v-- {
			e.elder = append(e.elder, edition{Analyzer: a, version: v})
		}
		return e, nil
	}
}

// decides waits until a version of the analyzer is in force and main is proven.
func (h *hub) decides(version int) {
	h.Helper()
	h.until(fmt.Sprintf("edition %d decides", version), func(c *speculation.Core) bool {
		m := c.State().Main
		return strings.HasSuffix(m.Analyzer, fmt.Sprintf(" edition/%d", version)) && m.Tip != "" && string(m.Tip) == h.Head("main") && m.Surveyed == m.Tip && m.Root == ""
	})
}

// asked returns the targets of the builds there were of a kind.
func (h *hub) asked(is func(queue.Note) bool) (n int) {
	h.Helper()
	for _, x := range must(h.store.History(h.Context(), hubQueue, 1000)) {
		if x.What == "build-asked" && is(x) {
			n++
		}
	}
	return n
}

// TestAnalyzerIsUpgraded: the server is replaced by one with a newer version of
// the analyzer while a change is being built, and later by the former one.
func TestAnalyzerIsUpgraded(t *testing.T) {
	storetest.OneOf(t, 3)
	held := filepath.Join(t.TempDir(), "held")
	files := areas()
	files[config.Path] = strings.Replace(files[config.Path], "run: for", "run: while test -e "+held+"; do sleep 0.05; done; for", 1)
	o := hubOptions{files: files, talkative: true, analyzers: editions(1)}
	h := newHub(t, o)
	h.decides(1)
	h.landed(h.land("first", map[string]string{"api/x": "x\n"})) // web has not passed with it

	mustNot(t, os.WriteFile(held, nil, 0o644))
	n := h.land("second", map[string]string{"web/z": "z\n"})
	h.until("it is being built", func(c *speculation.Core) bool { v, _ := c.PullView(n); return len(v.Builds) == 1 })
	h.stop()
	o.analyzers = editions(2)
	h.start(o)
	h.until("web is being built under edition 2", func(c *speculation.Core) bool {
		u := c.Queue(hubQueue).Upgrade
		return u != nil && u.Total == 2 && u.Proven == 1 && len(c.Queue(hubQueue).MainBuilds) == 1
	})
	for _, path := range []string{"/queue?queue=", "/api/queue?queue="} {
		h.shows(path+hubQueue, "edition/2 is being proven in spare slots: 1 of 2 checks;")
		_, page := h.page(path + hubQueue)
		if !strings.Contains(page, "edition/2 is being proven in spare slots: 1 of 2 checks;") || !strings.Contains(page, "edition/1 decides until then") {
			t.Errorf("%s says nothing of the upgrade:\n%s", path, page)
		}
	}
	mustNot(t, os.Remove(held))
	h.landed(n)
	h.decides(2)
	if got := h.asked(func(x queue.Note) bool { return x.Number == n }); got != 1 {
		t.Errorf("the change that was under way has had %d builds", got)
	}
	h.landed(h.land("third", map[string]string{"web/x": "x\n"}))
	settings := h.pull("settings", map[string]string{config.Path: strings.Replace(files[config.Path], "steps:", "    - {name: docs, files: [\"docs/**\"]}\nsteps:", 1), "docs/test.sh": "true\n"})
	h.Comment("ada", settings, "/land")
	h.landed(settings)
	h.decides(2)
	h.landed(h.land("docs", map[string]string{"docs/x": "x\n"}))

	h.stop()
	h.start(hubOptions{files: files, talkative: true, analyzers: editions(1)})
	h.decides(1)
	h.landed(h.land("fourth", map[string]string{"web/y": "y\n"}))
}
