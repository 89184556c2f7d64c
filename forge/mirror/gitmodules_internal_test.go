package mirror

import "testing"

func TestModuleURL(t *testing.T) {
	t.Parallel()
	const own = "https://code.example/us/app.git"
	for _, c := range []struct{ own, parent, written, want string }{
		{own, own, "../lib.git", "https://code.example/us/lib.git"},
		{own, own, "./sub/lib.git", "https://code.example/us/app.git/sub/lib.git"},
		{own, own + "/", "../../them/lib", "https://code.example/them/lib"},
		{own, "https://other.example/a/b.git", "../c.git", "https://other.example/a/c.git"},
		{own, own, "https://OTHER.example/a/b.git", "https://OTHER.example/a/b.git"},
		{own, own, "https://me@other.example/a/b.git?x#y", "https://other.example/a/b.git"},
		{own, own, "git@code.example:us/lib.git", "https://code.example/us/lib.git"},
		{own, own, "ssh://git@code.example/us/lib.git", "https://code.example/us/lib.git"},
		{own, own, "git@other.example:us/lib.git", ""},
		{own, own, "ssh://git@other.example/us/lib.git", ""},
		{own, own, "http://code.example/us/lib.git", ""},
		{own, own, "/srv/lib.git", ""},
		{own, own, "lib.git", ""},
		{own, own, "file:///srv/lib.git", ""},
		{own, own, "ext::sh -c x", ""},
		{own, own, "../../../lib.git", ""},
		{own, own, "..//lib.git", ""},
		{"http://box:8080/us/app.git", "http://box:8080/us/app.git", "http://box:8080/us/lib.git", "http://box:8080/us/lib.git"},
		{"http://box:8080/us/app.git", "http://box:8080/us/app.git", "http://box/us/lib.git", ""},
		{"/srv/us/app.git", "/srv/us/app.git", "../lib.git", "/srv/us/lib.git"},
		{"/srv/us/app.git", "/srv/us/app.git", "/srv/us/lib.git", ""},
		{"/srv/us/app.git", "https://other.example/a/b.git", "../c.git", "https://other.example/a/c.git"},
	} {
		if got, err := moduleURL(c.own, c.parent, c.written); got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%s in %s: %q %v, want %q", c.written, c.parent, got, err, c.want)
		}
	}
}

func TestSameOwner(t *testing.T) {
	t.Parallel()
	for other, want := range map[string]bool{
		"https://code.example/us/lib.git":      true,
		"https://CODE.example/Us/lib":          true,
		"https://code.example/them/lib.git":    false,
		"https://code.example/us/../them/x":    false,
		"https://code.example/us/group/lib":    false,
		"https://code.example.evil/us/lib.git": false,
		"https://code.example:444/us/lib.git":  false,
		"http://code.example/us/lib.git":       false,
		"/us/lib.git":                          false,
	} {
		if sameOwner("https://code.example/us/app.git", other) != want {
			t.Errorf("%s: %v", other, !want)
		}
	}
}
