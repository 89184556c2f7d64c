package forgetest

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// playText bounds what one form of a page sends.
const playText = 64 << 10

// Play lets a person act as login: the user is made if needed, and may write. The pages of
// pull requests take comments, and each branch that login pushes opens a pull request into
// the default branch. It returns the address for git, which contains a credential: no page
// shows it.
func (r *Repository) Play(login string) (clone string, err error) {
	r.SetPermission(login, "write")
	u, err := url.Parse(r.CloneURL())
	if err != nil {
		return "", err
	}
	u.User = url.UserPassword(login, r.s.UserToken(login))
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.player = login
	return u.String(), nil
}

// playerOf returns the login that a person plays; empty: nobody plays.
func (r *Repository) playerOf() string {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	return r.player
}

// played opens a pull request for each branch that the player has pushed and that has none,
// and returns the lines that the player's git prints. The caller holds r.refs.
func (r *Repository) played(ctx context.Context, who identity, res pushResult) (lines []string) {
	player := r.playerOf()
	if player == "" || who.user == nil || !strings.EqualFold(who.user.login, player) {
		return nil
	}
	for i, m := range res.moves {
		branch, ok := strings.CutPrefix(m.ref, "refs/heads/")
		if !ok || branch == r.main || res.reason[i] != "" || m.new == zeroID {
			continue
		}
		r.s.mu.Lock()
		open := r.issues.openFrom(branch)
		r.s.mu.Unlock()
		if len(open) > 0 {
			lines = append(lines, fmt.Sprintf("Pull request #%d has your commit: %s", open[0].Number, r.pullPage(open[0].Number)))
			continue
		}
		out, err := r.store.git(ctx, nil, "log", "--reverse", "--format=%s", "refs/heads/"+r.main+".."+m.new)
		title, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
		if err == nil && len(out) == 0 {
			lines = append(lines, branch+" has no commit that "+r.main+" lacks: it gets a pull request once it has one.")
			continue
		}
		if title == "" {
			title = branch
		}
		n, err := r.open(Pull{Author: player, Branch: branch, Base: r.main, Title: title})
		if err != nil {
			lines = append(lines, "No pull request was opened: "+err.Error())
			continue
		}
		lines = append(lines, fmt.Sprintf("Pull request #%d is open: %s", n, r.pullPage(n)), "Comment /land there.")
	}
	return lines
}

func (r *Repository) pullPage(number int) string {
	return r.s.url + "/" + r.fullName() + "/pull/" + strconv.Itoa(number)
}

// say takes a comment from the form of a pull request's page. Forms of other sites are
// refused, and so are foreign host names that lead here by DNS.
func (p *pages) say(w http.ResponseWriter, r *http.Request, repo *Repository) {
	player := repo.playerOf()
	switch {
	case player == "":
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "Nobody plays here: comments come from the demo alone.", http.StatusMethodNotAllowed)
		return
	case "http://"+r.Host != p.s.url || http.NewCrossOriginProtection().Check(r) != nil:
		http.Error(w, "Only the pages of "+p.s.url+" can send comments.", http.StatusForbidden)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, playText)
	if err := r.ParseForm(); err != nil {
		http.Error(w, "This comment is too long or is no form: "+err.Error(), http.StatusBadRequest)
		return
	}
	number, err := strconv.Atoi(r.PathValue("number"))
	text := strings.TrimSpace(r.PostForm.Get("text"))
	p.s.mu.Lock()
	known := err == nil && repo.pulls[number] != nil
	p.s.mu.Unlock()
	if !known {
		p.missing(w, "There is no such pull request.")
		return
	}
	at := "#comments"
	if text != "" {
		at = "#issuecomment-" + strconv.FormatInt(repo.Comment(player, number, text), 10)
	}
	http.Redirect(w, r, "/"+repo.fullName()+"/pull/"+strconv.Itoa(number)+at, http.StatusSeeOther)
}
