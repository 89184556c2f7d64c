package app_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha1"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue/storetest"
)

// near is the forge as one whose repository is on this machine, for whoever reads it: a
// fetch of the files of acme/shop costs a hundredth of one over smart HTTP.
type near struct {
	forge.Forge
	web, dir string
}

func (n near) Remote(ctx context.Context) (forge.Remote, error) {
	r, err := n.Forge.Remote(ctx)
	if r.URL == n.web {
		r.URL = n.dir
	}
	return r, err
}

// remote is the forge as git is to see it. Fetches and pushes go over HTTP with the App's
// token where SUBMITQUEUE_REQUIRE names "http" or the options ask for it. Elsewhere
// commits come from the repository's files, and pushes go by way of a gate.
func (h *hub) remote() forge.Forge {
	if h.options.http || storetest.Required("http") {
		return h.adapter
	}
	n := near{Forge: h.adapter, web: h.github.URL() + "/acme/shop.git", dir: h.Dir()}
	listener := must(net.Listen("tcp", "127.0.0.1:0"))
	config := must(os.OpenFile(filepath.Join(h.mirror.Dir(), "config"), os.O_APPEND|os.O_WRONLY, 0))
	_, err := fmt.Fprintf(config, "[protocol \"git\"]\n\tallow = always\n[url \"git://%s/\"]\n\tpushInsteadOf = %s\n", listener.Addr(), n.dir)
	mustNot(h.T, errors.Join(err, config.Close()))
	g := &gate{forge: h.adapter, client: &http.Client{Transport: &http.Transport{}}}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer conn.Close()
				if err := g.pass(context.WithoutCancel(h.Context()), conn); err != nil {
					h.log.Debug("a push", "err", err)
				}
			})
		}
	})
	h.near = func() {
		mustNot(h.T, listener.Close())
		serving.Wait()
		g.client.CloseIdleConnections()
	}
	return n
}

// gate takes pushes by git's own protocol and hands them to the forge over HTTP with the
// App's token, as git would: what the forge refuses, breaks and counts, it refuses, breaks
// and counts here as well. It spares each push the three programs that git has for HTTP,
// which take most of its time.
type gate struct {
	forge  forge.Forge
	client *http.Client
}

// pass serves one push.
func (g *gate) pass(ctx context.Context, conn net.Conn) error {
	in := bufio.NewReader(conn)
	if _, _, err := packet(in); err != nil { // the program at the other end, of which there is one
		return err
	}
	refs, err := g.ask(ctx, conn, http.MethodGet, "/info/refs?service=git-receive-pack", nil)
	if err != nil {
		return err
	}
	_, refs, _ = bytes.Cut(refs, []byte("0000")) // which ends what says that this is HTTP
	if _, err := conn.Write(refs); err != nil {
		return err
	}
	var push bytes.Buffer
	brings := false // objects
	for {
		line, raw, err := packet(in)
		if err != nil {
			return err
		}
		if push.Write(raw); line == "" {
			break
		}
		_, to, _ := strings.Cut(line, " ")
		brings = brings || !strings.HasPrefix(to, strings.Repeat("0", 40))
	}
	if push.Len() == 4 {
		return nil // there is nothing to push
	}
	if brings {
		if err := pack(in, &push); err != nil {
			return err
		}
	}
	answer, err := g.ask(ctx, conn, http.MethodPost, "/git-receive-pack", &push)
	if err != nil {
		return err
	}
	_, err = conn.Write(answer)
	return err
}

// ask sends a request to the forge. The pusher is told of a refusal in the words that git
// has for it; where there is no answer, it gets none.
func (g *gate) ask(ctx context.Context, conn net.Conn, method, path string, body io.Reader) ([]byte, error) {
	remote, err := g.forge.Remote(ctx)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, method, remote.URL+path, body)
	if err != nil {
		return nil, err
	}
	for _, line := range remote.Header {
		name, value, _ := strings.Cut(line, ": ")
		req.Header.Set(name, value)
	}
	resp, err := g.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		text := fmt.Sprintf("ERR The requested URL returned error: %d", resp.StatusCode)
		_, err = fmt.Fprintf(conn, "%04x%s", len(text)+4, text)
		err = cmp.Or(err, errors.New(resp.Status))
	}
	return answer, err
}

// packet reads a line of git's protocol, and how it was sent. The line that ends a part is
// empty.
func packet(in *bufio.Reader) (line string, raw []byte, err error) {
	raw = make([]byte, 4)
	if _, err := io.ReadFull(in, raw); err != nil {
		return "", nil, err
	}
	n, err := strconv.ParseUint(string(raw), 16, 16)
	if err != nil || n < 4 {
		return "", raw, err
	}
	raw = append(raw, make([]byte, n-4)...)
	_, err = io.ReadFull(in, raw[4:])
	return string(raw[4:]), raw, err
}

// pack copies a pack, which is over when its last twenty bytes are the sum of the others:
// nothing comes after it until it is answered.
func pack(in *bufio.Reader, to *bytes.Buffer) error {
	from, part := to.Len(), make([]byte, 64<<10)
	for {
		n, err := in.Read(part)
		if err != nil {
			return err
		}
		to.Write(part[:n])
		if at := to.Len() - sha1.Size; at > from {
			if sum := sha1.Sum(to.Bytes()[from:at]); bytes.Equal(sum[:], to.Bytes()[at:]) {
				return nil
			}
		}
	}
}
