package forgetest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// receiveCapabilities are the capabilities of our side of a push.
const receiveCapabilities = "report-status delete-refs side-band-64k quiet atomic ofs-delta object-format=sha1 agent=forgetest"

// unpackLimit is the number of objects from which a pack stays a pack.
const unpackLimit = 100

// advertise lists the refs for a git that pushes.
func (r *store) advertise(w http.ResponseWriter, req *http.Request) {
	refs, packed := r.eachRef()
	if packed {
		out, err := r.git(req.Context(), nil, "for-each-ref", "--format=%(objectname) %(refname)")
		if err != nil {
			http.Error(w, "cannot list refs", http.StatusInternalServerError)
			return
		}
		refs = string(out)
	}
	io.WriteString(w, pkt("# service=git-receive-pack\n")+"0000")
	caps := "\x00" + receiveCapabilities
	for line := range strings.Lines(refs) {
		if strings.Contains(line, " refs/forgetest/") {
			continue
		}
		io.WriteString(w, pkt(strings.TrimSuffix(line, "\n")+caps+"\n"))
		caps = ""
	}
	if caps != "" {
		io.WriteString(w, pkt(zeroID+" capabilities^{}"+caps+"\n"))
	}
	io.WriteString(w, "0000")
}

// receive takes a push: it reads the commands and the pack, and then calls push, as
// verbs do.
func (r *store) receive(w http.ResponseWriter, req *http.Request, who identity, body io.Reader) {
	in := bufio.NewReader(body)
	moves, caps, err := readCommands(in)
	if err != nil {
		http.Error(w, "bad push: "+err.Error(), http.StatusBadRequest)
		return
	}
	if len(moves) == 0 {
		return // git's probe before a large push
	}
	r.repo.refs.Lock()
	defer r.repo.refs.Unlock()
	ctx := context.WithoutCancel(req.Context()) // a push that arrived is carried out
	var res pushResult
	unpack := "ok"
	planned := r.repo.plannedRefusal(moves)
	if planned == nil {
		planned = r.repo.tooMany(moves)
	}
	if err := r.unpack(ctx, in, moves); err != nil {
		unpack = "unpacker error"
		res = pushResult{moves: moves, reason: make([]string, len(moves)), lines: []string{err.Error()}}
		for i := range res.reason {
			res.reason[i] = "unpacker error"
		}
	} else if planned == nil || planned.After {
		res = r.push(ctx, who, moves, pushOptions{atomic: caps["atomic"]})
		res.lines = append(res.lines, r.repo.played(ctx, who, res)...)
	}
	if planned != nil {
		if planned.Cut {
			planned.cut(w)
		}
		res = planned.all(moves)
	}
	if !caps["report-status"] {
		return
	}
	var report bytes.Buffer
	report.WriteString(pkt("unpack " + unpack + "\n"))
	for i, m := range moves {
		if planned != nil && planned.Reason == "" {
			report.Reset()
			break
		}
		if res.reason[i] == "" {
			report.WriteString(pkt("ok " + m.ref + "\n"))
		} else {
			report.WriteString(pkt("ng " + m.ref + " " + res.reason[i] + "\n"))
		}
	}
	if report.Len() > 0 {
		report.WriteString("0000")
	}
	if !caps["side-band-64k"] {
		w.Write(report.Bytes())
		return
	}
	if len(res.lines) > 0 {
		io.WriteString(w, pkt("\x02"+strings.Join(res.lines, "\n")+"\n"))
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
		if strings.HasPrefix(line, "shallow ") {
			continue
		}
		f := strings.SplitN(line, " ", 3)
		if len(f) != 3 || len(f[0]) != 40 || len(f[1]) != 40 {
			return nil, nil, errors.New("command " + fmt.Sprintf("%q", line))
		}
		m := refMove{ref: f[2], old: f[0], new: f[1]}
		if m.old == zeroID {
			m.old = ""
		}
		moves = append(moves, m)
	}
}

// unpack stores the pack that follows the commands, unless all of them delete.
func (r *store) unpack(ctx context.Context, in *bufio.Reader, moves []refMove) error {
	wanted := false
	for _, m := range moves {
		wanted = wanted || m.new != zeroID
	}
	if !wanted {
		return nil
	}
	head, err := in.Peek(12)
	if err != nil || string(head[:4]) != "PACK" {
		return errors.New("the pack is missing")
	}
	switch n := binary.BigEndian.Uint32(head[8:]); {
	case n == 0:
		_, err = io.Copy(io.Discard, in)
	case n < unpackLimit:
		_, err = r.git(ctx, in, "unpack-objects", "-q")
	default:
		_, err = r.git(ctx, in, "index-pack", "--stdin", "--fix-thin")
	}
	return err
}
