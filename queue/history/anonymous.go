package history

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"path"
	"regexp"

	"github.com/submitqueue/submitqueue/queue"
)

// Anonymous puts hashes in place of authors, titles, paths, targets and commits, under a
// salt: without it nobody can test guesses of names. The same name has the same hash.
// Folders stay folders, and endings of files stay; numbers and names of steps stay as
// well.
type Anonymous struct{ salt []byte }

// NewAnonymous returns an Anonymous with a salt. Rows of different exports can be put
// together if they have the same salt.
func NewAnonymous(salt []byte) *Anonymous { return &Anonymous{salt} }

// Row returns the row without names.
func (a *Anonymous) Row(r queue.Row) queue.Row {
	if x := r.Arrival; x != nil {
		y := *x
		y.Author, y.Title, y.Head = a.Text("author", x.Author), a.Text("title", x.Title), a.commit(x.Head)
		y.Paths, y.Targets, y.Digest = a.names(x.Paths), a.names(x.Targets), queue.Digest(a.Text("digest", string(x.Digest)))
		r.Arrival = &y
	}
	if x := r.Verdict; x != nil {
		y := *x
		y.Author, y.Commit, y.Clashes, y.Failures = a.Text("author", x.Author), a.commit(x.Commit), a.names(x.Clashes), nil
		for _, f := range x.Failures {
			f.Targets, f.Main = a.names(f.Targets), a.commit(f.Main)
			y.Failures = append(y.Failures, f)
		}
		r.Verdict = &y
	}
	if x := r.Build; x != nil {
		y := *x
		y.Main, y.Commit = a.commit(x.Main), a.commit(x.Commit)
		r.Build = &y
	}
	if x := r.Result; x != nil {
		y := *x
		y.Targets = nil
		for _, t := range x.Targets {
			t.Target = a.name(t.Target)
			y.Targets = append(y.Targets, t)
		}
		r.Result = &y
	}
	if x := r.Main; x != nil {
		y := *x
		y.Commit = a.commit(x.Commit)
		r.Main = &y
	}
	return r
}

// Text returns the hash of a text of some kind; an empty one stays empty.
func (a *Anonymous) Text(kind, text string) string {
	if text == "" {
		return ""
	}
	m := hmac.New(sha256.New, a.salt)
	m.Write([]byte(kind + "\x00" + text))
	return hex.EncodeToString(m.Sum(nil)[:6])
}

func (a *Anonymous) commit(id queue.CommitID) queue.CommitID {
	return queue.CommitID(a.Text("commit", string(id)))
}

func (a *Anonymous) names(list []string) []string {
	var out []string
	for _, x := range list {
		out = append(out, a.name(x))
	}
	return out
}

var (
	segment = regexp.MustCompile(`[^/:@]+`)
	ending  = regexp.MustCompile(`^\.[a-z]{1,5}$`)
)

// name hashes each part of a path or a target's name, and keeps the characters between them.
func (a *Anonymous) name(text string) string {
	return segment.ReplaceAllStringFunc(text, func(part string) string {
		ext := path.Ext(part)
		if !ending.MatchString(ext) || ext == part { // .acme is a name, and no ending
			ext = ""
		}
		return a.Text("name", part[:len(part)-len(ext)]) + ext
	})
}
