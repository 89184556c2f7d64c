package notify

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestTargets(t *testing.T) {
	file := filepath.Join(t.TempDir(), "hook")
	if err := os.WriteFile(file, []byte("https://hooks.example/in#kinds=red&secret="+secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := Parse([]string{
		"slack=https://hooks.slack.com/services/T/B/x#kinds=rejected,red\n webhook=@" + file,
		"webhook=http://ann:pw@10.0.0.1:8080/?kinds=a&b=c#secret=a%26b%25c%23d=e+f/ghijk&queue=acme/shop,acme/web@next",
		"slack=https://chat.example/hooks/y#kinds=all",
	})
	if err != nil {
		t.Fatal(err)
	}
	usual := []string{"rejected", "parked", "red", "green", "paused"}
	for i, want := range []struct {
		url, secret    string
		kinds, queues  []string
		tells, ignores []string // queue and kind
	}{
		{"https://hooks.slack.com/services/T/B/x", "", []string{"rejected", "red"}, nil, []string{"a@b red"}, []string{"a@b landed"}},
		{"https://hooks.example/in", secret, []string{"red"}, nil, nil, nil},
		{"http://ann:pw@10.0.0.1:8080/?kinds=a&b=c", "a&b%c#d=e+f/ghijk", usual, []string{"acme/shop", "acme/web@next"},
			[]string{"acme/shop@main red", "acme/shop@x red", "acme/web@next paused"}, []string{"acme/web@main red", "acme/shopping@main red", "acme/shop@main landed"}},
		{"https://chat.example/hooks/y", "", strings.Split(names(kinds, func(k kind) string { return k.name }), ", "), nil, []string{"a@b landed"}, nil},
	} {
		if g := got[i]; g.url.String() != want.url || string(g.secret) != want.secret || !slices.Equal(g.kinds, want.kinds) || !slices.Equal(g.queues, want.queues) {
			t.Errorf("target %d: %s %q %v %v", i, g.url, g.secret, g.kinds, g.queues)
		}
		for _, list := range []struct {
			of   []string
			want bool
		}{{want.tells, true}, {want.ignores, false}} {
			for _, text := range list.of {
				name, kind, _ := strings.Cut(text, " ")
				if got[i].wants(&rig{key: name}, kind) != list.want {
					t.Errorf("target %d is told of %s: %t", i, text, !list.want)
				}
			}
		}
	}
	if got := Files([]string{"slack=https://x.example/ webhook=@" + file, "slack=@hook"}); len(got) != 2 || got[0] != file || !filepath.IsAbs(got[1]) {
		t.Errorf("files with targets: %v", got)
	}
	rotated, err := Parse([]string{"webhook=https://hooks.example/in#secret=another-secret-of-it"})
	if err != nil || rotated[0].Name() != got[1].Name() {
		t.Errorf("another secret has another place in the history: %v", err)
	}
}

// A wrong target is refused when the server starts, in words that tell what is wrong and
// nothing of what is secret.
func TestWrongTargets(t *testing.T) {
	const hidden = "SECRETSECRETSECRET"
	for text, want := range map[string]string{
		"":                                             "",
		"teams=https://h.example/" + hidden:            "one of slack, webhook",
		"https://h.example/" + hidden:                  "one of slack, webhook",
		"slack":                                        "no http:// or https:// one",
		"slack=ftp://h.example/" + hidden:              "no http:// or https:// one",
		"slack=//h.example/" + hidden:                  "no http:// or https:// one",
		"slack=https:///" + hidden:                     "no http:// or https:// one",
		"slack=https://h.example/%zz" + hidden:         "no http:// or https:// one",
		"slack=https://h.example:" + hidden + "/":      "no http:// or https:// one",
		"slack=@/nowhere/" + hidden:                    "cannot be read: no such file",
		"slack=@https://h.example/" + hidden:           "cannot be read: no such file",
		"slack=https://h.example/#kinds=" + hidden:     "its kinds are a list, with commas, of: landed, rejected,",
		"slack=https://h.example/#kinds=":              "its kinds are a list",
		"slack=https://h.example/#" + hidden:           "kinds=, queue= and secret=",
		"slack=https://h.example/#x=" + hidden:         "kinds=, queue= and secret=",
		"slack=https://h.example/#secret=" + hidden:    "slack signs nothing",
		"webhook=https://h.example/" + hidden:          "no secret to sign with",
		"webhook=https://h.example/#secret=SECRET":     "shorter than 16",
		"webhook=https://h.example/#secret=%" + hidden: "write %25",
		"slack=https://h.example/" + hidden + " slack=https://h.example/" + hidden + "#kinds=red": "target 2: its address was given before",
	} {
		_, err := Parse([]string{text})
		if want == "" {
			if err != nil {
				t.Errorf("%q: %v", text, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		} else if strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%q: the error tells it: %v", text, err)
		}
	}
}

func TestTargetsPrintNoSecret(t *testing.T) {
	list, err := Parse([]string{"webhook=https://ann:SECRETpass@h.example/SECRETpath?k=SECRETquery#secret=SECRETSECRETSECRET"})
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		for _, v := range []any{list[0], &list[0], list, Options{Targets: list}, &Options{Targets: list}} {
			if text := fmt.Sprintf(verb, v); strings.Contains(text, "SECRET") || strings.Contains(text, "h.example") {
				t.Errorf("%s prints %s", verb, text)
			}
		}
	}
}
