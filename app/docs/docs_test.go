package docs_test

import (
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"

	"github.com/submitqueue/submitqueue/app/docs"
	"github.com/submitqueue/submitqueue/app/web"
	"github.com/submitqueue/submitqueue/queue/config"
)

func sourcesOf(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, f := range files {
		source, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		out[f] = string(source)
	}
	return out
}

// Each file of the folder is a page with one title, whose anchors are apart.
func TestEachFileIsAPage(t *testing.T) {
	sources := sourcesOf(t)
	if len(sources) != len(docs.All()) {
		t.Errorf("%d files, %d pages in contents", len(sources), len(docs.All()))
	}
	for _, p := range docs.All() {
		titles, anchors := 0, map[string]bool{}
		for _, s := range p.Sections {
			if s.Level == 1 {
				titles++
			}
			if s.Anchor == "" || anchors[s.Anchor] {
				t.Errorf("%s: two headings have the anchor %q", p.Name, s.Anchor)
			}
			anchors[s.Anchor] = true
		}
		if titles != 1 || p.Title == "" {
			t.Errorf("%s: %d titles", p.Name, titles)
		}
	}
}

// Every relative link of every page, and of the README, leads to a file of the repository,
// and to a heading where it names one. The same link is good on the server.
func TestEveryLinkLeadsSomewhere(t *testing.T) {
	sources := sourcesOf(t)
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	sources["../../README.md"] = string(readme)
	seen := 0
	for file, source := range sources {
		root := goldmark.New(goldmark.WithExtensions(extension.Table)).Parser().Parse(text.NewReader([]byte(source)))
		_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
			var to string
			switch n := n.(type) {
			case *ast.Link:
				to = string(n.Destination)
			case *ast.Image:
				to = string(n.Destination)
			case *ast.RawHTML, *ast.HTMLBlock:
				t.Errorf("%s holds HTML, which the server leaves out", file)
			}
			if to == "" || !entering || strings.Contains(to, "://") {
				return ast.WalkContinue, nil
			}
			seen++
			name, anchor, _ := strings.Cut(to, "#")
			target := filepath.Join(filepath.Dir(file), name)
			if name == "" {
				target = file
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s, which is not there", file, to)
			}
			if anchor == "" {
				return ast.WalkContinue, nil
			}
			if rel, err := filepath.Rel("../../app/docs", target); err == nil && !strings.HasPrefix(rel, "..") {
				target = rel // as the README has it
			}
			page := strings.TrimSuffix(filepath.Base(target), ".md")
			if page == "README" {
				page = docs.Home
			}
			if filepath.Dir(target) != "." || !docs.Has(page+"#"+anchor) {
				t.Errorf("%s links to %s, and there is no such heading", file, to)
			}
			return ast.WalkContinue, nil
		})
	}
	if seen < 60 {
		t.Errorf("only %d links were followed", seen)
	}
	for _, p := range docs.All() {
		for _, m := range regexp.MustCompile(`(?:href|src)="([^"]*)"`).FindAllStringSubmatch(string(p.HTML), -1) {
			switch to := m[1]; {
			case strings.HasPrefix(to, "https://"), strings.HasPrefix(to, "#"), strings.HasPrefix(to, "/docs/img/"):
			case to == "/docs", strings.HasPrefix(to, "/docs#"):
			case !docs.Has(strings.TrimPrefix(to, "/docs/")):
				t.Errorf("%s: the server's link %s leads nowhere", p.Name, to)
			}
		}
	}
}

// No paragraph is longer than six lines of a page that is as wide as a book's.
func TestParagraphsAreShort(t *testing.T) {
	const most = 6 * 100 // letters
	for file, source := range sourcesOf(t) {
		if file == "keys.md" {
			continue // whole comments of the struct
		}
		root := goldmark.New(goldmark.WithExtensions(extension.Table)).Parser().Parse(text.NewReader([]byte(source)))
		_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
			if entering && (n.Kind() == ast.KindParagraph || n.Kind() == ast.KindTextBlock) {
				if words := string(n.Lines().Value([]byte(source))); len(words) > most {
					t.Errorf("%s: a paragraph has %d letters: %.60s", file, len(words), words)
				}
			}
			return ast.WalkContinue, nil
		})
	}
}

// A newcomer's question has its answer among the first three sections that are found.
func TestSearchAnswersQuestions(t *testing.T) {
	for q, want := range map[string]string{
		"why is mine waiting":       "troubleshoot#why-is-mine-waiting",
		"main is red":               "troubleshoot#main-is-red",
		"my CI runs everything":     "troubleshoot#my-ci-runs-everything",
		"how do I let the App push": "install#let-the-app-push",
		"what does it cost":         "troubleshoot#what-does-it-cost",
		"how do I get out":          "troubleshoot#how-do-i-get-out",
		"MAX_OVERTAKE":              "keys#queuemax_overtake",
		"squash":                    "configure#how-a-change-lands",
		"no host has the tools":     "reasons#tools",
		"all runners are busy":      "reasons#slot",
		"how do I make a backup":    "operate#back-up-and-restore",
		"back up and restore":       "operate#back-up-and-restore",
		"rotate a secret":           "operate#change-a-secret",
	} {
		hits := docs.Search(q)
		var first []string
		for _, h := range hits[:min(len(hits), 3)] {
			first = append(first, h.Page+"#"+h.Anchor)
		}
		if !strings.Contains(strings.Join(first, " ")+" ", want+" ") {
			t.Errorf("%q finds %v, and not %s", q, first, want)
		}
	}
	for _, q := range []string{"", " ?! ", "the", "zzzzzz", strings.Repeat("qqq ", 500)} {
		if hits := docs.Search(q); len(hits) > 0 {
			t.Errorf("%.10q finds %d sections", q, len(hits))
		}
	}
}

// Pictures are served by name, and nothing else of the folder is.
func TestImages(t *testing.T) {
	for name, want := range map[string]int{"queue.png": 200, "": 404, "../README.md": 404, "nothing.png": 404} {
		r := httptest.NewRequest("GET", "/", nil)
		r.URL.Path = path.Join("/", name)
		if name == "../README.md" {
			r.URL.Path = "/../README.md"
		}
		w := httptest.NewRecorder()
		web.Files(docs.Images, "img").ServeHTTP(w, r)
		if w.Code != want && !(name == "../README.md" && w.Code == 400) {
			t.Errorf("%q: %d", name, w.Code)
		}
	}
}

func TestLinks(t *testing.T) {
	for _, c := range []struct{ base, ref, want string }{
		{"https://q.example.com/", "reasons#red-main", "https://q.example.com/docs/reasons#red-main"},
		{"https://q.example.com", docs.Home, ""},
		{"", "reasons#red-main", ""},
	} {
		if got := docs.Link(c.base, c.ref); got != c.want {
			t.Errorf("Link(%q, %q) = %q", c.base, c.ref, got)
		}
	}
	if !docs.Has("install") || docs.Has("nothing") || docs.Has("install#nothing") {
		t.Error("Has is wrong")
	}
}

// Each word that package queue explains is in the glossary.
func TestGlossaryHasTheWordsOfPackageQueue(t *testing.T) {
	source, err := os.ReadFile("../../queue/doc.go")
	if err != nil {
		t.Fatal(err)
	}
	words, _, _ := strings.Cut(string(source), "// For example:")
	glossary := strings.ToLower(sourcesOf(t)["glossary.md"])
	seen := 0
	for _, m := range regexp.MustCompile(`\b[Aa]n? ([A-Z][a-z]+)\b`).FindAllStringSubmatch(words, -1) {
		if m[1] == "Task" {
			continue // a word of the code alone
		}
		seen++
		if !strings.Contains(glossary, "\n| "+strings.ToLower(m[1])+" |") {
			t.Errorf("the glossary lacks %s", m[1])
		}
	}
	if seen < 12 {
		t.Errorf("only %d words were found", seen)
	}
}

// Each example of a configuration on a page is one that the program takes.
func TestExamplesOfConfigurationsAreValid(t *testing.T) {
	sources := sourcesOf(t)
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	sources["the README"] = string(readme)
	delete(sources, "keys.md") // package config holds these
	seen := 0
	for page, source := range sources {
		for _, m := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(source, -1) {
			text := m[1]
			if !regexp.MustCompile(`^(version|analysis|steps|queue|permissions|checkout|environment):`).MatchString(text) {
				continue // of GitHub Actions
			}
			seen++
			if !strings.HasPrefix(text, "version:") {
				text = "version: 1\n" + text
			}
			if strings.Contains(text, "{targets}") && !strings.Contains(text, "analyzer") {
				text += "analysis: {analyzer: go}\n"
			}
			if !strings.Contains(text, "\nsteps:") {
				text += "steps: [{name: test, run: make test, scope: repository}]\n"
			}
			if _, err := config.Parse(config.Path, []byte(text)); err != nil {
				t.Errorf("%s: %v\n%s", page, err, text)
			}
		}
	}
	if seen < 14 {
		t.Errorf("only %d examples were found", seen)
	}
}
