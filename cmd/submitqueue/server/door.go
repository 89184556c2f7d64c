package server

import (
	"bytes"
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/app/web"
)

// door lets one browser in to the pages of a set-up: the browser that shows the token that
// the server has printed on its console. The pages hold mu.
type door struct {
	public string // URL under which people reach the server; "": the one they used
	log    *slog.Logger
	pages  *web.Pages
	token  string

	mu      sync.Mutex
	session string                                   // the cookie's value; "": none is open
	form    string                                   // the value that the session's form sends back
	admit   func(http.ResponseWriter, *http.Request) // signs the session's browser in to the server; nil: it cannot yet
}

func newDoor(public string, log *slog.Logger) door {
	return door{public: public, log: log, pages: web.New(web.Options{Words: texts.Words{}}), token: rand.Text()}
}

// admits sets how a browser is signed in to the server. It is called once the server runs.
func (d *door) admits(admit func(http.ResponseWriter, *http.Request)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.admit = admit
}

// inside reports whether the request comes from the browser that has shown the token.
func (d *door) inside(r *http.Request) bool {
	c, err := r.Cookie(setupCookie)
	return err == nil && d.session != "" && subtle.ConstantTimeCompare([]byte(c.Value), []byte(d.session)) == 1
}

// enter opens a session, in place of the one before, and reports whether it did.
func (d *door) enter(w http.ResponseWriter, r *http.Request) (entered bool) {
	if subtle.ConstantTimeCompare([]byte(r.URL.Query().Get("token")), []byte(d.token)) != 1 {
		d.problem(w, http.StatusForbidden, "This is not the link that the server has printed on its console. Each start prints another one.")
		return false
	}
	d.session, d.form = rand.Text(), rand.Text()
	if d.admit != nil {
		d.admit(w, r)
	}
	http.SetCookie(w, &http.Cookie{Name: setupCookie, Value: d.session, Path: "/setup", HttpOnly: true,
		SameSite: http.SameSiteLaxMode, // GitHub sends the person back from its own site
		Secure:   strings.HasPrefix(d.origin(r), "https://"), MaxAge: int((2 * setupLife).Seconds())})
	http.Redirect(w, r, "/setup", http.StatusSeeOther)
	return true
}

// origin is the address under which this browser reaches the server. A proxy says so in
// its headers; a client that forges them misleads only itself.
func (d *door) origin(r *http.Request) string {
	scheme := "http"
	if u, err := url.Parse(d.public); err == nil && strings.EqualFold(u.Host, r.Host) {
		scheme = u.Scheme
	} else if r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https") {
		scheme = "https"
	}
	return scheme + "://" + r.Host
}

// policy sets where forms of the page may be sent.
func (d *door) policy(w http.ResponseWriter, forms string) {
	w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action "+forms+"; frame-ancestors 'none'")
}

func (d *door) page(w http.ResponseWriter, status int, render func(io.Writer) error) {
	var b bytes.Buffer
	if err := render(&b); err != nil {
		d.log.Error("a page of the set-up cannot be made", "error", err)
		http.Error(w, "This page cannot be shown; the server's log says why.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // a browser that has left needs no page
}

func (d *door) problem(w http.ResponseWriter, status int, text string) {
	d.page(w, status, func(b io.Writer) error { return d.pages.Problem(b, status, text) })
}

// right reports whether a form is the one that the session was shown.
func (d *door) right(r *http.Request) bool {
	return subtle.ConstantTimeCompare([]byte(r.PostFormValue("form")), []byte(d.form)) == 1
}

// invite prints the link that opens the door.
func (d *door) invite(w io.Writer, base, what, until string) {
	fmt.Fprintf(w, "\n%s\n\n    %s/setup?token=%s\n\nThe link is for you alone, and good until %s or the server stops.\n\n", what, base, d.token, until)
}
