package bench

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
)

// floodSize is the size of the large webhooks without a right signature, in bytes.
const floodSize = 23 << 20

// floodFigures tell how much memory large webhooks, all at once, cost the server:
// webhooks without a signature, and with a wrong one.
type floodFigures struct {
	Connections int   `json:"connections"`
	Unsigned    int64 `json:"unsigned_bytes"` // peak memory above that before
	Wrong       int64 `json:"wrongly_signed_bytes"`
	Refused     int   `json:"refused"` // answered with 401 or 503, of both kinds
}

// String returns the figures for people.
func (f floodFigures) String() string {
	if f.Refused == 0 {
		return "not measured"
	}
	return fmt.Sprintf("%d of %d MB at once: %.1f MB more without a signature, %.1f MB more with a wrong one; %d of %d refused",
		f.Connections, floodSize>>20, float64(f.Unsigned)/(1<<20), float64(f.Wrong)/(1<<20), f.Refused, 2*f.Connections)
}

// flood sends webhooks to the server and measures its memory.
func (b *benchHooks) flood(ctx context.Context, child *benchChild, f *hookFigures) error {
	f.Flood.Connections = b.Flood
	for signature, into := range map[string]*int64{"": &f.Flood.Unsigned, "sha256=" + strings.Repeat("00", 32): &f.Flood.Wrong} {
		pid := child.cmd.Process.Pid
		if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0); err != nil {
			return nil // this system does not tell
		}
		before := peakRSSOf(fmt.Sprint(pid))
		var wg sync.WaitGroup
		refused := make([]bool, b.Flood)
		for i := range refused {
			wg.Go(func() { refused[i] = floodOne(ctx, child.url, signature) })
		}
		wg.Wait()
		*into = peakRSSOf(fmt.Sprint(pid)) - before
		for _, r := range refused {
			if r {
				f.Flood.Refused++
			}
		}
	}
	return nil
}

// floodOne sends one large webhook, as far as the server takes it, and reports whether
// it was refused.
func floodOne(ctx context.Context, server, signature string) bool {
	at, err := url.Parse(server)
	if err != nil {
		return false
	}
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", at.Host)
	if err != nil {
		return false
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		fmt.Fprintf(c, "POST /webhook HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nX-Hub-Signature-256: %s\r\nContent-Length: %d\r\n\r\n", at.Host, signature, floodSize)
		_, _ = io.CopyN(c, zeros{}, floodSize) // the server may hang up before
	}()
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	c.Close()
	<-sent
	if err != nil {
		return false
	}
	res.Body.Close()
	return res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusServiceUnavailable
}

// zeros is a text without an end.
type zeros struct{}

// Read implements io.Reader.
func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
