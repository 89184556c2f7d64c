package workers

import (
	"encoding/base64"
	"encoding/hex"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/queue"
)

const pem = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nx/y+z==\n-----END KEY-----"

func TestReadSecret(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := put("good", pem+"\n\n", 0o600)
	if s, err := ReadSecret("DEPLOY_KEY=" + good); err != nil || s != (Secret{Name: "DEPLOY_KEY", Value: pem}) {
		t.Errorf("%v", err)
	}
	for text, want := range map[string]string{
		"KEY":                                   "write NAME=FILE",
		"KEY=":                                  "write NAME=FILE",
		"1X=" + good:                            "no name of a variable",
		"SUBMITQUEUE_TOKEN=" + good:             "under another name",
		"LD_PRELOAD=" + good:                    "under another name",
		"PATH=" + good:                          "under another name",
		"K=" + dir:                              "is no file",
		"K=" + dir + "/none":                    "no such file",
		"K=" + put("open", pem, 0o644):          "chmod 600",
		"K=" + put("short", "hunter2\n", 0o600): "could be guessed",
		"K=" + put("nul", "hunter2\x00hunter2", 0o600):        "NUL",
		"K=" + put("huge", strings.Repeat("x", 70000), 0o600): "at most 65536",
	} {
		if _, err := ReadSecret(text); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%.60s: %v, want %s", text, err, want)
		}
	}
	if err := Passed([]string{"HTTPS_PROXY=x", "REDIS_URL=y"}, "HTTPS_PROXY"); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"NONE", "REDIS_URL", "SUBMITQUEUE_TOKEN", "A B"} {
		if Passed([]string{"REDIS_URL=y", "SUBMITQUEUE_TOKEN=x"}, name) == nil {
			t.Errorf("%s is passed", name)
		}
	}
}

// A step has its secrets, and nothing that is shown of it has them, however it prints them.
func TestSecretsOfSteps(t *testing.T) {
	t.Parallel()
	value := "s3cr3t/with+odd&\"chars' and a tail"
	r := slot(t, tree{"f": ""}, func(o *RunnerOptions) {
		o.Env = []string{"PATH=" + os.Getenv("PATH"), "HTTPS_PROXY=http://proxy", "OTHER=no"}
		o.Pass = []string{"HTTPS_PROXY"}
		o.Secrets = []Secret{{Name: "TOKEN", Value: value}, {Name: "KEY", Value: pem}}
	})
	run := `test "$TOKEN" = '` + strings.ReplaceAll(value, "'", `'\''`) + `' || exit 3
echo "plain $TOKEN"; echo "$KEY"; printf %s "$TOKEN" | base64; printf 'user:%s' "$TOKEN" | base64; printf 'me:%s' "$TOKEN" | base64 -w0; echo
echo "$KEY" | base64; printf '%s' "$TOKEN" | od -An -tx1 -v | tr -d ' \n'; echo; echo "proxy $HTTPS_PROXY other <$OTHER>"; exit 1`
	done, res := one(t, r, job(step(run), "./a"))
	shown := res.log + done.Tail + res.end.Detail
	if done.Outcome != queue.JobFailed || !strings.Contains(shown, "exit status 1") || !strings.Contains(shown, "plain ***") || !strings.Contains(shown, "proxy http://proxy other <>") {
		t.Errorf("%+v\n%s", res.end, res.log)
	}
	mustNotShow(t, shown, value)
	for line := range strings.Lines(pem) {
		mustNotShow(t, shown, strings.TrimSpace(line))
	}
}

// mustNotShow fails where a text has a secret, or eight bytes of its base64 at any place.
func mustNotShow(t interface {
	Errorf(string, ...any)
}, shown, secret string) {
	if strings.Contains(shown, secret) || strings.Contains(shown, hex.EncodeToString([]byte(secret))) {
		t.Errorf("%q is shown in\n%s", secret, shown)
	}
}

// However a secret is encoded and whatever is around it, it is masked.
func TestMaskProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[ -~]{8,90}`).Draw(t, "secret")
		if strings.TrimSpace(secret) != secret {
			t.Skip("spaces around it are no part of it")
		}
		before, after := rapid.StringMatching(`[ -~]{0,5}`).Draw(t, "before"), rapid.StringMatching(`[ -~]{0,5}`).Draw(t, "after")
		mask := newMask([]string{secret})
		for name, text := range map[string]string{
			"plain": before + secret + after, "query": url.QueryEscape(before + secret + after), "path": url.PathEscape(before + secret + after),
			"hex": hex.EncodeToString([]byte(before + secret + after)),
		} {
			if got := mask(text); !strings.Contains(got, "***") {
				t.Fatalf("%s: %q is %q", name, text, got)
			}
		}
		for _, e := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding} {
			text := e.EncodeToString([]byte(before + secret + after))
			if got := mask(text); !strings.Contains(got, "***") {
				t.Fatalf("base64: %q is %q", text, got)
			}
		}
	})
}

// A secret of a repository is given to the steps of that one only, and is masked in all logs.
func TestSecretsOfRepositories(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("hunter2-hunter2"), 0o600); err != nil {
		t.Fatal(err)
	}
	var all []Secret
	for _, text := range []string{"KEY=", "Acme/Shop:KEY=", "group/sub/x.y:OTHER="} {
		s, err := ReadSecretOf(text + path)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		s.Value += s.Of
		all = append(all, s)
	}
	for of, want := range map[string]map[string]string{
		"acme/shop@main":       {"KEY": "hunter2-hunter2Acme/Shop"},
		"acme/shop@old":        {"KEY": "hunter2-hunter2"}, // it is called acme/till by now
		"acme/shop2@main":      {"KEY": "hunter2-hunter2"},
		"group/sub/x.y@v1@2":   {"KEY": "hunter2-hunter2", "OTHER": "hunter2-hunter2group/sub/x.y"},
		"evil/acme/shop@main":  {"KEY": "hunter2-hunter2"},
		"x@group/sub/x.y@main": {"KEY": "hunter2-hunter2"},
		"":                     {"KEY": "hunter2-hunter2"},
		"github:77@main":       {"KEY": "hunter2-hunter2Acme/Shop"},
		"github:78@main":       {"KEY": "hunter2-hunter2"},
	} {
		if got := SecretsOf(all, of, func(q string) string {
			return map[string]string{"github:77@main": "acme/shop", "acme/shop@old": "acme/till"}[q]
		}); !maps.Equal(got, want) {
			t.Errorf("%s: %v", of, got)
		}
	}
	for _, bad := range []string{":KEY=", "/:KEY=", "../x:KEY=", "a//b:KEY=", "acme/shop:PATH=", "acme/shop:=", "a b:KEY=", "acme/shop@main:KEY="} {
		if _, err := ReadSecretOf(bad + path); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
	r := slot(t, tree{"f": "x"}, func(o *RunnerOptions) { o.Secrets = all })
	b := build("b1", job(step("echo other $OTHER; echo hunter2-hunter2group/sub/x.y"), "a"))
	for of, want := range map[string]string{"acme/shop@main": "\nother\n***\n", "group/sub/x.y@main": "\nother ***\n***\n"} {
		b.Queue = of
		if got := strings.ReplaceAll(execute(t.Context(), r, b).log, " \n", "\n"); !strings.Contains(got, want) {
			t.Errorf("%s: %q", of, got)
		}
	}
}
