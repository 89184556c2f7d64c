package server

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/githubapp"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/gitlabaccount"
)

// A server that cannot isolate steps as asked does not start.
func TestIsolationThatIsNotToBeHad(t *testing.T) {
	t.Parallel()
	place := t.TempDir() // closed to others
	key := filepath.Join(place, "key.pem")
	if err := os.WriteFile(key, []byte("key"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, uids := range []string{"", "1", "5-3", "0-7", "a-b"} {
		c := &Serve{Runners: 1, Isolate: isolateFlags{Isolate: "none", UIDs: uids}, Data: place}
		if err := c.Isolate.choose(c, &Options{}); err == nil || !strings.Contains(err.Error(), "58000-58999") {
			t.Errorf("%q: %v", uids, err)
		}
	}
	if os.Getuid() == 0 {
		c := &Serve{Runners: 1, Isolate: isolateFlags{Isolate: "namespace", UIDs: "58000-58999"}, Data: place}
		if err := c.Isolate.choose(c, &Options{}); err == nil || !strings.Contains(err.Error(), "--isolate uid") {
			t.Errorf("%v", err)
		}
	} else {
		c := &Serve{Runners: 1, Isolate: isolateFlags{Isolate: "uid", UIDs: "58000-58999"}, Data: place}
		if err := c.Isolate.choose(c, &Options{}); err == nil || !strings.Contains(err.Error(), "root") {
			t.Errorf("%v", err)
		}
	}
	if got := fmt.Sprint((&Serve{Flags: githubapp.Flags{AppKey: key}, GitLab: gitlabaccount.Flags{Token: "/etc/gitlab", Secret: "/etc/hook"}, Notify: []string{"slack=@/etc/slack"}}).secretFiles()); got != "["+key+" /etc/gitlab /etc/hook /etc/slack]" {
		t.Errorf("secrets: %s", got)
	}
}
