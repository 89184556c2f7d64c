package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/pelletier/go-toml/v2"
)

// The files in deploy can be read by what they are for, and the commands in them are ours.
func TestDeployFilesAreWellFormed(t *testing.T) {
	files, err := filepath.Glob("../../deploy/*")
	if err != nil || len(files) < 8 {
		t.Fatal(files, err)
	}
	parser, err := newParser()
	if err != nil {
		t.Fatal(err)
	}
	commands := map[string]bool{}
	for _, n := range parser.Model.Children {
		commands[n.Name] = true
	}
	for _, path := range files {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var v any
		switch filepath.Ext(path) {
		case ".yaml":
			err = yaml.Unmarshal(raw, &v)
		case ".toml":
			err = toml.Unmarshal(raw, &v)
		case ".plist":
			d := xml.NewDecoder(strings.NewReader(string(raw)))
			for err == nil {
				_, err = d.Token()
			}
			if errors.Is(err, io.EOF) {
				err = nil
			}
		}
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
		for line := range strings.Lines(string(raw)) {
			_, rest, ok := strings.Cut(line, "bin/submitqueue ")
			if !ok {
				_, rest, ok = strings.Cut(line, "   submitqueue ")
			}
			if word, _, _ := strings.Cut(strings.TrimSpace(rest), " "); ok && !commands[word] {
				t.Errorf("%s: there is no command %q: %s", path, word, line)
			}
		}
	}
}

// systemctl sends a signal to all processes of a unit, the steps' too, if it is not told
// otherwise (systemctl(1), --kill-whom=; --kill-who= before systemd 252, and still taken). A
// step that gets SIGQUIT ends, so that what was to drain a runner would end its jobs.
func TestDrainingARunnerSparesItsSteps(t *testing.T) {
	raw, err := os.ReadFile("../../deploy/submitqueue-runner.service")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		if strings.Contains(line, "systemctl kill") && !strings.Contains(line, "--kill-who=main") {
			t.Errorf("this signal goes to the steps, too: %s", line)
		}
	}
}
