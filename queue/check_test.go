package queue_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/submitqueue/submitqueue/queue"
)

// A check without an App is stored as the name that older programs know, and
// what those have stored is read.
func TestCheckIsStored(t *testing.T) {
	for _, c := range []struct {
		check queue.Check
		want  string
	}{
		{queue.Check{Name: `te"st`}, `"te\"st"`},
		{queue.Check{Name: "test", App: "github-actions"}, `{"name":"test","app":"github-actions"}`},
	} {
		data, err := json.Marshal(c.check)
		if err != nil || string(data) != c.want {
			t.Errorf("%+v is stored as %s: %v", c.check, data, err)
		}
		got := queue.Check{Name: "old", App: "old"}
		if err := json.Unmarshal(data, &got); err != nil || got != c.check {
			t.Errorf("%s is read as %+v: %v", data, got, err)
		}
		text, err := yaml.Marshal([]queue.Check{c.check})
		if err != nil {
			t.Fatal(err)
		}
		config, err := queue.ParseConfig("f", []byte("version: 1\nsteps:\n- name: unit\n  checks:\n    "+strings.ReplaceAll(string(text), "\n", "\n    ")))
		if err != nil || config.Steps[0].Checks[0] != c.check {
			t.Errorf("%s is read as %+v: %v", text, config, err)
		}
	}
	if err := json.Unmarshal([]byte("7"), new(queue.Check)); err == nil {
		t.Error("a number is a check")
	}
}

func TestCheckIs(t *testing.T) {
	for _, c := range []struct {
		check     queue.Check
		name, app string
		want      bool
	}{
		{queue.Check{Name: "Test"}, "test", "", true},
		{queue.Check{Name: "Test"}, "test", "circle", true},
		{queue.Check{Name: "Test"}, "tests", "", false},
		{queue.Check{Name: "Test", App: "circle"}, "test", "circle", true},
		{queue.Check{Name: "Test", App: "circle"}, "test", "github-actions", false},
		{queue.Check{Name: "Test", App: "circle"}, "test", "", false},
	} {
		if got := c.check.Is(c.name, c.app); got != c.want {
			t.Errorf("%+v by %q of %q: %v", c.check, c.name, c.app, got)
		}
	}
}
