package web_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/app/web"
)

// signInPages are the pages of the way in and out.
func signInPages() map[string]func(*web.Pages, io.Writer) error {
	return map[string]func(*web.Pages, io.Writer) error{
		"signin": func(p *web.Pages, w io.Writer) error { return p.SignIn(w, web.SignIn{Next: "/change?id=7"}) },
		"signin-again": func(p *web.Pages, w io.Writer) error {
			return p.SignIn(w, web.SignIn{Next: `"><script>alert(1)</script>`, Problem: "This token is wrong." + hostile})
		},
		"enter": func(p *web.Pages, w io.Writer) error { return p.Enter(w, "CODE"+hostile) },
		"leave": func(p *web.Pages, w io.Writer) error { return p.Leave(w, "ann"+hostile) },
	}
}

// The way in shows nothing of the server, to whoever is not known: no queue, no warning, no
// way to the JSON. The other pages lead out where there is a session.
func TestTheWayInIsBare(t *testing.T) {
	pages := web.New(web.Options{Words: words{}, Warning: "steps can read secrets", Closed: true})
	for name, show := range everyPage() {
		var b bytes.Buffer
		if err := show(pages, &b); err != nil {
			t.Fatal(err)
		}
		bare := signInPages()[name] != nil || name == "problem"
		for _, inside := range []string{"steps can read secrets", `href="/leave"`, `href="/api/`} {
			if strings.Contains(b.String(), inside) == bare {
				t.Errorf("%s, bare %t: %s", name, bare, inside)
			}
		}
	}
}

// The form works in a browser by keyboard alone, and needs no script.
func TestSignInInBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser")
	}
	t.Parallel()
	server := pagesOverHTTP(t)
	dom := mustChromium(t, "--dump-dom", server.URL+"/signin-again")
	if !strings.Contains(dom, `label for="token"`) || !strings.Contains(dom, `id="token-help"`) || !strings.Contains(dom, "autofocus") || strings.Contains(dom, "<script") {
		t.Errorf("the page in a browser:\n%s", dom)
	}
}
