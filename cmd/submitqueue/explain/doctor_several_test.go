package explain

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/gitlabaccount"
	fake "github.com/submitqueue/submitqueue/forge/forgetest/gitlab"
)

// One call looks at all repositories of a server, on whichever forge they are, as serve
// names them; one that cannot be looked at keeps no other from being so.
func TestDoctorOfSeveralForges(t *testing.T) {
	h := newHub(t, map[string]string{".submitqueue.yml": "version: 1\nsteps:\n  - {name: unit, run: 'true'}\n"})
	gl, err := fake.New(fake.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { gl.Close() })
	gl.AddUser("ann")
	if _, err := gl.AddProject("group/shop", "main", "ann"); err != nil {
		t.Fatal(err)
	}
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte(gl.BotToken()), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(set func(*Doctor)) (string, string) {
		t.Helper()
		var out bytes.Buffer
		c := Doctor{Forge: []string{"github", "gitlab"}, Data: h.data, Redis: "auto", GitLab: gitlabaccount.Flags{URL: gl.URL(), Token: token}, out: &out}
		set(&c)
		if err := c.Run(t.Context()); err != nil {
			return out.String(), err.Error()
		}
		return out.String(), ""
	}
	text, _ := run(func(c *Doctor) { c.Repo = []string{"github:acme/shop,gitlab:group/shop"} })
	first, second := strings.Index(text, "acme/shop, branch main: "), strings.Index(text, "\ngroup/shop, branch main: ")
	if first != 0 || second < 0 {
		t.Errorf("it says\n%s", text)
	}
	text, _ = run(func(c *Doctor) { c.Repo, c.JSON = []string{"github:acme/shop", "gitlab:group/shop"}, true })
	var list []doctorReport
	if err := json.Unmarshal([]byte(text), &list); err != nil || len(list) != 2 || list[1].Repository != "group/shop" {
		t.Errorf("%v: %s", err, text)
	}
	text, failed := run(func(c *Doctor) { c.Repo = []string{"gitlab:nowhere", "github:acme/shop"} })
	if !strings.Contains(text, "acme/shop, branch main: ") || !strings.Contains(failed, "nowhere: ") {
		t.Errorf("%s, and it says\n%s", failed, text)
	}
	if err := (gitlabaccount.Chosen{URL: gl.URL(), Projects: []string{"group/shop"}}).Keep(h.data); err != nil {
		t.Fatal(err)
	}
	if text, _ := run(func(*Doctor) {}); !strings.HasPrefix(text, "group/shop, branch main: ") {
		t.Errorf("of the project that was chosen on the set-up page it says\n%s", text)
	}
	for want, set := range map[string]func(*Doctor){
		"write github:acme/shop":              func(c *Doctor) { c.Repo = []string{"acme/shop"} },
		"say which repository":                func(c *Doctor) { c.Forge = []string{"github"} },
		"submitqueue validate":                func(c *Doctor) { c.Forge = []string{"local"} },
		"is not the full path of a project, ": func(c *Doctor) { c.Repo = []string{"gitlab:shop"} },
	} {
		if _, failed := run(set); !strings.Contains(failed, want) {
			t.Errorf("%q is not in %q", want, failed)
		}
	}
}
