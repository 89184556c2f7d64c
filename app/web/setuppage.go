package web

import (
	"io"
	"strings"
)

// SetupPermission is a permission, or an event, that the App asks for.
type SetupPermission struct {
	Name   string
	Access string
	Why    string
}

// SetupForm is the page on which a person begins to make the server's App.
type SetupForm struct {
	Form         string // the one-time value that the form sends back
	Organization string
	Site         string // of the GitHub
	Server       string // URL under which GitHub is to reach the server
	Loopback     bool   // which it cannot
	Public       bool
	Show         bool   // the credentials are shown, and not kept
	Problem      string // what was wrong with the last attempt; hostile text
	File         string // where the credentials are kept
	Permissions  []SetupPermission
	Events       []SetupPermission
}

// SetupForm renders the page f.
func (p *Pages) SetupForm(w io.Writer, f SetupForm) error {
	f.Problem = clean(f.Problem)
	return p.render(w, "setup", struct {
		page
		SetupForm
	}{page{Title: "Set-up"}, f})
}

// SetupGo is the page that hands the manifest to GitHub, without a click where scripts
// run.
type SetupGo struct {
	Action   string // GitHub's page
	Site     string
	Manifest string
}

// SetupGo renders the page g.
func (p *Pages) SetupGo(w io.Writer, g SetupGo) error {
	return p.render(w, "setupgo", struct {
		page
		SetupGo
	}{page{Title: "On to GitHub"}, g})
}

// SetupMade is the page that says that the App was made.
type SetupMade struct {
	Name        string // of the App
	Install     string // GitHub's page on which it is installed
	File        string // where its credentials are; empty: nowhere
	Credentials string // the file's text, to be copied, where there is no file
	Problem     string // why the file could not be written
	Idle        string // why the server does not work as the App yet; empty: it does
}

// SetupMade renders the page m.
func (p *Pages) SetupMade(w io.Writer, m SetupMade) error {
	m.Name, m.Problem, m.Idle = clean(m.Name), clean(m.Problem), clean(m.Idle)
	return p.render(w, "setupmade", struct {
		page
		SetupMade
	}{page{Title: "The App is there"}, m})
}

// SetupLab is the page on which a person connects the server to projects on GitLab.
type SetupLab struct {
	Form     string // the one-time value that the form sends back
	Site     string // of the GitLab
	Link     string // its page for a new token; empty: not known
	Target   string // path of a project or a group
	Server   string // URL under which GitLab is to reach the server
	Loopback bool   // which it cannot
	Kept     bool   // a token is kept already
	File     string // where it is, or would be
	Problem  string // what was wrong with the last attempt; hostile text
	Report   string // what was done and found; hostile text
	Events   []SetupPermission
}

// SetupLab renders the page f.
func (p *Pages) SetupLab(w io.Writer, f SetupLab) error {
	f.Problem, f.Report = clean(f.Problem), cleanLines(f.Report)
	return p.render(w, "setuplab", struct {
		page
		SetupLab
	}{page{Title: "Set-up"}, f})
}

// SetupLabMade is the page that says that the server is connected to GitLab.
type SetupLabMade struct {
	Projects []string
	Report   string // what was done and found; hostile text
	File     string // where the token is
	Problem  string // why the choice could not be kept; empty: it could
}

// SetupLabMade renders the page m.
func (p *Pages) SetupLabMade(w io.Writer, m SetupLabMade) error {
	m.Problem, m.Report = clean(m.Problem), cleanLines(m.Report)
	return p.render(w, "setuplabmade", struct {
		page
		SetupLabMade
	}{page{Title: "Connected to GitLab"}, m})
}

// cleanLines is clean for each line of a text.
func cleanLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = clean(line)
	}
	return strings.Join(lines, "\n")
}
