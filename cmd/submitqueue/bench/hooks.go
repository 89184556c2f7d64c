package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/queue"
)

// benchHooks measures the intake of webhooks by a whole server that works on them. It
// sends them at a steady rate, whether or not earlier ones are answered. Then it kills
// the server while a simulated GitHub delivers, starts it again, and checks whether
// every webhook has had its effect.
type benchHooks struct {
	Rate    int           `default:"500" help:"Webhooks in a second."`
	For     time.Duration `default:"10s" help:"How long they come."`
	Size    int           `default:"12" help:"Kilobytes of each."`
	Killed  int           `default:"60" help:"Webhooks that each ask for a landing while the server is killed; 0: leave that out."`
	Flood   int           `default:"40" help:"Webhooks of 23 MB at once, without a signature and then with wrong ones; 0: leave that out."`
	Redis   string        `default:"auto" help:"redis://... or auto: a private redis-server that syncs each write."`
	JSON    string        `name:"json" help:"Write the figures to a file." placeholder:"FILE" type:"path"`
	Timeout time.Duration `default:"5m" help:"Give up after this."`
	Keep    bool          `help:"Keep the folder with repository, Redis and log."`
}

// hookFigures are the figures of `bench hooks`.
type hookFigures struct {
	Rate    int     `json:"rate"`
	Sent    int     `json:"sent"`
	Stored  int     `json:"stored"` // answered after they were in Redis
	Spooled int     `json:"spooled"`
	Refused int     `json:"refused"`
	Answer  spread  `json:"answer_seconds"`
	CPU     float64 `json:"server_cpu_seconds"`

	Killed  int          `json:"killed"` // webhooks while the server was killed
	Failed  int          `json:"failed"` // of these, deliveries that no server took
	Lost    int          `json:"lost"`   // webhooks that had no effect in the end
	Flood   floodFigures `json:"flood"`
	Redis   string       `json:"redis"`
	Machine machine      `json:"machine"`
}

// Run implements the command.
func (b *benchHooks) Run(ctx context.Context) (err error) {
	if b.Rate < 1 || b.For <= 0 || b.Size < 1 || b.Killed < 0 || b.Flood < 0 {
		return errors.New("--rate, --for and --size are more than nothing")
	}
	ctx, cancel := context.WithTimeout(ctx, b.Timeout)
	defer cancel()
	rig, err := newRig(ctx, rigOptions{shape: benchShape{Files: 100, Areas: 50, Changes: max(b.Killed, 1), Commits: 1},
		redis: b.Redis, orders: benchOrders{Slots: 16}, keep: b.Keep, forge: onHub(false, 0)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rig.close()) }()
	f := hookFigures{Rate: b.Rate, Redis: rig.kind, Machine: machineOf(rig.folder)}
	if err := errors.Join(b.pour(ctx, rig.child, &f), rig.host.started(ctx, rig.child), b.flood(ctx, rig.child, &f)); err != nil {
		_, stopped := rig.child.stop()
		return errors.Join(err, stopped)
	}
	if b.Killed > 0 {
		if err := b.kill(ctx, rig, &f); err != nil {
			return err
		}
	}
	if _, err := rig.child.stop(); err != nil {
		return err
	}
	f.print(os.Stdout)
	return print.Figures(b.JSON, f)
}

// pour sends webhooks at a steady rate.
func (b *benchHooks) pour(ctx context.Context, child *benchChild, f *hookFigures) error {
	to := intake{&http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256, MaxConnsPerHost: 256}, Timeout: 10 * time.Second}, child.url + "/webhook"}
	defer to.client.CloseIdleConnections()
	n := int(float64(b.Rate) * b.For.Seconds())
	took, results := make([]time.Duration, n), make([]string, n)
	before := processCPU(child.cmd.Process.Pid)
	filler := strings.Repeat("x", b.Size<<10)
	var wg sync.WaitGroup
	began := time.Now()
	for i := range n {
		due := began.Add(time.Duration(i) * time.Second / time.Duration(b.Rate))
		timer := time.NewTimer(time.Until(due))
		select {
		case <-timer.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		body := fmt.Appendf(nil, `{"action":"created","issue":{"number":%d,"pull_request":{}},"comment":{"id":%d,"body":"What about this?","created_at":%q,"user":{"login":"bench"}},"repository":{"full_name":"acme/bench","description":%q}}`,
			1+i%100, 1_000_000+i, time.Now().UTC().Format(time.RFC3339), filler)
		wg.Go(func() {
			results[i] = to.post(ctx, fmt.Sprint("bench-", i), body)
			took[i] = time.Since(due) // since it was due: waiting in this process counts, too
		})
	}
	wg.Wait()
	for _, r := range results {
		switch r {
		case "stored":
			f.Stored++
		case "spooled":
			f.Spooled++
		default:
			f.Refused++
		}
	}
	f.Sent, f.Answer, f.CPU = n, spreadOf(took), seconds(processCPU(child.cmd.Process.Pid)-before)
	return nil
}

// intake is where webhooks are posted.
type intake struct {
	client *http.Client
	url    string
}

// post sends a webhook and returns the server's answer about it.
func (to intake) post(ctx context.Context, guid string, body []byte) string {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to.url, bytes.NewReader(body))
	if err != nil {
		return err.Error()
	}
	r.Header = forgetest.WebhookHeader("issue_comment", guid, benchSecret, body)
	res, err := to.client.Do(r)
	if err != nil {
		return err.Error()
	}
	defer res.Body.Close()
	said, _ := io.ReadAll(io.LimitReader(res.Body, 1<<10))
	for _, word := range []string{"stored", "spooled"} {
		if res.StatusCode/100 == 2 && strings.Contains(string(said), `"`+word+`"`) {
			return word
		}
	}
	return res.Status
}

// kill kills the server and starts it again while labels are set. Each label asks for a
// landing, and only its webhook tells the server so.
func (b *benchHooks) kill(ctx context.Context, rig *rig, f *hookFigures) (err error) {
	f.Killed = b.Killed
	child, hub := rig.child, rig.host.(*benchHub)
	landed := map[int]bool{}
	take := func(c *benchChild) {
		for n, v := range c.verdictsNow() {
			landed[n] = landed[n] || v.phase == queue.Landed
		}
	}
	var names []string
	for name := range hub.pulls {
		names = append(names, name)
	}
	for i, name := range names {
		hub.repo.Label(benchUser, hub.pulls[name], "land")
		if i == len(names)/3 {
			if err := child.until(ctx, func() bool { return len(child.verdicts) > 0 }); err != nil {
				return err
			}
			_ = child.cmd.Process.Kill()
			_ = child.cmd.Wait() // it was killed: the error says only that
			take(child)
		}
	}
	if err := hub.hub.WaitDelivered(ctx); err != nil {
		return err
	}
	for _, d := range hub.hub.Deliveries() {
		if d.Action == "labeled" && d.StatusCode/100 != 2 {
			f.Failed++
		}
	}
	if rig.child, err = startBenchChild(ctx, rig.orders); err != nil {
		return err
	}
	if err := hub.started(ctx, rig.child); err != nil {
		return err
	}
	wait, cancel := context.WithTimeout(ctx, 90*time.Second)
	defer cancel()
	_ = hub.repo.WaitFor(wait, func(v forgetest.View) bool { // what is missing after that is counted below
		for _, n := range hub.pulls {
			if !v.Pull(n).Merged {
				return false
			}
		}
		return true
	})
	take(rig.child)
	hub.repo.Look(func(v forgetest.View) {
		for _, n := range hub.pulls {
			if !v.Pull(n).Merged && !landed[n] {
				f.Lost++
			}
		}
	})
	return nil
}

func (f hookFigures) print(to io.Writer) {
	killed := "not tried"
	if f.Killed > 0 {
		killed = fmt.Sprintf("among %d webhooks: %d were not taken, %d lost in the end", f.Killed, f.Failed, f.Lost)
	}
	fmt.Fprintf(to, "%d webhooks, %d in a second, %s\n%s\n", f.Sent, f.Rate, f.Redis, f.Machine)
	for _, row := range [][2]string{
		{"acknowledged", fmt.Sprintf("P50 %.4f s, P95 %.4f s, P99 %.4f s, max %.4f s", f.Answer.P50, f.Answer.P95, f.Answer.P99, f.Answer.Max)},
		{"stored in Redis", fmt.Sprintf("%d; spooled %d, refused %d", f.Stored, f.Spooled, f.Refused)},
		{"CPU of the server", fmt.Sprintf("%.2f s", f.CPU)},
		{"flood", f.Flood.String()},
		{"server killed", killed},
	} {
		fmt.Fprintf(to, "  %-24s%s\n", row[0], row[1])
	}
}
