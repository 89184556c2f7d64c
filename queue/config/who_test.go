package config_test

import (
	"testing"

	"github.com/submitqueue/submitqueue/queue/config"
)

func TestWhoAllows(t *testing.T) {
	for _, test := range []struct {
		who        config.Who
		role, user string
		teams      []string
		want       bool
	}{
		{"write", "write", "ann", nil, true},
		{"write", "admin", "ann", nil, true},
		{"write", "triage", "ann", nil, false},
		{"write", "owner", "ann", nil, false},
		{"write", "", "write", nil, false}, // a user may be called so
		{"maintain ann", "read", "Ann", nil, true},
		{"maintain @ann", "read", "ann", nil, true},
		{"maintain ann", "read", "anna", nil, false},
		{"@acme/crew", "admin", "ann", nil, false},
		{"@acme/crew", "none", "ann", []string{"Acme/Crew"}, true},
		{"@acme/crew", "none", "acme/crew", nil, false},
		{"", "admin", "ann", nil, false},
		{"ann", "admin", "", nil, false},
	} {
		if got := test.who.Allows(test.role, test.user, test.teams); got != test.want {
			t.Errorf("%q allows %s (%s) of %v: %v", test.who, test.user, test.role, test.teams, got)
		}
	}
}
