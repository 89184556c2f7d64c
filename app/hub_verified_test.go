package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A build whose targets are all verified at their content has nothing for a runner to do: no
// job is dispatched, whether it was a try that has verified them or a build of a change that
// was taken out again. The jobs count their runs themselves, and not by the queue's word.
func TestVerifiedBuildDispatchesNoJob(t *testing.T) {
	ran := filepath.Join(t.TempDir(), "ran")
	files := areas()
	for _, name := range []string{"api", "web"} {
		files[name+"/test.sh"] = "echo " + name + " >> '" + ran + "'\n" + files[name+"/test.sh"]
	}
	h := newHub(t, hubOptions{files: files})
	jobs := func() string {
		raw, err := os.ReadFile(ran)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(string(raw)), " ")
	}
	n := h.pull("topic", map[string]string{"api/a": "a\n", "web/a": "a\n"})
	h.Comment("ann", n, "/land try")
	h.says(n, "🧪 Tried: it passes on `main`")
	h.quiet()
	before := jobs()
	if !strings.Contains(before, "api") || !strings.Contains(before, "web") {
		t.Fatalf("the first build has run %q", before)
	}
	h.Comment("ann", n, "/land")
	h.landed(n)
	h.quiet()
	if after := jobs(); after != before {
		t.Errorf("the second build has run %q as well", strings.TrimPrefix(after, before))
	}
	other := h.pull("other", map[string]string{"api/b": "b\n"}) // and one that is not verified is run, for its own target
	h.Comment("ann", other, "/land")
	h.landed(other)
	if more := strings.TrimPrefix(jobs(), before); strings.TrimSpace(more) != "api" {
		t.Errorf("for a change of api alone it has run %q", more)
	}
}
