package forgetest

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
)

// serveGit answers git over smart HTTP: git upload-pack answers fetches, and
// receive answers pushes.
func (s *web) serveGit(w http.ResponseWriter, r *http.Request) {
	name, isGit := strings.CutSuffix(r.PathValue("name"), ".git")
	service := r.PathValue("rest")
	if service == "info/refs" {
		service = r.URL.Query().Get("service")
	}
	if !isGit || service != "git-upload-pack" && service != "git-receive-pack" {
		http.NotFound(w, r)
		return
	}
	s.server.mu.Lock()
	repo := s.server.repos[strings.ToLower(r.PathValue("owner")+"/"+name)]
	if repo == nil {
		if to := s.server.movedTo(r.PathValue("owner"), name); to != nil {
			s.server.mu.Unlock()
			http.Redirect(w, r, "/"+to.fullName()+".git/"+r.PathValue("rest")+"?"+r.URL.RawQuery, http.StatusMovedPermanently)
			return
		}
	}
	who, ok := s.server.identify(r.Header)
	ok = ok && s.server.App.admitted(who.installed()) == nil
	need := map[string]string{"git-upload-pack": "contents:read", "git-receive-pack": "contents:write"}[service]
	readable := ok && repo != nil && !who.app && s.server.may(who, repo, "contents:read")
	allowed := readable && s.server.may(who, repo, need)
	s.server.mu.Unlock()
	switch {
	case !ok || !allowed && who == identity{}:
		w.Header().Set("WWW-Authenticate", `Basic realm="GitHub"`)
		http.Error(w, "Invalid username or token.", http.StatusUnauthorized)
		return
	case !readable:
		http.Error(w, "Repository not found.", http.StatusNotFound)
		return
	case !allowed:
		http.Error(w, "Write access to repository not granted.", http.StatusForbidden)
		return
	}

	w.Header().Set("Cache-Control", "no-cache")
	if r.PathValue("rest") == "info/refs" {
		w.Header().Set("Content-Type", "application/x-"+service+"-advertisement")
		if service == "git-upload-pack" {
			s.uploadPack(w, r, repo, nil)
		} else if !repo.plannedRefusal(nil).early(w) {
			repo.store.advertise(w, r)
		}
		return
	}
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			http.Error(w, "bad gzip", http.StatusBadRequest)
			return
		}
		body = z
	}
	w.Header().Set("Content-Type", "application/x-"+service+"-result")
	if service == "git-upload-pack" {
		s.uploadPack(w, r, repo, body)
	} else {
		repo.store.receive(w, r, who, body)
	}
}

// uploadPack answers a fetch; without a body, the first request of one.
func (s *web) uploadPack(w http.ResponseWriter, r *http.Request, repo *Repository, body io.Reader) {
	args := []string{"upload-pack", "--stateless-rpc"}
	if body == nil {
		args = append(args, "--http-backend-info-refs")
		if !strings.Contains(r.Header.Get("Git-Protocol"), "version=2") { // the service is announced in older protocols
			io.WriteString(w, pkt("# service=git-upload-pack\n")+"0000")
		}
	}
	cmd := exec.CommandContext(r.Context(), "git", append(args, repo.dir)...)
	cmd.Env = gitEnv("GIT_PROTOCOL=" + r.Header.Get("Git-Protocol"))
	cmd.Stdin, cmd.Stdout = body, w
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Run(); err != nil && r.Context().Err() == nil {
		s.server.log.Debug("upload-pack", "err", err, "stderr", errs.String())
	}
}

// pkt frames one line of git's protocol.
func pkt(line string) string { return fmt.Sprintf("%04x%s", len(line)+4, line) }

// readPkt reads one line; flush is true for the end of a section.
func readPkt(r io.Reader) (line string, flush bool, err error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return "", false, err
	}
	var n int
	if _, err := fmt.Sscanf(string(head[:]), "%04x", &n); err != nil {
		return "", false, fmt.Errorf("length %q: %w", head, err)
	}
	if n == 0 {
		return "", true, nil
	}
	if n < 4 {
		return "", false, fmt.Errorf("length %d", n)
	}
	data := make([]byte, n-4)
	_, err = io.ReadFull(r, data)
	return string(data), false, err
}
