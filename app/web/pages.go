package web

import (
	"embed"
	"html/template"
	"io"
	"io/fs"
	"net/http"
	"sync"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

//go:embed templates/*.html
var templates embed.FS

//go:embed static/*
var static embed.FS

// Words put facts about changes into words. All are plain text, and may quote hostile
// text. The pages escape it.
type Words interface {
	// Noun returns what a change is at its forge, e.g. "pull request".
	Noun() string
	// Land and Resume say how to ask for landing, and how to let landings go on.
	Land() string
	Resume() string
	// Reason returns a reason in words, Short in a few words.
	Reason(c queue.Change, r queue.Reason) string
	Short(c queue.Change, r queue.Reason) string
	// Forecast returns when a verdict is expected; "" where that is not known.
	Forecast(f queue.Forecast, now queue.Instant) string
	// Partners returns the changes that a change is built or lands with; "" where there are
	// none.
	Partners(v queue.View) string
	// Models says which model the queue plans with, ModelPart how good a part of a
	// model is, and ModelCause why a model was learned.
	Models(v queue.ModelsView) string
	ModelPart(p queue.ModelPart) string
	ModelCause(c queue.LearnCause) string
	// Upgrade says how far a newer version of the analyzer is proven, in a sentence
	// without its full stop.
	Upgrade(u *queue.UpgradeView) string
	// Host says why a host is benched.
	Host(h queue.HostView) string
	// OtherTools says of which step a host gets no builds, and why.
	OtherTools(host string, o queue.OtherTools) string
	QuarantineOver(q config.QuarantineRow) string
	// Drift says which check of the target branch fails now though nothing in the
	// branch has changed, in a sentence without its full stop.
	Drift(d queue.Drift) string
	// Unrun says that no runner can run steps that verify the target branch, and what
	// to do about it.
	Unrun(f []queue.Evidence) string
	// OnTop returns what a change is on top of; "" where it is on top of nothing.
	OnTop(c queue.Change) string
	// Conflict returns why two changes may influence each other. The witnesses follow
	// the text.
	Conflict(v queue.View, k queue.Conflict) string
	// Why returns what a build is for; old is the build's sentence, where an older
	// version has stored one.
	Why(w queue.Worth, old string) string
	// Part returns the meaning of a factor of a build's value, and Covers which targets
	// of its change the build verifies; "" where that is not known.
	Part(w queue.Worth, p queue.PartName) string
	Covers(c queue.Coverage) string
	// Note returns a line of the history in words, and further words about it.
	Note(c queue.Change, n queue.Note) (what, more string)
}

// Options are what Pages need.
type Options struct {
	Words Words // required
	// WordsOf returns the words of a queue. nil: Words.
	WordsOf func(v queue.QueueView) Words
	Warning string // shown on every page but those of signing in; "": none
	Notice  string // shown at the foot of every page of the queues; "": none
	Closed  bool   // the reader has signed in, and may sign out
}

// Pages renders pages. Its methods may be called at the same time.
type Pages struct {
	options Options
	words   Words // of the queue that is shown
}

// New returns the pages.
func New(o Options) *Pages { return &Pages{options: o, words: o.Words} }

// of returns the pages in the words of a queue.
func (p *Pages) of(v queue.QueueView) *Pages {
	if p.options.WordsOf == nil {
		return p
	}
	return &Pages{options: p.options, words: p.options.WordsOf(v)}
}

// parsed returns every page, for all Pages of the program.
var parsed = sync.OnceValue(func() map[string]*template.Template {
	pages := map[string]*template.Template{}
	for _, name := range []string{"queues", "queue", "change", "search", "log", "runners", "flakes", "problem", "setup", "setupgo", "setupmade", "setuplab", "setuplabmade", "signin", "enter", "leave", "docs"} {
		pages[name] = template.Must(template.ParseFS(templates,
			"templates/layout.html", "templates/parts.html", "templates/"+name+".html"))
	}
	return pages
})

// Static serves the pages' style sheet, script and icon.
func Static() http.Handler { return Files(static, "static") }

// Files serves a folder of embedded files, without a listing.
func Files(embedded embed.FS, folder string) http.Handler {
	files, err := fs.Sub(embedded, folder)
	if err != nil {
		panic(err) // the folder is embedded
	}
	serve := http.FileServerFS(files)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "" || r.URL.Path == "/" {
			http.NotFound(w, r) // no listing
			return
		}
		w.Header().Set("Cache-Control", "no-cache") // a new server has new files under the same names
		serve.ServeHTTP(w, r)
	})
}

// page is what the layout shows around every page.
type page struct {
	Title string
	Queue string // name of the queue the page is about; empty: none
	Noun  string // what a change is
	Live  bool
	Bare  bool // its reader may not have signed in: it shows nothing of the server
}

// Queues renders the list of queues.
func (p *Pages) Queues(w io.Writer, list []queue.QueueView, now queue.Instant) error {
	m := queuesModel{page: page{Title: "Queues", Live: true}}
	for _, v := range list {
		m.Queues = append(m.Queues, p.head(v, now))
	}
	return p.render(w, "queues", m)
}

type queuesModel struct {
	page
	Queues []queueHead
}

// Problem renders what is wrong with a request and what to do.
func (p *Pages) Problem(w io.Writer, status int, text string) error {
	return p.render(w, "problem", struct {
		page
		Status int
		Text   string
	}{page{Title: http.StatusText(status), Bare: true}, status, clean(text)})
}

// frame is what the layout shows: a page, and the server's texts for every page.
type frame struct {
	Warning, Notice string
	Closed          bool
	Page            any // embeds page
}

func (p *Pages) render(w io.Writer, name string, model any) error {
	return parsed()[name].ExecuteTemplate(w, "layout", frame{p.options.Warning, p.options.Notice, p.options.Closed, model})
}
