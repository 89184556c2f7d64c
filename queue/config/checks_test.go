package config_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/submitqueue/submitqueue/queue/config"
)

// A check without an App is stored as the name that older programs know, and
// what those have stored is read.
func TestCheckIsStored(t *testing.T) {
	for _, c := range []struct {
		check config.Check
		want  string
	}{
		{config.Check{Name: `te"st`}, `"te\"st"`},
		{config.Check{Name: "test", App: "github-actions"}, `{"name":"test","app":"github-actions"}`},
	} {
		data, err := json.Marshal(c.check)
		if err != nil || string(data) != c.want {
			t.Errorf("%+v is stored as %s: %v", c.check, data, err)
		}
		got := config.Check{Name: "old", App: "old"}
		if err := json.Unmarshal(data, &got); err != nil || got != c.check {
			t.Errorf("%s is read as %+v: %v", data, got, err)
		}
		text, err := yaml.Marshal([]config.Check{c.check})
		if err != nil {
			t.Fatal(err)
		}
		cfg, err := config.Parse("f", []byte("version: 1\nsteps:\n- name: unit\n  checks:\n    "+strings.ReplaceAll(string(text), "\n", "\n    ")))
		if err != nil || cfg.Steps[0].Checks[0] != c.check {
			t.Errorf("%s is read as %+v: %v", text, cfg, err)
		}
	}
	if err := json.Unmarshal([]byte("7"), new(config.Check)); err == nil {
		t.Error("a number is a check")
	}
}

func TestCheckIs(t *testing.T) {
	for _, c := range []struct {
		check     config.Check
		name, app string
		want      bool
	}{
		{config.Check{Name: "Test"}, "test", "", true},
		{config.Check{Name: "Test"}, "test", "circle", true},
		{config.Check{Name: "Test"}, "tests", "", false},
		{config.Check{Name: "Test", App: "circle"}, "test", "circle", true},
		{config.Check{Name: "Test", App: "circle"}, "test", "github-actions", false},
		{config.Check{Name: "Test", App: "circle"}, "test", "", false},
	} {
		if got := c.check.Is(c.name, c.app); got != c.want {
			t.Errorf("%+v by %q of %q: %v", c.check, c.name, c.app, got)
		}
	}
}
