package bench

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// readerPaths are the addresses that readers of a bench look at, in turn.
var readerPaths = []string{"/", "/api/queue", "/api/queues", "/queue", "/api/queue"}

// readers are the figures of readers that look at a server's pages and its API while it lands.
type readers struct {
	Count   int     `json:"count"`
	Answers int     `json:"answers"`
	Bytes   int64   `json:"bytes"`
	Same    int     `json:"not_modified"` // answers that a reader already had
	Latency spread  `json:"latency_seconds"`
	Rate    float64 `json:"rate_of_landing,omitempty"` // the rate with readers as a part of the rate without; 0: not compared

	mu   sync.Mutex
	took []time.Duration
	err  error
}

// watchers are readers that have not started: count of them, each of which looks at a
// server once in every.
type watchers struct {
	base, token string
	count       int
	every       time.Duration
}

// start has them look again and again until stop is called, which returns their
// figures.
func (w watchers) start(ctx context.Context) (stop func() (*readers, error)) {
	ctx, cancel := context.WithCancel(ctx)
	r := &readers{Count: w.count}
	var all sync.WaitGroup
	for i := range w.count {
		all.Go(func() {
			pause := time.NewTimer(w.every * time.Duration(i) / time.Duration(w.count)) // not all at once
			defer pause.Stop()
			tags := map[string]string{}
			for turn := i; ; turn++ {
				select {
				case <-pause.C:
				case <-ctx.Done():
					return
				}
				if err := r.ask(ctx, w.base+readerPaths[turn%len(readerPaths)], w.token, tags); err != nil && ctx.Err() == nil {
					r.mu.Lock()
					r.err = err
					r.mu.Unlock()
					return
				}
				pause.Reset(w.every)
			}
		})
	}
	return func() (*readers, error) {
		cancel()
		all.Wait()
		r.Latency = spreadOf(r.took)
		return r, r.err
	}
}

// ask is one look at one address; tags has the last ETag of each.
func (r *readers) ask(ctx context.Context, url, token string, tags map[string]string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if tag := tags[url]; tag != "" {
		req.Header.Set("If-None-Match", tag)
	}
	began := time.Now()
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	n, err := io.Copy(io.Discard, res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK && res.StatusCode != http.StatusNotModified {
		return fmt.Errorf("reading %s: %s", url, res.Status)
	}
	tags[url] = res.Header.Get("ETag")
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Answers++
	r.Bytes += n
	if res.StatusCode == http.StatusNotModified {
		r.Same++
	}
	r.took = append(r.took, time.Since(began))
	return nil
}

// words says how many answers readers had, and what they cost.
func (r *readers) words() string {
	text := fmt.Sprintf("%d had %d answers of %.1f KB, %d of them nothing new, P50 %.3f s, P95 %.3f s", r.Count, r.Answers,
		float64(r.Bytes)/1024/float64(max(r.Answers, 1)), r.Same, r.Latency.P50, r.Latency.P95)
	if r.Rate > 0 {
		text += fmt.Sprintf("; %.0f %% of the rate of landing without them", 100*r.Rate)
	}
	return text
}
