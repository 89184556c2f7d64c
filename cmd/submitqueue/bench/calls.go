package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
	"github.com/submitqueue/submitqueue/queue"
)

// benchCalls counts the requests of a queue in its steady state to its code host: a
// simulated one that loses no webhook. Whenever a change lands, the bench asks for
// the next one, so that the length of the queue stays the same.
type benchCalls struct {
	hostFlag

	Pending int           `default:"50" help:"Changes in the queue at any time."`
	Land    int           `default:"100" help:"Changes that land while calls are counted."`
	Full    int           `default:"100" help:"Changes in the queue when commands are timed."`
	Probes  int           `default:"20" help:"Commands that are timed, from comment to reaction and to builds; 0: none."`
	Areas   int           `default:"50" help:"Areas they are spread over; changes of one area conflict."`
	Slots   int           `default:"16" help:"Builds that can run at once."`
	Build   time.Duration `default:"10s" help:"Time of a build."`
	Asks    bool          `name:"requirements" help:"The host asks for a review of each pull request, and GitHub for a check: they are read when a change enters, and right before it lands."`
	Method  string        `enum:"merge,squash,rebase" default:"merge" help:"How changes land: merge, squash or rebase."`
	CI      bool          `name:"ci" help:"Builds are made by the simulated host's own CI: refs are pushed for them, at the pace of serve, and no commands are timed."`
	Redis   string        `default:"auto" help:"redis://... or auto: a private redis-server that syncs each write."`
	JSON    string        `name:"json" help:"Write the figures to a file." placeholder:"FILE" type:"path"`
	Timeout time.Duration `default:"15m" help:"Give up after this."`
	Keep    bool          `help:"Keep the folder with repository, Redis and log."`
}

// callFigures are the figures of `bench calls`. Calls are requests to the REST
// interface; fetches and pushes of git are counted beside them.
type callFigures struct {
	Forge    string         `json:"forge"`
	Pending  int            `json:"pending"`
	Asks     bool           `json:"requirements"`
	CI       bool           `json:"ci"`
	Method   string         `json:"method"`
	Full     int            `json:"full"`
	Landed   int            `json:"landed"`
	Calls    float64        `json:"calls_per_landed"`
	Free     float64        `json:"free_per_landed"` // of these, answered 304: they do not count against the hourly limit
	Git      float64        `json:"git_per_landed"`
	Pushes   float64        `json:"pushes_per_landed"` // of these, pushes: of main, heads and refs for builds
	Refresh  int            `json:"refresh"`           // calls that no webhook caused
	Notes    float64        `json:"notes_per_landed"`  // of the calls, those that rewrite a comment
	Routes   map[string]int `json:"routes"`
	Reaction spread         `json:"comment_to_reaction_seconds"`
	Before   float64        `json:"calls_to_reaction"` // of one command in a queue where nothing else happens
	Builds   spread         `json:"comment_to_builds_seconds"`
	Redis    string         `json:"redis"`
	Machine  machine        `json:"machine"`
}

// Run implements the command.
func (b *benchCalls) Run(ctx context.Context) error {
	if b.Pending < 1 || b.Land < 0 || b.Full < 1 || b.Probes < 0 || b.Areas < 1 || b.Areas > 1000 || b.Slots < 1 || b.Build <= 0 {
		return errors.New("--pending, --full, --areas and --slots are at least 1, --areas is at most 1000, and a build takes its time")
	}
	ctx, cancel := context.WithTimeout(ctx, b.Timeout)
	defer cancel()
	f := callFigures{Forge: b.Forge, Pending: b.Pending, Full: b.Full, Asks: b.Asks, CI: b.CI, Method: b.Method}
	// Branches for those at the start and at the end, and for those that land at once.
	o := rigOptions{shape: benchShape{Changes: b.Pending*3 + b.Land, Areas: b.Areas}, orders: benchOrders{Slots: b.Slots, Took: b.Build.Seconds()}}
	if err := b.with(ctx, o, &f, (*callRun).count); err != nil {
		return err
	}
	if b.Probes > 0 && !b.CI {
		n := b.Full + b.Probes // each in a separate area: all of them are built at once
		o := rigOptions{shape: benchShape{Changes: n, Areas: n}, orders: benchOrders{Slots: 2 * n, Took: time.Hour.Seconds()}}
		if err := b.with(ctx, o, &f, (*callRun).probe); err != nil {
			return err
		}
	}
	f.print(os.Stdout)
	return print.Figures(b.JSON, f)
}

// with measures one thing on a separate server.
func (b *benchCalls) with(ctx context.Context, o rigOptions, f *callFigures, measure func(*callRun, context.Context, *callFigures) error) (err error) {
	o.shape.Files, o.shape.Commits, o.shape.Method = 500, 1, b.Method
	o.redis, o.keep, o.forge = b.Redis, b.Keep, b.on(b.Asks, b.Build)
	o.shape.CI, o.orders.CI, o.orders.Paced = b.CI, b.CI, b.CI
	rig, err := newRig(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rig.close()) }()
	f.Redis, f.Machine = rig.kind, machineOf(rig.folder)
	run := &callRun{bench: b, child: rig.child, host: rig.host.(benchHost), left: rig.repo.names}
	if err = run.host.started(ctx, rig.child); err == nil {
		err = measure(run, ctx, f)
	}
	if err != nil {
		return rig.failed(err)
	}
	_, err = rig.child.stop()
	return err
}

// callRun is a bench under way.
type callRun struct {
	bench *benchCalls
	child *benchChild
	host  benchHost
	left  []string // branches that nobody has asked to land
	asked int
}

// ask has the next change land.
func (r *callRun) ask(ctx context.Context) (int, error) {
	if len(r.left) == 0 {
		return 0, errors.New("no branches are left")
	}
	branch := r.left[0]
	r.left = r.left[1:]
	r.asked++
	return r.host.land(ctx, branch)
}

// fill asks for changes until so many are pending; decided is how many have their
// verdict.
func (r *callRun) fill(ctx context.Context, pending, decided int) error {
	for r.asked < decided+pending {
		if _, err := r.ask(ctx); err != nil {
			return err
		}
	}
	return nil
}

// count lands changes in a queue that stays full, and counts the requests.
func (r *callRun) count(ctx context.Context, f *callFigures) error {
	begun := -1
	var api, git int
	for decided := 0; ; {
		if err := r.fill(ctx, r.bench.Pending, decided); err != nil {
			return err
		}
		if begun < 0 && decided >= r.bench.Pending { // the changes that came together at the start have landed
			calls, fetches := r.host.requests()
			begun, api, git = decided, len(calls), len(fetches)
		}
		if begun >= 0 && decided >= begun+r.bench.Land {
			f.Landed = decided - begun
			calls, fetches := r.host.requests()
			f.tally(calls[api:], fetches[git:], r.host.polls)
			return nil
		}
		was := decided
		if err := r.child.until(ctx, func() bool { decided = len(r.child.verdicts); return decided > was }); err != nil {
			return fmt.Errorf("%d changes have their verdict: %w", was, err)
		}
		for n, v := range r.child.verdictsNow() {
			if v.phase != queue.Landed {
				return fmt.Errorf("#%d is %s", n, v.phase)
			}
		}
	}
}

// probe times commands in a full queue with free slots, one after the other.
func (r *callRun) probe(ctx context.Context, f *callFigures) error {
	if err := r.fill(ctx, r.bench.Full, 0); err != nil {
		return err
	}
	if err := r.child.until(ctx, func() bool { return len(r.child.building) == r.bench.Full }); err != nil {
		return fmt.Errorf("%d of %d are built: %w", len(r.child.building), r.bench.Full, err)
	}
	var reacted, built []time.Duration
	for range r.bench.Probes {
		n, calls, took, err := r.react(ctx)
		if err != nil {
			return err
		}
		reacted = append(reacted, took)
		f.Before += float64(calls) / float64(r.bench.Probes)
		var at time.Time
		sent := time.Now().Add(-took)
		if err := r.child.until(ctx, func() bool { at = r.child.building[n]; return !at.IsZero() }); err != nil {
			return fmt.Errorf("#%d is not built: %w", n, err)
		}
		built = append(built, at.Sub(sent))
	}
	f.Reaction, f.Builds = spreadOf(reacted), spreadOf(built)
	return nil
}

// react asks to land and waits for the reaction; calls is how many requests about this
// command the host saw until then.
func (r *callRun) react(ctx context.Context) (number, calls int, took time.Duration, err error) {
	before, _ := r.host.requests()
	sent := time.Now()
	if number, err = r.ask(ctx); err != nil {
		return 0, 0, 0, err
	}
	err = r.host.acknowledged(ctx, number)
	took = time.Since(sent)
	mine := fmt.Sprintf("/%d/", number)
	after, _ := r.host.requests()
	for _, q := range after[len(before):] {
		if strings.Contains(q.path+"/", mine) || strings.Contains(q.path, "/collaborators/") || strings.Contains(q.path, "/members/") || strings.HasSuffix(q.path, "/reactions") {
			calls++
		}
	}
	return number, max(calls, 1), took, err // the reaction may be seen before its request is on the list
}

// tally counts requests by what they ask for.
func (f *callFigures) tally(api, git []benchRequest, polls func(route string) bool) {
	f.Routes = map[string]int{}
	each := func(n int) float64 { return float64(n) / float64(max(f.Landed, 1)) }
	free, notes, pushes := 0, 0, 0
	for _, q := range git {
		if strings.HasSuffix(q.path, "/git-receive-pack") && q.method == http.MethodPost {
			pushes++
		}
	}
	for _, q := range api {
		if q.status == 304 {
			free++
		}
		route := q.method + " " + routeOf(q.path)
		f.Routes[route]++
		if polls(route) {
			f.Refresh++
		}
		if q.method == http.MethodPost && (strings.HasSuffix(route, "/notes") || strings.HasSuffix(route, "/comments")) {
			notes++
		}
	}
	f.Calls, f.Free, f.Git, f.Pushes, f.Notes = each(len(api)), each(free), each(len(git)), each(pushes), each(notes)
}

// hostNames are the names of the hosts for people.
var hostNames = map[string]string{"github": "GitHub", "gitlab": "GitLab"}

// routeOf returns one route for paths that differ only in their subject.
func routeOf(path string) string {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		if strings.Trim(p, "0123456789") == "" && p != "" || len(p) == 40 {
			parts[i] = "*"
		}
		if i > 0 && parts[i-1] == "collaborators" || i > 0 && parts[i-1] == "branches" {
			parts[i] = "*"
		}
	}
	switch {
	case len(parts) > 3 && parts[1] == "repos":
		parts = append([]string{"…"}, parts[4:]...)
	case len(parts) > 2 && parts[1] == "projects":
		parts = append([]string{"…"}, parts[3:]...)
	}
	return strings.Join(parts, "/")
}

func (f callFigures) print(to io.Writer) {
	asks := ""
	if f.Asks {
		asks = ", which asks for a review and a check of each pull request"
	}
	if f.CI {
		asks += ", whose CI builds"
	}
	fmt.Fprintf(to, "%d pending, %d landed by %s, simulated %s%s, %s\n%s\n", f.Pending, f.Landed, f.Method, hostNames[f.Forge], asks, f.Redis, f.Machine)
	each := func(n int) string { return fmt.Sprintf("%.2f", float64(n)/float64(max(f.Landed, 1))) }
	fmt.Fprintf(to, "  %-28s%.2f calls, of these %.2f free (304); beside them %.2f requests of git with %.2f pushes\n", "for each landed change", f.Calls, f.Free, f.Git, f.Pushes)
	routes := slices.Collect(maps.Keys(f.Routes))
	slices.SortFunc(routes, func(a, b string) int {
		if d := f.Routes[b] - f.Routes[a]; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	for _, r := range routes {
		fmt.Fprintf(to, "    %6s  %s\n", each(f.Routes[r]), r)
	}
	fmt.Fprintf(to, "  %-28s%d calls in all that no webhook caused\n", "polling", f.Refresh)
	fmt.Fprintf(to, "  %-28s%.2f written anew for each landed change\n", "comments", f.Notes)
	if f.Builds.Max == 0 {
		return
	}
	fmt.Fprintf(to, "%d pending, each with a build under way, and slots free\n", f.Full)
	fmt.Fprintf(to, "  %-28sP50 %.3f s, P99 %.3f s, with %.1f calls\n", "comment to reaction", f.Reaction.P50, f.Reaction.P99, f.Before)
	fmt.Fprintf(to, "  %-28sP50 %.3f s, P99 %.3f s\n", "comment to builds", f.Builds.P50, f.Builds.P99)
}
