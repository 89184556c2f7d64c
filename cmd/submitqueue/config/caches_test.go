package config

import (
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/queue/config"
)

// What init proposes to keep is a comment, which is right once its marks are taken away.
func TestCacheHints(t *testing.T) {
	for name, c := range map[string]struct {
		files []string
		want  string
	}{
		"cargo":        {[]string{"Cargo.toml"}, "target"},
		"cargo, below": {[]string{"it's a part/Cargo.toml", "go.mod"}, "it's a part/target"},
		"npm":          {[]string{"package.json", "package-lock.json", "a/package.json"}, ".npm"},
		"gradle":       {[]string{"gradlew", "build.gradle"}, ".gradle"},
		"maven":        {[]string{"pom.xml"}, ".m2"},
		"go":           {[]string{"go.mod"}, ""},
	} {
		files := treeOf(c.files...)
		files.Read = func(name string) string {
			if strings.HasSuffix(name, "package.json") {
				return `{"name": "x", "workspaces": ["a"], "scripts": {"test": "node t.js"}}`
			}
			return ""
		}
		text, _, err := firstConfig(files, "")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		plain, err := config.Parse(config.Path, text)
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, text)
		}
		for _, s := range plain.Steps {
			if len(s.Caches) > 0 {
				t.Errorf("%s: caches are on", name)
			}
		}
		with, err := config.Parse(config.Path, []byte(strings.NewReplacer("    # caches:", "    caches:", "    # env:", "    env:").Replace(string(text))))
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, text)
			continue
		}
		var got []string
		for _, s := range with.Steps {
			for _, one := range s.Caches {
				got = append(got, one.Paths...)
			}
		}
		if c.want == "" && len(got) > 0 || c.want != "" && (len(got) == 0 || got[0] != c.want) {
			t.Errorf("%s: %q, want %q\n%s", name, got, c.want, text)
		}
	}
}
