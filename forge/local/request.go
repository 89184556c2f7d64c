package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
)

// refs is the prefix of the requests' refs: one ref for each, to a blob of JSON.
const refs = "refs/submitqueue/requests/"

// State is where a request stands.
type State string

// The states of a request.
const (
	Open   State = "open"
	Merged State = "merged"
	Closed State = "closed"
)

// Request asks to land a branch of the repository; it takes the place of a pull
// request.
type Request struct {
	Number  int            `json:"number"`
	Branch  string         `json:"branch"`
	Base    string         `json:"base"`
	Head    queue.CommitID `json:"head"`   // the branch's tip when it was asked for
	Author  string         `json:"author"` // a user of the machine
	Created queue.Instant  `json:"created"`
	State   State          `json:"state"`
	Comment string         `json:"comment,omitempty"` // what the queue says of it, Markdown
	Check   *Check         `json:"check,omitempty"`   // the queue's check on the head

	Asked    queue.Instant `json:"asked,omitempty"`    // when somebody asked for it last
	Commands []string      `json:"commands,omitempty"` // the commands that asked for this head, each once, oldest first; none: "/land". At most commandsKept

	Keys []queue.Digest `json:"keys,omitempty"` // of the commands that asked for it (OpenOnce), oldest first; at most keysKept

	Proposed bool `json:"proposed,omitempty"` // made by the queue, or to be tried or explained, and nobody has asked to land it yet
}

// Check is the last check that the queue set on a request's head.
type Check struct {
	Name    string           `json:"name"`
	State   forge.CheckState `json:"state"`
	Title   string           `json:"title"`
	Summary string           `json:"summary,omitempty"`
	URL     string           `json:"url,omitempty"`
}

// keysKept is how many keys of commands a request remembers.
const keysKept = 16

// commandsKept is how many ways of asking for one head a request remembers.
const commandsKept = 8

// asked notes that a command asked for the request, and the key of the command, if it
// has one.
func (r *Request) asked(now queue.Instant, key queue.Digest, command string) {
	r.Asked = now
	if key != "" && !slices.Contains(r.Keys, key) {
		r.Keys = append(r.Keys, key)
		r.Keys = r.Keys[max(0, len(r.Keys)-keysKept):]
	}
	if command != "" && !slices.Contains(r.Commands, command) {
		r.Commands = append(r.Commands, command)
		r.Commands = r.Commands[max(0, len(r.Commands)-commandsKept):]
	}
}

// commands returns the commands that asked for a request's head, oldest first.
func (r *Request) commands() []string {
	if len(r.Commands) == 0 {
		return []string{queue.PlainLand}
	}
	return r.Commands
}

// Open asks to land a branch and returns the request's number. Asking again for a
// branch with an open request returns the same number, and makes the branch's
// present tip the head that is to land. forge.ErrNotFound: no such branch.
func (f *Forge) Open(ctx context.Context, branch, author string) (int, error) {
	return f.OpenOnce(ctx, "", branch, author, queue.PlainLand)
}

// OpenOnce is Open for a command, such as "/land priority=high", that may have a key. The
// same key again returns the request that the command made before and changes nothing,
// even if the request has ended or the branch is gone by now. A command "" makes a
// request, but does not ask to land it: a request that somebody has asked to land stays
// asked for, at the same head.
func (f *Forge) OpenOnce(ctx context.Context, key queue.Digest, branch, author, command string) (int, error) {
	if branch == f.base {
		return 0, fmt.Errorf("branch %q is what is landed on; name another one", branch)
	}
	f.opening.Lock()
	defer f.opening.Unlock()
	head, _, gone := f.store.Commit(ctx, "refs/heads/"+branch)
	if gone != nil && key == "" {
		return 0, fmt.Errorf("branch %q: %w", branch, gone)
	}
	for ; ; f.listed = false {
		if !f.listed {
			if _, err := f.List(ctx); err != nil {
				return 0, err
			}
			f.listed = true
		}
		if n := f.keyed(key); n > 0 {
			return n, nil
		}
		if gone != nil {
			return 0, fmt.Errorf("branch %q: %w", branch, gone)
		}
		open, next := f.find(branch)
		if open > 0 {
			still := false
			err := f.change(ctx, open, func(r *Request) {
				still = r.State == Open
				if still && (r.Head != head || r.Proposed && command != "") {
					r.Head, r.Author, r.Created, r.Check, r.Proposed, r.Commands = head, author, queue.At(f.now()), nil, command == "", nil
				}
				if still {
					r.asked(queue.At(f.now()), key, command)
				}
			})
			if err != nil || still {
				return open, err
			}
			continue // it has ended meanwhile
		}
		r := Request{
			Number: next, Branch: branch, Base: f.base, Head: head, Author: author,
			Created: queue.At(f.now()), State: Open, Proposed: command == "",
		}
		r.asked(queue.At(f.now()), key, command)
		err := f.put(ctx, r, "")
		if !errors.Is(err, mirror.ErrChanged) { // else another process has taken the number
			return next, err
		}
	}
}

// keyed returns the request that a command with a key made or asked for, or 0.
func (f *Forge) keyed(key queue.Digest) int {
	if key == "" {
		return 0
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for n, v := range f.known {
		if slices.Contains(v.request.Keys, key) {
			return n
		}
	}
	return 0
}

// find returns the open request for a branch, or 0, and the next number, as far as
// is known. A new request may have taken that number meanwhile: the attempt to take
// it shows that.
func (f *Forge) find(branch string) (open, next int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	next = 1
	for n, v := range f.known {
		next = max(next, n+1)
		if v.request.State == Open && v.request.Branch == branch {
			open = n
		}
	}
	return open, next
}

// List returns all requests by number.
func (f *Forge) List(ctx context.Context) ([]Request, error) {
	versions, err := f.store.Refs(ctx, refs)
	if err != nil {
		return nil, err
	}
	requests := make([]Request, 0, len(versions))
	for name, version := range versions {
		n, err := strconv.Atoi(strings.TrimPrefix(name, refs))
		if err != nil || n <= 0 {
			continue
		}
		r, ok := f.seen(n, version)
		if !ok {
			r, _, err = f.get(ctx, n)
		}
		if errors.Is(err, forge.ErrNotFound) { // removed meanwhile
			continue
		}
		if err != nil {
			return nil, err
		}
		requests = append(requests, r)
	}
	sort.Slice(requests, func(i, j int) bool { return requests[i].Number < requests[j].Number })
	return requests, nil
}

// Close ends a request without landing it. forge.ErrNotFound: no such request.
func (f *Forge) Close(ctx context.Context, number int) error {
	return f.Finish(ctx, number, false)
}

// Finish marks a request as merged, or else as closed. A request that has ended
// stays as it is.
func (f *Forge) Finish(ctx context.Context, number int, merged bool) error {
	return f.change(ctx, number, func(r *Request) { r.end(merged) })
}

// Publish implements forge.Publisher.
func (f *Forge) Publish(ctx context.Context, p forge.Publication) error {
	return f.change(ctx, p.Number, func(r *Request) {
		r.Comment = p.Comment
		if p.Check.Name != "" {
			r.check(p.Check)
		}
		if p.Ended || p.Refused != 0 && p.Refused >= max(r.Asked, r.Created) && !r.Proposed {
			r.end(p.Merged)
		}
	})
}

// check notes a check of the queue, if it is on the request's head.
func (r *Request) check(c forge.Check) {
	if r.Head == c.Head {
		r.Check = &Check{Name: c.Name, State: c.State, Title: c.Title, Summary: c.Summary, URL: c.DetailsURL}
	}
}

func (r *Request) end(merged bool) {
	switch {
	case r.State != Open:
	case merged:
		r.State = Merged
	default:
		r.State = Closed
	}
}

func (f *Forge) get(ctx context.Context, number int) (Request, string, error) {
	data, version, err := f.store.Get(ctx, refs+strconv.Itoa(number))
	if err != nil {
		return Request{}, "", fmt.Errorf("request %d: %w", number, err)
	}
	var r Request
	if err := json.Unmarshal(data, &r); err != nil {
		return Request{}, "", fmt.Errorf("request %d cannot be read: %w", number, err)
	}
	r.Number = number
	f.note(r, version)
	return r, version, nil
}

func (f *Forge) note(r Request, version string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.known[r.Number] = versioned{r, version}
}

// versioned is a request as it was last read. Most requests have ended and do not
// change, so that a list of any length costs one git process.
type versioned struct {
	request Request
	version string
}

func (f *Forge) seen(number int, version string) (Request, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	v, ok := f.known[number]
	return v.request, ok && v.version == version
}

// withHead returns the requests that were last seen to ask for a head.
func (f *Forge) withHead(head queue.CommitID) []int {
	f.mu.Lock()
	defer f.mu.Unlock()
	var numbers []int
	for n, v := range f.known {
		if v.request.Head == head {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

func (f *Forge) put(ctx context.Context, r Request, version string) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	version, err = f.store.Put(ctx, refs+strconv.Itoa(r.Number), append(data, '\n'), version)
	if err == nil {
		f.note(r, version)
	}
	return err
}

// change edits a request, and tries again whenever another process was faster.
func (f *Forge) change(ctx context.Context, number int, edit func(*Request)) error {
	f.changing.Lock() // each lost race costs a git process
	defer f.changing.Unlock()
	for {
		r, version, err := f.get(ctx, number)
		if err != nil {
			return err
		}
		before, err := json.Marshal(r)
		if err != nil {
			return err
		}
		edit(&r)
		if after, err := json.Marshal(r); err != nil || string(after) == string(before) {
			return err
		}
		if err = f.put(ctx, r, version); !errors.Is(err, mirror.ErrChanged) {
			return err
		}
	}
}
