package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/app/docs"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/client"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
)

// An error about which the documentation has a place is printed with its link, and each
// section of errors of the command line is linked to by one.
func TestErrorsLinkIntoTheDocumentation(t *testing.T) {
	t.Setenv("SUBMITQUEUE_TOKEN", "")
	_, missing := client.Flags{Data: t.TempDir()}.Open()
	for place, err := range map[string]error{
		"troubleshoot#no-server-was-found":   missing,
		"troubleshoot#the-address-is-in-use": fmt.Errorf("listening: %w", syscall.EADDRINUSE),
		"reasons#red-main":                   fmt.Errorf("around: %w", print.Documented(errors.New("within"), "reasons#red-main")),
		"":                                   errors.New("of which nothing is written"),
	} {
		var out strings.Builder
		complain(&out, err)
		want := fmt.Sprintf("submitqueue: %v\n", err)
		if place != "" {
			name, anchor, _ := strings.Cut(place, "#")
			want += "More: https://github.com/submitqueue/submitqueue/blob/main/app/docs/" + name + ".md#" + anchor + "\n"
			if _, err := os.Stat(filepath.Join("..", "..", "app", "docs", name+".md")); err != nil || !docs.Has(place) {
				t.Errorf("%s leads nowhere: %v", place, err)
			}
		}
		if out.String() != want {
			t.Errorf("%q, want %q", out.String(), want)
		}
	}

	var said strings.Builder
	for _, text := range textsOf(t, filepath.Join("..", "..", "cmd")) {
		said.WriteString(text.says + "\n")
	}
	page, ok := docs.Find("troubleshoot")
	if !ok {
		t.Fatal("there is no such page")
	}
	within, seen := false, 0
	for _, s := range page.Sections {
		if s.Level <= 2 {
			within = s.Title == "Errors of the command line"
		} else if within {
			seen++
			if !strings.Contains(said.String(), "troubleshoot#"+s.Anchor+"\n") {
				t.Errorf("no error links to %q", s.Title)
			}
		}
	}
	if seen < 4 {
		t.Errorf("only %d sections were found", seen)
	}
}

// What keeps a server from starting is printed with the place that says how it is set up.
func TestServeErrorsLinkIntoTheDocumentation(t *testing.T) {
	data, missing := t.TempDir(), filepath.Join(t.TempDir(), "missing")
	for name, text := range map[string]string{"token": "secret", "secret": "0123456789abcdef", "key": "no key"} {
		if err := os.WriteFile(filepath.Join(data, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	repo := filepath.Join(t.TempDir(), "r.git")
	for _, args := range [][]string{{"init", "-q", "--bare", "-b", "main", repo}, {"-C", repo, "-c", "user.name=a", "-c", "user.email=a@x", "commit-tree", "-m", "first", "4b825dc642cb6eb9a060e54bf8d69288fbee4904"}} {
		out, err := exec.Command("git", args...).CombinedOutput()
		if err == nil && len(out) > 0 {
			out, err = exec.Command("git", "-C", repo, "update-ref", "refs/heads/main", strings.TrimSpace(string(out))).CombinedOutput()
		}
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	for args, place := range map[string]string{
		"--forge gitlab --repo g --gitlab-token-file TOKEN --gitlab-secret-file SECRET": "install-gitlab#steps-on-the-command-line",
		"--forge gitlab --repo g/p --gitlab-token-file TOKEN":                           "install-gitlab#the-webhook",
		"--forge gitlab --forge local":                                                  "operate#several-forges",
		"--forge github --forge gitlab --repo a/b":                                      "operate#several-forges",
		"--forge local --repo " + missing:                                               "install#install-on-a-plain-git-repository",
		"--app-id 7":                                                                    "install#credentials-of-the-app",
		"--repo shop":                                                                   "install#install-on-github",
		"--url nowhere":                                                                 "operate#names-of-the-server",
		"--notify nothing":                                                              "operate#tell-people",
		"--forge local --repo REPO --secret X=" + missing:                               "runners#variables-and-secrets",
		"--forge local --repo REPO --sign-key KEY":                                      "configure#how-a-change-lands",
		"--forge local --repo REPO --isolate uid --isolate-uids":                        "runners#isolation",
		"--forge local --repo REPO --redis redis://127.0.0.1:1":                         "operate#redis",
	} {
		t.Run(place+" "+args, func(t *testing.T) {
			if strings.HasSuffix(args, "--isolate-uids") {
				args += " x"
			}
			args = strings.NewReplacer("REPO", repo, "TOKEN", filepath.Join(data, "token"), "SECRET", filepath.Join(data, "secret"), "KEY", filepath.Join(data, "key")).Replace(args)
			parser, err := newParser()
			if err != nil {
				t.Fatal(err)
			}
			k, err := parser.Parse(append([]string{"serve", "--data", t.TempDir(), "--listen", "127.0.0.1:0"}, strings.Fields(args)...))
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
			defer stop()
			k.BindTo(ctx, (*context.Context)(nil))
			err = k.Run()
			if got := print.PlaceOf(err); got != place || !docs.Has(place) {
				t.Errorf("%v is explained at %q, want %q", err, got, place)
			}
		})
	}
}
