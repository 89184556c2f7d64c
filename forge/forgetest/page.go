package forgetest

import (
	"bytes"
	"embed"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/submitqueue/submitqueue/forge/forgetest/live"
	"github.com/submitqueue/submitqueue/forge/forgetest/markdown"
)

//go:embed pages
var pageFiles embed.FS

// The bounds of a page.
const (
	pageCommits = 100
	pageDiff    = 256 << 10 // bytes
)

// pages answers browsers with pages to read: repositories, pull requests and commits,
// as far as everybody may read them. The only action there is to comment, where a
// person plays.
type pages struct {
	s      *Server
	byName map[string]*template.Template
}

func (s *web) pages() http.Handler {
	p := &pages{s: s.server, byName: map[string]*template.Template{}}
	short := func(id string) string { return id[:min(len(id), 10)] }
	for _, name := range []string{"repositories", "repository", "pull", "commit", "missing"} {
		p.byName[name] = template.Must(template.Must(template.New("").Parse(markdown.Templates)).Funcs(template.FuncMap{"short": short}).
			ParseFS(pageFiles, "pages/layout.html", "pages/"+name+".html"))
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", p.repositories)
	mux.HandleFunc("GET /-/style.css", func(w http.ResponseWriter, r *http.Request) {
		http.ServeFileFS(w, r, pageFiles, "pages/style.css")
	})
	mux.HandleFunc("GET "+live.Path, func(w http.ResponseWriter, r *http.Request) {
		live.Serve(w, r)
	})
	mux.HandleFunc("GET /{owner}/{name}", p.inRepository(p.repository))
	mux.HandleFunc("GET /{owner}/{name}/{$}", p.inRepository(p.repository))
	mux.HandleFunc("GET /{owner}/{name}/pull/{number}", p.inRepository(p.pull))
	mux.HandleFunc("POST /{owner}/{name}/pull/{number}/comments", p.inRepository(p.say))
	mux.HandleFunc("GET /{owner}/{name}/issues/{number}", p.inRepository(p.pull))
	mux.HandleFunc("GET /{owner}/{name}/commit/{id}", p.inRepository(p.commit))
	mux.HandleFunc("GET /{owner}/{name}/runs/{id}", p.inRepository(p.run))
	return mux
}

// missing answers that something does not exist, and why.
func (p *pages) missing(w http.ResponseWriter, why string) {
	p.write(w, page{template: "missing", status: http.StatusNotFound, Title: "Not found", Body: why})
}

// page is one page: the name of its template and its content.
type page struct {
	template   string
	status     int // 0: 200
	Title      string
	Repository string // the repository that it belongs to; empty: none
	Player     string // the user that a person plays there; empty: nobody
	Body       any
}

func (p *pages) write(w http.ResponseWriter, pg page) {
	var b bytes.Buffer
	if err := p.byName[pg.template].ExecuteTemplate(&b, "layout", pg); err != nil {
		p.s.log.Error("page", "err", err)
		http.Error(w, "This page cannot be shown.", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	policy := "default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'none'"
	if pg.Player != "" {
		policy = "default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'; script-src 'self'; connect-src 'self'"
	}
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	if pg.status != 0 {
		w.WriteHeader(pg.status)
	}
	w.Write(b.Bytes())
}

// inRepository calls f with the repository of the path, if everybody may read it.
func (p *pages) inRepository(f func(http.ResponseWriter, *http.Request, *Repository)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		p.s.mu.Lock()
		repo := p.s.repos[strings.ToLower(r.PathValue("owner")+"/"+r.PathValue("name"))]
		public := repo != nil && !repo.private
		p.s.mu.Unlock()
		if !public {
			p.missing(w, "There is no such repository.")
			return
		}
		f(w, r, repo)
	}
}

func (p *pages) repositories(w http.ResponseWriter, r *http.Request) {
	type row struct {
		Name        string
		Open, Pulls int
	}
	var rows []row
	p.s.mu.Lock()
	for _, repo := range p.s.repos {
		if repo.private {
			continue
		}
		v := row{Name: repo.fullName()}
		for _, pr := range repo.issues.sorted() {
			v.Pulls++
			if pr.open() {
				v.Open++
			}
		}
		rows = append(rows, v)
	}
	p.s.mu.Unlock()
	slices.SortFunc(rows, func(a, b row) int { return strings.Compare(a.Name, b.Name) })
	p.write(w, page{template: "repositories", Title: "Repositories", Body: rows})
}

// pullRow is a pull request in a list.
type pullRow struct {
	Repository    string
	Number        int
	Title, Author string
	State         string // "open", "closed" or "merged"
}

func (r *shapes) pullRow(p *pull) pullRow {
	v := pullRow{r.repo.fullName(), p.Number, p.Title, p.Author, p.State}
	if p.Merged {
		v.State = "merged"
	}
	return v
}

func (p *pages) repository(w http.ResponseWriter, r *http.Request, repo *Repository) {
	body := struct {
		Name, Branch, Clone string
		Open, Closed        []pullRow
		Commits             []pageCommit
		More                int
		Player              string
	}{Name: repo.fullName(), Branch: repo.main, Clone: repo.CloneURL(), Player: repo.playerOf()}
	p.s.mu.Lock()
	for _, pr := range slices.Backward(repo.issues.sorted()) {
		if pr.open() {
			body.Open = append(body.Open, repo.shapes.pullRow(pr))
		} else {
			body.Closed = append(body.Closed, repo.shapes.pullRow(pr))
		}
	}
	p.s.mu.Unlock()
	if head := repo.Head(repo.main); head != "" {
		out, err := repo.store.git(r.Context(), nil, "log", "--first-parent", pageFormat, head)
		if err != nil {
			p.s.log.Error("page", "err", err)
		}
		for line := range strings.Lines(string(out)) {
			if len(body.Commits) == pageCommits {
				body.More++
				continue
			}
			body.Commits = append(body.Commits, parsePageCommit(line))
		}
	}
	p.write(w, page{template: "repository", Title: repo.fullName(), Repository: repo.fullName(), Player: body.Player, Body: body})
}

// pageCheck is a check run on a page.
type pageCheck struct {
	CheckRun
	State string // its conclusion, or its status while it has none
}

func (r *shapes) pageChecks(head string) []pageCheck {
	var list []pageCheck
	for _, c := range r.repo.CI.checksOf(head) {
		state := c.Conclusion
		if state == "" {
			state = c.Status
		}
		list = append(list, pageCheck{c, state})
	}
	return list
}

func (p *pages) pull(w http.ResponseWriter, r *http.Request, repo *Repository) {
	type comment struct {
		Comment
		At        string
		Text      []markdown.Block
		Reactions []string
	}
	var body struct {
		pullRow
		Branch, Base, Head, Merge string
		Draft                     bool
		Labels                    []string
		Text                      []markdown.Block
		Checks                    []pageCheck
		Comments                  []comment
		Player                    string
	}
	number, err := strconv.Atoi(r.PathValue("number"))
	p.s.mu.Lock()
	pr := repo.pulls[number]
	if err != nil || pr == nil {
		p.s.mu.Unlock()
		p.missing(w, "There is no such pull request.")
		return
	}
	body.pullRow, body.Player = repo.shapes.pullRow(pr), repo.player
	body.Branch, body.Base, body.Head, body.Merge = pr.Branch, pr.Base, pr.Head, pr.mergeCommit
	if pr.Fork != "" {
		body.Branch = pr.Fork + ":" + pr.Branch
	}
	body.Draft, body.Labels = pr.Draft, slices.Clone(pr.Labels)
	body.Text, body.Checks = markdown.Blocks(pr.Body), repo.shapes.pageChecks(pr.Head)
	for _, c := range repo.comments {
		if c.Number != number {
			continue
		}
		v := comment{Comment: c.Comment, At: c.created.Format("15:04:05 UTC"), Text: markdown.Blocks(c.Body)}
		for _, re := range c.Comment.Reactions {
			v.Reactions = append(v.Reactions, emoji(re.Content))
		}
		body.Comments = append(body.Comments, v)
	}
	p.s.mu.Unlock()
	p.write(w, page{template: "pull", Title: "#" + strconv.Itoa(number) + " " + body.Title, Repository: repo.fullName(), Player: body.Player, Body: body})
}

// emoji returns the sign by which a page shows a reaction.
func emoji(content string) string {
	if e, ok := map[string]string{
		"+1": "👍", "-1": "👎", "laugh": "😄", "confused": "😕", "heart": "❤️", "hooray": "🎉", "rocket": "🚀", "eyes": "👀",
	}[content]; ok {
		return e
	}
	return content
}

// pageCommit is a commit on a page.
type pageCommit struct {
	ID, Author, When, Subject string
	Parents                   []string
}

// Short returns the beginning of the commit's id.
func (c pageCommit) Short() string { return c.ID[:min(len(c.ID), 10)] }

const pageFormat = "--format=%H%x1f%P%x1f%an%x1f%cI%x1f%s"

func parsePageCommit(line string) pageCommit {
	f := strings.SplitN(strings.TrimSuffix(line, "\n"), "\x1f", 5)
	for len(f) < 5 {
		f = append(f, "")
	}
	return pageCommit{ID: f[0], Parents: strings.Fields(f[1]), Author: f[2], When: f[3], Subject: f[4]}
}

func (p *pages) commit(w http.ResponseWriter, r *http.Request, repo *Repository) {
	body := struct {
		pageCommit
		Repository string
		Body, Diff string
		Cut        bool
		Checks     []pageCheck
	}{Repository: repo.fullName()}
	id := r.PathValue("id")
	p.s.mu.Lock()
	known := repo.store.hasObject(id)
	if known {
		body.Checks = repo.shapes.pageChecks(id)
	}
	p.s.mu.Unlock()
	if !known {
		p.missing(w, "There is no such commit in this repository. A trial merge that a bot has built, and not pushed, is not.")
		return
	}
	out, err := repo.store.git(r.Context(), nil, "show", "--no-patch", pageFormat+"%n%b", id+"^{commit}")
	if err != nil {
		p.missing(w, "This is not a commit.")
		return
	}
	head, rest, _ := strings.Cut(string(out), "\n")
	body.pageCommit, body.Body = parsePageCommit(head), strings.TrimSpace(rest)
	diff, err := repo.store.git(r.Context(), nil, "show", "--format=", "--diff-merges=first-parent", "--stat", "--patch", "--no-color", "--no-ext-diff", "--no-textconv", id)
	if err != nil {
		p.s.log.Error("page", "err", err)
	}
	body.Cut = len(diff) > pageDiff
	body.Diff = strings.ToValidUTF8(string(diff[:min(len(diff), pageDiff)]), "\uFFFD")
	p.write(w, page{template: "commit", Title: body.Subject, Repository: repo.fullName(), Body: body})
}

// run redirects from a check run to its commit.
func (p *pages) run(w http.ResponseWriter, r *http.Request, repo *Repository) {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	head := ""
	p.s.mu.Lock()
	for _, c := range repo.CI.runs {
		if err == nil && c.ID == id {
			head = c.Head
		}
	}
	p.s.mu.Unlock()
	if head == "" {
		p.missing(w, "There is no such check.")
		return
	}
	http.Redirect(w, r, "/"+repo.fullName()+"/commit/"+head+"#run-"+strconv.FormatInt(id, 10), http.StatusFound)
}
