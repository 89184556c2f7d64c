package web

import (
	"bytes"
	"html"
	"io"
	"net/url"
)

// logMark stands in the rendered page where the log goes. A build's name cannot hold it.
const logMark = "the log goes here, between two halves of a page"

// LogPage is the page around a whole log, which may be too long to be held in memory.
type LogPage struct {
	w     io.Writer
	after []byte
}

// Log begins the page of a build's log. Text that is written to it is shown as text; Close
// ends the page.
func (p *Pages) Log(w io.Writer, build string) (*LogPage, error) {
	var b bytes.Buffer
	err := p.render(&b, "log", struct {
		page
		Build, Raw, Mark string
	}{page{Title: "Log of build " + clean(build)}, clean(build), "/log?raw=1&build=" + url.QueryEscape(build), logMark})
	if err != nil {
		return nil, err
	}
	before, after, _ := bytes.Cut(b.Bytes(), []byte(logMark))
	_, err = w.Write(before)
	return &LogPage{w, after}, err
}

// Write shows text of the log.
func (l *LogPage) Write(text []byte) (int, error) {
	if _, err := io.WriteString(l.w, html.EscapeString(string(text))); err != nil {
		return 0, err
	}
	return len(text), nil
}

// Close ends the page.
func (l *LogPage) Close() error {
	_, err := l.w.Write(l.after)
	return err
}
