package web_test

import (
	"bytes"
	"flag"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/submitqueue/submitqueue/app/web"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

var update = flag.Bool("update", false, "write the golden pages anew")

// every page under test, by the name of its golden file.
func everyPage() map[string]func(*web.Pages, io.Writer) error {
	paused := busyQueue()
	paused.Main.Paused = &queue.Pause{By: "lena", Reason: "release " + hostile, At: ago(1)}
	paused.Main.Config, paused.Main.Broken = &config.Config{}, ".submitqueue.yml:4:3: unknown key \"stepz\"."
	paused.Red = []string{"//payments", "<i>//web</i>"}
	queued, upgraded, failing := busyQueue(), queue.QueueView{Name: "acme/empty@main", Slots: 2, Main: queue.Main{Branch: "main"}}, queue.QueueView{}
	upgraded.Hosts = []queue.HostView{{Name: "m1", Slots: 2}, {Name: "<m2>", Slots: 2, Bench: &queue.Bench{Since: 1}}}
	upgraded.Upgrade = &queue.UpgradeView{From: "go/1", To: "go/2", Proven: 120, Total: 900}
	failing.Upgrade = &queue.UpgradeView{From: "go/1", To: "go/2" + hostile, Red: []string{hostile}}
	all := setupPages()
	maps.Copy(all, signInPages())
	maps.Copy(all, map[string]func(*web.Pages, io.Writer) error{
		"queue":  func(p *web.Pages, w io.Writer) error { return p.Queue(w, queued, noon()) },
		"paused": func(p *web.Pages, w io.Writer) error { return p.Queue(w, paused, noon()) },
		"empty": func(p *web.Pages, w io.Writer) error {
			return p.Queue(w, queue.QueueView{Name: "acme/empty@main", Slots: 2, Main: queue.Main{Branch: "main"}}, noon())
		},
		"upgrade":  func(p *web.Pages, w io.Writer) error { return p.Queue(w, upgraded, noon()) },
		"failing":  func(p *web.Pages, w io.Writer) error { return p.Queue(w, failing, noon()) },
		"queues":   func(p *web.Pages, w io.Writer) error { return p.Queues(w, []queue.QueueView{queued, paused}, noon()) },
		"none":     func(p *web.Pages, w io.Writer) error { return p.Queues(w, nil, noon()) },
		"waiting":  func(p *web.Pages, w io.Writer) error { return p.Change(w, waitingChange(), noon()) },
		"landed":   func(p *web.Pages, w io.Writer) error { return p.Change(w, endedChange(queued.Recent[0]), noon()) },
		"rollup":   func(p *web.Pages, w io.Writer) error { return p.Change(w, rollupChange(), noon()) },
		"together": func(p *web.Pages, w io.Writer) error { return p.Change(w, togetherChange(), noon()) },
		"rejected": func(p *web.Pages, w io.Writer) error { return p.Change(w, endedChange(queued.Recent[1]), noon()) },
		"search": func(p *web.Pages, w io.Writer) error {
			return p.Search(w, queued, web.Search{Text: "omar REJECTED"}, noon())
		},
		"search-all": func(p *web.Pages, w io.Writer) error { return p.Search(w, queued, web.Search{}, noon()) },
		"runners": func(p *web.Pages, w io.Writer) error {
			return p.Runners(w, []web.Runner{
				{Name: "host", State: "busy", OS: "linux", Arch: "amd64", Slots: 2, Jobs: []web.RunnerJob{{Build: "b1", Queue: "acme/store@main", Step: "unit", Targets: 3, Since: noon().Add(-time.Minute).Time()}}},
				{Name: "box-1", Token: "box", State: "busy", OS: "darwin", Arch: "arm64", Executor: "shell", Version: "<b>18.6</b>", Tags: []string{"xcode"}, Seen: noon().Time(),
					Jobs: []web.RunnerJob{{Build: "b2", Queue: "q", Step: "<i>", Targets: 1, Since: noon().Time(), Ending: true}}},
				{Name: "new", Token: "new", State: "none"},
				{Name: "gone", Token: "gone", State: "away", Seen: noon().Add(-time.Hour).Time()},
			}, map[string]int{"": 2, "gpu": 0, "<u>": 1}, noon())
		},
		"flakes": func(p *web.Pages, w io.Writer) error {
			return p.Flakes(w, "acme/store@main", []web.FlakyTarget{
				{Step: "e2e", Target: "<b>web</b>", Flakes: 5, Runs: 40, Rate: 0.25, Low: 0.13, High: 0.42, Quarantined: true, Excused: 3, Build: "b1", Seen: noon().Add(-time.Hour), Lost: 12 * time.Minute},
				{Step: "unit", Target: "api", Flakes: 1, Runs: 90, Rate: 0.01, High: 0.11, Lost: 20 * time.Second},
				{Step: "unit", Target: "db", Runs: 9, High: 0.3, Excused: 1},
				{Step: "unit", Target: "ui", Runs: 9, High: 0.3, Quarantined: true},
			}, noon())
		},
		"flakes-none": func(p *web.Pages, w io.Writer) error { return p.Flakes(w, "acme/store@main", nil, noon()) },
		"flakes-of":   func(p *web.Pages, w io.Writer) error { return p.FlakesOf(w, []string{"acme/store@main", "<b>@main"}) },
		"search-none": func(p *web.Pages, w io.Writer) error {
			return p.Search(w, queued, web.Search{Text: hostile, Page: 3}, noon())
		},
		"problem": func(p *web.Pages, w io.Writer) error { return p.Problem(w, 404, "There is no "+hostile) },
	})
	return all
}

func render(t *testing.T, name string) string {
	t.Helper()
	var b bytes.Buffer
	if err := everyPage()[name](web.New(web.Options{Words: words{}}), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestPages(t *testing.T) {
	for name := range everyPage() {
		t.Run(name, func(t *testing.T) {
			got := render(t, name)
			path := filepath.Join("testdata", name+".golden.html")
			if *update {
				if err := os.MkdirAll("testdata", 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("the page differs from its golden file (-want +got); run with -update and look at it:\n%s", diff)
			}
		})
	}
}

// Hostile content stays text: no page has a script, a handler, a style or a
// link that came from outside.
func TestPagesHoldNoForeignCode(t *testing.T) {
	handler := regexp.MustCompile(`(?i)<(?:[^>"]|"[^"]*")*\son[a-z]+\s*=`) // in a quoted value it is text
	for name := range everyPage() {
		page := render(t, name)
		for _, bad := range []string{"<script>", "<img src=x", "<b>eve", "<i>//web", "javascript:", "\u202E", "\x1b", "style=", "ZgotmplZ"} {
			if strings.Contains(page, bad) {
				t.Errorf("%s holds %q", name, bad)
			}
		}
		if m := handler.FindString(page); m != "" {
			t.Errorf("%s has an event handler: %s", name, m)
		}
		if n := strings.Count(page, "<script"); n > 1 {
			t.Errorf("%s has %d scripts", name, n)
		}
	}
}

func TestSketchLeavesOutArrowsThatFollow(t *testing.T) {
	page := render(t, "queue")
	sketch := page[strings.Index(page, "<svg"):strings.Index(page, "</svg>")]
	// 341, 345, 351 and 353 on main; 338 on 341; 346 on 338 (not 341 too); 349 on
	// 345; 350 on 346; 352 on 346 and 349 (not 341, 338, 345 too).
	if got, want := strings.Count(sketch, `class="arrow"`), 10; got != want {
		t.Errorf("%d arrows, want %d", got, want)
	}
	if strings.Contains(sketch, "#322") {
		t.Error("a parked change is in the picture")
	}
}

func TestSketchIsBounded(t *testing.T) {
	q := queue.QueueView{Name: "acme/store@main", Main: queue.Main{Branch: "main"}}
	for n := 1; n <= 500; n++ {
		v := queue.View{Change: change(n, "one of many", "lena", queue.Pending), Position: n}
		if n > 200 {
			v.Ahead = []queue.ChangeID{idOf(n - 1)}
		}
		q.Order = append(q.Order, v)
	}
	var b bytes.Buffer
	if err := web.New(web.Options{Words: words{}}).Queue(&b, q, noon()); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(b.String(), `<g class="box`); got > 25 {
		t.Errorf("%d boxes", got)
	}
	if !strings.Contains(b.String(), "490 more in the table") {
		t.Error("the page does not say how many are left out")
	}
}

func TestStatic(t *testing.T) {
	server := httptest.NewServer(http.StripPrefix("/static/", web.Static()))
	defer server.Close()
	for path, want := range map[string]int{"style.css": 200, "live.js": 200, "icon.svg": 200, "": 404, "../pages.go": 404, "nothing": 404} {
		r, err := http.Get(server.URL + "/static/" + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Body.Close()
		if r.StatusCode != want {
			t.Errorf("%q: %d, want %d", path, r.StatusCode, want)
		}
	}
}
