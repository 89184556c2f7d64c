package gitlab

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// playText bounds what one form of a page sends.
const playText = 64 << 10

// Play lets a person act as an account, which is made if needed and is a developer of the
// project. The pages of merge requests take notes, and each branch that the account pushes
// opens a merge request into the default branch. It returns the address for git, which
// contains a token: no page shows it.
func (p *Project) Play(user string) (clone string, err error) {
	u, err := url.Parse(p.s.URL())
	if err != nil {
		return "", err
	}
	u.User, u.Path = url.UserPassword(user, p.s.AddUser(user)), "/"+p.Path()+".git"
	p.SetLevel(user, 30)
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	p.player = p.s.user(user)
	return u.String(), nil
}

// played opens a merge request for each branch that the player has pushed and that has
// none, and returns the lines that the player's git prints. The caller holds the lock.
func (p *Project) played(who *User, moves []refMove, res pushResult) (lines []string) {
	if p.player == nil || who != p.player {
		return nil
	}
	for i, m := range moves {
		if !m.isBranch() || m.branch() == p.main || res.reason[i] != "" || m.new == "" {
			continue
		}
		at := -1
		for _, mr := range p.sorted() {
			if mr.state == "opened" && mr.source == m.branch() && mr.from == p {
				at = mr.iid
			}
		}
		if at > 0 {
			lines = append(lines, fmt.Sprintf("Merge request !%d has your commit: %s", at, p.mergeRequestPage(at)))
			continue
		}
		commits := p.between(p.tip(p.main), m.new)
		if len(commits) == 0 {
			lines = append(lines, m.branch()+" has no commit that "+p.main+" lacks: it gets a merge request once it has one.")
			continue
		}
		title, _ := p.git(nil, "log", "--reverse", "--format=%s", "refs/heads/"+p.main+".."+m.new)
		title, _, _ = strings.Cut(strings.TrimSpace(title), "\n")
		if title == "" {
			title = m.branch()
		}
		mr, no := p.open(who, p, Opening{Source: m.branch(), Target: p.main, Title: title})
		if no != nil {
			lines = append(lines, fmt.Sprintf("No merge request was opened: %v", no.body))
			continue
		}
		lines = append(lines, fmt.Sprintf("Merge request !%d is open: %s", mr.iid, p.mergeRequestPage(mr.iid)), "Comment /land there.")
	}
	return lines
}

func (p *Project) mergeRequestPage(iid int) string {
	return p.s.url + "/" + p.path + "/-/merge_requests/" + strconv.Itoa(iid)
}

// servePlay takes a note from the form of a merge request's page. Forms of other sites are
// refused, and so are foreign host names that lead here by DNS.
func (s *Server) servePlay(w http.ResponseWriter, r *http.Request) {
	path, number, _ := strings.Cut(strings.Trim(r.URL.Path, "/"), "/-/merge_requests/")
	number, last, _ := strings.Cut(number, "/")
	n, _ := strconv.Atoi(number)
	s.mu.Lock()
	p := s.project(path)
	known := p != nil && p.mrs[n] != nil && last == "notes"
	var player *User
	if known {
		player = p.player
	}
	s.mu.Unlock()
	switch {
	case !known:
		http.NotFound(w, r)
		return
	case player == nil:
		w.Header().Set("Allow", "GET")
		http.Error(w, "Nobody plays here: notes come from the demo alone.", http.StatusMethodNotAllowed)
		return
	case "http://"+r.Host != s.url || http.NewCrossOriginProtection().Check(r) != nil:
		http.Error(w, "Only the pages of "+s.url+" can send notes.", http.StatusForbidden)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, playText)
	if err := r.ParseForm(); err != nil {
		http.Error(w, "This note is too long or is no form: "+err.Error(), http.StatusBadRequest)
		return
	}
	at := "#notes"
	if text := strings.TrimSpace(r.PostForm.Get("text")); text != "" {
		at = "#note_" + strconv.Itoa(p.Comment(player.Name, n, text))
	}
	http.Redirect(w, r, p.mergeRequestPage(n)+at, http.StatusSeeOther)
}
