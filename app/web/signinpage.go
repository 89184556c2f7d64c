package web

import "io"

// SignIn is the page for a visitor without a session. It shows nothing that the server has.
type SignIn struct {
	Next    string // the page of this server that the visitor asked for
	Problem string // what was wrong with the last attempt
}

// SignIn renders the page s.
func (p *Pages) SignIn(w io.Writer, s SignIn) error {
	s.Problem = clean(s.Problem)
	return p.render(w, "signin", struct {
		page
		SignIn
	}{page{Title: "Sign in", Bare: true}, s})
}

// Enter renders the page behind a link. The button of the page opens a session.
func (p *Pages) Enter(w io.Writer, code string) error {
	return p.render(w, "enter", struct {
		page
		Code string
	}{page{Title: "Sign in", Bare: true}, clean(code)})
}

// Leave renders the page that asks whether to sign out.
func (p *Pages) Leave(w io.Writer, name string) error {
	return p.render(w, "leave", struct {
		page
		Name string
	}{page{Title: "Sign out", Bare: true}, clean(name)})
}
