package queue_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Permissions written by a version that knew roles only, or did not know a
// field yet, are read as they were meant.
func TestPermissionsOfOlderVersions(t *testing.T) {
	var c config.Config
	if err := json.Unmarshal([]byte(`{"version":1,"permissions":{"land":"maintain","queue":"admin"},
		"queue":{"lanes":[{"name":"high","least":"admin"}]}}`), &c); err != nil {
		t.Fatal(err)
	}
	for verb, want := range map[queue.Verb]config.Who{queue.CommandLand: "maintain", queue.CommandCancel: "maintain", queue.CommandRetry: "maintain",
		queue.CommandTry: "maintain", queue.CommandDelegate: "maintain", queue.CommandNow: "admin", queue.CommandPause: "admin",
		queue.CommandFreeze: "admin", queue.CommandStatus: "", queue.CommandHelp: "", queue.CommandExplain: ""} {
		if got := queue.Commands().Who(verb, c.Permissions); got != want {
			t.Errorf("%s: %q, want %q", verb, got, want)
		}
	}
	var none config.Permissions
	if queue.Commands().Who(queue.CommandLand, none) != "write" || queue.Commands().Who(queue.CommandPause, none) != "maintain" || queue.Commands().Who(queue.CommandNow, none) != "admin" {
		t.Errorf("without a configuration: %q", queue.Commands().Who(queue.CommandLand, none))
	}
	if c.Queue.Lanes[0].Least != "admin" {
		t.Errorf("the lane is for %q", c.Queue.Lanes[0].Least)
	}
}

func TestTeamsThatMatter(t *testing.T) {
	c := config.Config{Permissions: config.Permissions{Land: "admin @acme/a", Queue: "@acme/q", Now: "@acme/watch", Retry: "@acme/again"},
		Queue: config.Rules{Lanes: []config.Lane{{Name: "hot", Least: "maintain @acme/b @acme/a"}}}}
	for _, test := range []struct {
		cmd  queue.Command
		role string
		want []string
	}{
		{queue.Command{Verb: queue.CommandLand}, "write", []string{"acme/a"}},
		{queue.Command{Verb: queue.CommandLand}, "admin", nil},
		{queue.Command{Verb: queue.CommandLand, Lane: "hot"}, "write", []string{"acme/a", "acme/b"}},
		{queue.Command{Verb: queue.CommandLand, Lane: "hot"}, "maintain", []string{"acme/a"}},
		{queue.Command{Verb: queue.CommandResume}, "admin", []string{"acme/q"}},
		{queue.Command{Verb: queue.CommandExplain}, "write", []string{"acme/a"}},
		{queue.Command{Verb: queue.CommandRecheck}, "write", []string{"acme/a", "acme/again", "acme/watch"}},
		{queue.Command{Verb: queue.CommandRetry}, "write", []string{"acme/a", "acme/again"}},
		{queue.Command{Verb: queue.CommandStatus}, "none", nil},
	} {
		if d := cmp.Diff(test.want, test.cmd.Teams(&c, test.role)); d != "" {
			t.Errorf("%+v by %s: %s", test.cmd, test.role, d)
		}
	}
}
