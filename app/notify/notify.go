package notify

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/queue"
)

// Options are what a Notifier works with. All fields but Words and Record are required.
type Options struct {
	Targets []Target
	Feed    queue.Feed
	Words   texts.Words
	BaseURL string // of the server, for people
	Now     func() time.Time
	Log     *slog.Logger
	Record  func(queue, target string, r Result) // counts the result of each try; nil: they are not counted
}

// Result is the result of a try to send a message.
type Result string

// The results.
const (
	Sent    Result = "sent"
	Failed  Result = "failed"  // the message is sent again
	Dropped Result = "dropped" // the message is not sent again
)

// Source is what a notifier needs of the owner of a queue: a channel that is closed
// when the queue changes, the queue as it stands, and whether a name, of a queue or of a
// repository, means it.
type Source interface {
	Changed() <-chan struct{}
	View() queue.QueueView
	Means(name string) bool
}

// Notifier sends the notifications of all queues that a server owns. A nil Notifier
// sends none.
type Notifier struct {
	Options
	kinds []kind
	wire  http.RoundTripper

	limit time.Duration                 // of one request
	pace  time.Duration                 // least time between two looks at a history
	late  time.Duration                 // how much older a view may be than a note
	rest  func(tries int) time.Duration // before another try

	mu      sync.Mutex
	trouble map[told]string // why a target is not told at the moment
}

// told is a pair of a target and a queue that it is told of.
type told struct{ queue, target string }

// Bounds of the messages and of sending them.
const (
	requestLimit = 10 * time.Second
	keepLimit    = 2 * time.Second // of the store, to keep a place
	lookPace     = 250 * time.Millisecond
	viewLate     = 2 * time.Second
	mostTries    = 20
	mostPause    = 5 * time.Minute
	mostWaiting  = 20 // messages for a target; beyond that, older ones become one
	newest       = 10 // messages of these that stay
	page         = 500
)

// New returns a Notifier. Nothing is sent before Run.
func New(o Options) *Notifier {
	o.BaseURL = strings.TrimSuffix(o.BaseURL, "/")
	if o.Record == nil {
		o.Record = func(string, string, Result) {}
	}
	for _, t := range o.Targets {
		o.Log.Info("notifications are sent", "target", t.Name(), "host", t.url.Host, "kinds", strings.Join(t.kinds, ","))
	}
	return &Notifier{Options: o, kinds: kinds, wire: wire(), limit: requestLimit, pace: lookPace, late: viewLate, rest: doubling,
		trouble: map[told]string{}}
}

// doubling is how long to wait before another try.
func doubling(tries int) time.Duration {
	return min(time.Second<<min(tries-1, 16), mostPause)
}

// Run tells all targets of the notes of a queue, until ctx ends. Only the owner of the
// queue calls it, and ctx ends with the ownership.
func (n *Notifier) Run(ctx context.Context, name string, source Source) {
	if n == nil {
		return
	}
	var wg sync.WaitGroup
	for _, t := range n.Targets {
		f := follower{Notifier: n, name: name, source: source, target: t}
		wg.Go(func() { f.follow(ctx) })
	}
	wg.Wait()
}

// Trouble says, in a line for each, which targets cannot be told of a queue, and why.
func (n *Notifier) Trouble(name string) (lines []string) {
	if n == nil {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, t := range slices.SortedFunc(maps.Keys(n.trouble), func(a, b told) int { return cmp.Compare(a.target, b.target) }) {
		if t.queue == name {
			lines = append(lines, "notifications to "+t.target+" do not arrive: "+n.trouble[t])
		}
	}
	return lines
}

// setTrouble notes why a target is not told; "": it is told. It reports whether that is
// new.
func (n *Notifier) setTrouble(t told, why string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, had := n.trouble[t]; why == "" {
		delete(n.trouble, t)
		return had
	}
	_, had := n.trouble[t]
	n.trouble[t] = why
	return !had
}
