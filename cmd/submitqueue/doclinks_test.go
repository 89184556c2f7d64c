package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/app/docs"
	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/queue"
)

// Each link from a text of the program leads to a heading of the documentation: those of
// reasons in comments, checks, pages, the API and the command line; those of banners; those
// of doctor's subjects; and whatever else names a place of /docs.
func TestTextsLinkIntoTheDocumentation(t *testing.T) {
	root := filepath.Join("..", "..")
	must := func(ref, by string) {
		if !docs.Has(ref) {
			t.Errorf("%s links to %s, and the documentation has no such heading", by, ref)
		}
	}

	reasons := 0
	files, err := filepath.Glob(filepath.Join(root, "queue", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`Reason\w+\s+ReasonCode\s+=\s+"([^"]+)"`).FindAllStringSubmatch(string(source), -1) {
			reasons++
			code := queue.ReasonCode(m[1])
			must(texts.Doc(code), "the reason "+m[1])
			if texts.DocPath(code) != docs.Address(texts.Doc(code)) {
				t.Errorf("the reason %s is linked at %s, and is at %s", code, texts.DocPath(code), docs.Address(texts.Doc(code)))
			}
		}
	}
	if reasons < 50 {
		t.Errorf("only %d reasons were found", reasons)
	}

	named := regexp.MustCompile(`(?:/docs/|^)((?:troubleshoot|reasons|install|runners|configure|keys|commands|decide|operate|api|measure|glossary)#[a-z0-9_-]+)`)
	seen := 0
	for _, text := range textsOf(t, root) {
		for _, m := range named.FindAllStringSubmatch(text.says, -1) {
			if strings.HasSuffix(m[1], "-") {
				continue // doctor's, below
			}
			seen++
			must(m[1], text.file)
		}
	}
	templates, err := filepath.Glob(filepath.Join(root, "app", "web", "templates", "*.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range templates {
		html, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`/docs/([a-z]+#[a-z0-9_-]+)`).FindAllStringSubmatch(string(html), -1) {
			seen++
			must(m[1], file)
		}
	}
	if seen < reasons+10 {
		t.Errorf("only %d links were found", seen)
	}

	page, err := os.ReadFile(filepath.Join(root, "app", "web", "queuepage.go"))
	if err != nil {
		t.Fatal(err)
	}
	banners := strings.Count(string(page), "alert{Tone:")
	if with := len(regexp.MustCompile(`alert\{Tone: "\w+", Doc: "`).FindAllString(string(page), -1)); banners < 15 || with != banners {
		t.Errorf("%d of %d banners link to the documentation", with, banners)
	}

	doctor, err := filepath.Glob(filepath.Join(root, "cmd", "submitqueue", "doctor", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	subjects := map[string]bool{}
	for _, file := range doctor {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`r\.(?:add\((?:\w+), |unread\(|fine\()"([a-z]+)"`).FindAllStringSubmatch(string(source), -1) {
			subjects[m[1]] = true
			if strings.HasPrefix(filepath.Base(file), "gitlab") && m[1] != "config" {
				m[1] = "gitlab-" + m[1]
			}
			must("troubleshoot#doctor-"+m[1], file)
		}
	}
	if len(subjects) < 14 {
		t.Errorf("only %d subjects of doctor were found", len(subjects))
	}
}
