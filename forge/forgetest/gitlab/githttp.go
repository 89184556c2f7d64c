package gitlab

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
)

const receiveCapabilities = "report-status delete-refs side-band-64k quiet atomic ofs-delta push-options object-format=sha1 agent=gitlabtest"

// serveGit answers git over smart HTTP. git's own upload-pack answers fetches; pushes
// are handled here, since GitLab refuses them in its own words.
func (s *Server) serveGit(w http.ResponseWriter, r *http.Request) {
	path, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), ".git/")
	service := rest
	if rest == "info/refs" {
		service = r.URL.Query().Get("service")
	}
	_, password, _ := r.BasicAuth()
	s.mu.Lock()
	s.pulls = append(s.pulls, Request{r.Method, r.URL.Path, http.StatusOK})
	who, p := s.holder(password), s.project(path)
	moved := p != nil && !strings.EqualFold(p.path, path)
	level := 0
	if p != nil {
		level = p.level(who)
	}
	down := service == "git-upload-pack" && s.outage.fails()
	if down {
		s.pulls[len(s.pulls)-1].Status = http.StatusBadGateway
	}
	s.mu.Unlock()
	if down {
		http.Error(w, "GitLab is not responding", http.StatusBadGateway)
		return
	}
	switch {
	case who == nil:
		w.Header().Set("WWW-Authenticate", `Basic realm="GitLab"`)
		http.Error(w, "HTTP Basic: Access denied. The provided password or token is incorrect.", http.StatusUnauthorized)
		return
	case p == nil || level == 0:
		http.Error(w, "The project you were looking for could not be found or you don't have permission to view it.", http.StatusNotFound)
		return
	case service != "git-upload-pack" && service != "git-receive-pack":
		http.NotFound(w, r)
		return
	case moved && service == "git-receive-pack": // reads of a former path are served
		http.Redirect(w, r, "/"+p.path+".git/"+rest+"?"+r.URL.RawQuery, http.StatusMovedPermanently)
		return
	}
	if service == "git-receive-pack" && level < 30 {
		http.Error(w, "You are not allowed to push code to this project.", http.StatusForbidden)
		return
	}
	w.Header().Set("Cache-Control", "no-cache")
	if rest == "info/refs" {
		w.Header().Set("Content-Type", "application/x-"+service+"-advertisement")
		if service == "git-receive-pack" {
			p.advertise(w)
		} else {
			p.uploadPack(w, r, nil)
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
	if service == "git-receive-pack" {
		p.receive(w, who, body)
	} else {
		p.uploadPack(w, r, body)
	}
}

func (p *Project) uploadPack(w http.ResponseWriter, r *http.Request, body io.Reader) {
	args := []string{"upload-pack", "--stateless-rpc"}
	if body == nil {
		args = append(args, "--http-backend-info-refs")
		if !strings.Contains(r.Header.Get("Git-Protocol"), "version=2") {
			io.WriteString(w, pkt("# service=git-upload-pack\n")+"0000")
		}
	}
	cmd := exec.CommandContext(r.Context(), "git", append(args, p.dir)...)
	cmd.Env = gitEnv("GIT_PROTOCOL=" + r.Header.Get("Git-Protocol"))
	cmd.Stdin, cmd.Stdout = body, w
	if err := cmd.Run(); err != nil && r.Context().Err() == nil {
		p.s.log.Debug("upload-pack", "err", err)
	}
}

func (p *Project) advertise(w http.ResponseWriter) {
	p.s.mu.Lock()
	refs, err := p.git(nil, "for-each-ref", "--format=%(objectname) %(refname)")
	p.s.mu.Unlock()
	if err != nil {
		http.Error(w, "cannot list refs", http.StatusInternalServerError)
		return
	}
	io.WriteString(w, pkt("# service=git-receive-pack\n")+"0000")
	caps := "\x00" + receiveCapabilities
	for line := range strings.SplitSeq(refs, "\n") {
		if line == "" || hiddenRef(strings.SplitN(line, " ", 2)[1]) {
			continue
		}
		io.WriteString(w, pkt(line+caps+"\n"))
		caps = ""
	}
	if caps != "" {
		io.WriteString(w, pkt(zeroID+" capabilities^{}"+caps+"\n"))
	}
	io.WriteString(w, "0000")
}

// receive takes a push over HTTP, and passes it to push.
func (p *Project) receive(w http.ResponseWriter, who *User, body io.Reader) {
	in := bufio.NewReader(body)
	moves, caps, err := readCommands(in)
	if err != nil {
		http.Error(w, "bad push: "+err.Error(), http.StatusBadRequest)
		return
	}
	if len(moves) == 0 {
		return // git's probe before a large push
	}
	var options []string
	for caps["push-options"] {
		line, flush, err := readPkt(in)
		if err != nil || flush {
			break
		}
		options = append(options, strings.TrimSuffix(line, "\n"))
	}
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	var res pushResult
	unpack := "ok"
	if err := p.unpack(in, moves); err != nil {
		unpack, res = "unpacker error", refuseAll(moves, "unpacker error", err.Error())
	} else {
		res = p.push(who, moves, options, caps["atomic"])
		if lines := p.played(who, moves, res); len(lines) > 0 {
			res.said = strings.TrimPrefix(res.said+"\n"+strings.Join(lines, "\n"), "\n")
		}
	}
	var report bytes.Buffer
	report.WriteString(pkt("unpack " + unpack + "\n"))
	for i, m := range moves {
		if res.reason[i] == "" {
			report.WriteString(pkt("ok " + m.ref + "\n"))
		} else {
			report.WriteString(pkt("ng " + m.ref + " " + res.reason[i] + "\n"))
		}
	}
	report.WriteString("0000")
	if res.said != "" {
		io.WriteString(w, pkt("\x02"+res.said+"\n"))
	}
	for data := report.Bytes(); len(data) > 0; {
		n := min(len(data), 65_000)
		io.WriteString(w, pkt("\x01"+string(data[:n])))
		data = data[n:]
	}
	io.WriteString(w, "0000")
}

func readCommands(in io.Reader) ([]refMove, map[string]bool, error) {
	var moves []refMove
	caps := map[string]bool{}
	for {
		line, flush, err := readPkt(in)
		if err != nil || flush {
			return moves, caps, err
		}
		line, list, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\x00")
		for c := range strings.FieldsSeq(list) {
			caps[c] = true
		}
		f := strings.SplitN(line, " ", 3)
		if strings.HasPrefix(line, "shallow ") {
			continue
		}
		if len(f) != 3 {
			return nil, nil, fmt.Errorf("command %q", line)
		}
		if f[0] == zeroID {
			f[0] = ""
		}
		if f[1] == zeroID {
			f[1] = ""
		}
		moves = append(moves, refMove{f[2], f[0], f[1]})
	}
}

func (p *Project) unpack(in *bufio.Reader, moves []refMove) error {
	wanted := false
	for _, m := range moves {
		wanted = wanted || m.new != ""
	}
	if !wanted {
		return nil
	}
	head, err := in.Peek(12)
	if err != nil || string(head[:4]) != "PACK" {
		return errors.New("the pack is missing")
	}
	if binary.BigEndian.Uint32(head[8:]) == 0 {
		_, err = io.Copy(io.Discard, in)
		return err
	}
	_, err = p.git(in, "unpack-objects", "-q")
	return err
}

func pkt(line string) string { return fmt.Sprintf("%04x%s", len(line)+4, line) }

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
