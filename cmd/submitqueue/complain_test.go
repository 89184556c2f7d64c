package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

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
