package notify

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"time"

	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/queue"
)

// Message is one notification, and the JSON of a webhook. Fields may be added without a
// new Version. The meaning of a field changes only with Version.
type Message struct {
	Version int            `json:"version"`          // 1
	ID      string         `json:"id"`               // the same when it is sent again
	Queue   string         `json:"queue"`            // its name at present, e.g. "acme/shop@main"
	Kind    string         `json:"kind"`             // a name of kinds.go, or "more"
	At      time.Time      `json:"at"`               // when it happened; in "more", the latest of the messages
	Text    string         `json:"text"`             // one line of plain text; it may quote hostile text
	URL     string         `json:"url,omitempty"`    // page of the change, or of the queue
	Change  *Change        `json:"change,omitempty"` // the pull request that it is about
	Reason  string         `json:"reason,omitempty"` // code of the reason, e.g. "failed"
	Commit  string         `json:"commit,omitempty"` // the commit on the target branch that it is about
	More    map[string]int `json:"more,omitempty"`   // in "more": how many of each kind

	noun string // the forge's noun for the change
}

// Change is the pull request that a message is about. Of a change that was decided long
// ago, only the number is known.
type Change struct {
	Number int    `json:"number"`
	Title  string `json:"title,omitempty"`  // hostile text
	Author string `json:"author,omitempty"` // hostile text
	URL    string `json:"url,omitempty"`    // at the forge
}

// Bounds of a message. mostText is larger than any line of package texts.
const (
	mostText  = 1000
	mostTitle = 120
	mostURL   = 1000
)

// waiting is a note that a target has not been told of yet.
type waiting struct {
	queue.Noted
	kind string
}

// messageOf makes the message of one note.
func (n *Notifier) messageOf(ctx context.Context, name string, source Source, w waiting) Message {
	var ch queue.Change
	if w.Note.Change != "" {
		ch = n.find(ctx, source, w.Note.Change)
	}
	words := n.Words
	words.Mark = source.View().Mark
	m := n.message(name, source, w, words.Notice(ch, w.Note))
	m.noun = words.Noun()
	m.Reason, m.Commit = string(w.Note.Reason.Code), string(w.Note.Commit)
	if w.Note.Change != "" && w.Note.Number != 0 {
		m.URL = n.BaseURL + texts.PagePath(name, w.Note.Change)
		m.Change = &Change{Number: w.Note.Number, Title: texts.OneLine(ch.Title, mostTitle), Author: texts.OneLine(ch.Author, mostTitle)}
		m.Change.URL = webPage(ch.URL)
	}
	return m
}

// manyOf makes one message that stands for several.
func (n *Notifier) manyOf(name string, source Source, all []waiting) Message {
	count := map[string]int{}
	for _, w := range all {
		count[w.kind]++
	}
	last := all[len(all)-1]
	last.kind = kindMore
	m := n.message(name, source, last, texts.Notices(count))
	m.More = count
	return m
}

// message makes a message about the queue with a key. It calls the queue by its present name;
// its id and its links have the key, which no rename changes.
func (n *Notifier) message(key string, source Source, w waiting, text string) Message {
	return Message{Version: 1, ID: key + " " + w.Place, Queue: cmp.Or(source.View().Name, key), Kind: w.kind, At: w.Note.At.Time().UTC(),
		Text: texts.OneLine(text, mostText), URL: n.BaseURL + texts.PagePath(key, "")}
}

// webPage returns the address of a page on the web, and "" for anything else.
func webPage(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || len(s) > mostURL {
		return ""
	}
	u.User = nil
	return u.String()
}

// find returns a change, or a zero one where the queue does not have it any more. A view
// may be a moment older than the note of a new change.
func (n *Notifier) find(ctx context.Context, source Source, id queue.ChangeID) queue.Change {
	ctx, cancel := context.WithTimeout(ctx, n.late)
	defer cancel()
	for {
		changed := source.Changed()
		v := source.View()
		if i := slices.IndexFunc(v.Order, func(o queue.View) bool { return o.Change.ID == id }); i >= 0 {
			return v.Order[i].Change
		}
		if i := slices.IndexFunc(v.Recent, func(c queue.Change) bool { return c.ID == id }); i >= 0 {
			return v.Recent[i]
		}
		if !pause(ctx, untilChange, changed) {
			return queue.Change{}
		}
	}
}
