package access

import (
	"crypto/rand"
	"crypto/subtle"
	"slices"
	"sync"
	"time"
)

// Options are what Doors need.
type Options struct {
	Dir   string // the data folder, with tokens and sessions; "": there are no named tokens, and sessions are in memory
	Own   string // the server's own token, of role Admin; "": it has none
	Owner string // the name of that token's owner
}

// Doors know which callers may come in. Its methods may be called at the same time.
type Doors struct {
	o        Options
	tokens   *Tokens
	sessions *sessions

	mu    sync.Mutex
	links []link
}

// link opens one session.
type link struct {
	hash    string
	session Session
	until   time.Time
}

// Bounds of links.
const (
	LinkLife = time.Hour
	maxLinks = 100 // links that are open at one time; beyond that, the oldest is dropped
)

// New returns the doors of a server. They also work where there is an error, which says
// why former sessions cannot be read.
func New(o Options) (*Doors, error) {
	s, err := openSessions(o.Dir)
	return &Doors{o: o, tokens: NewTokens(o.Dir), sessions: s}, err
}

// Caller is the person or program that sent a request. The zero Caller is nobody.
type Caller struct {
	Name  string
	Role  Role
	token string // hash; "": none
}

// Any reports whether there can be tokens at all: without tokens, commands are off.
func (d *Doors) Any() bool { return d.o.Own != "" || d.o.Dir != "" }

// TokensErr says why named tokens cannot be read, or nil.
func (d *Doors) TokensErr() error { return d.tokens.Err() }

// CookieName is the name of the cookie with the session.
func (d *Doors) CookieName() string { return "submitqueue_" + d.sessions.id() }

// Bearer returns the owner of a token.
func (d *Doors) Bearer(secret string, now time.Time) (Caller, bool) {
	if d.o.Own != "" && subtle.ConstantTimeCompare([]byte(hashOf(secret)), []byte(hashOf(d.o.Own))) == 1 {
		return Caller{Name: d.o.Owner, Role: Admin, token: hashOf(d.o.Own)}, true
	}
	t, ok := d.tokens.Find(secret, now)
	if !ok {
		return Caller{}, false
	}
	return Caller{Name: t.Name, Role: t.Role, token: t.Hash}, true
}

// Session returns the session of a cookie's value, which may read.
func (d *Doors) Session(value string, now time.Time) (Session, bool) {
	if value == "" {
		return Session{}, false
	}
	s, ok := d.sessions.find(value, now)
	return s, ok && d.counts(s, now)
}

// counts reports whether the token or link that opened a session still counts.
func (d *Doors) counts(s Session, now time.Time) bool {
	if own := d.o.Own != "" && s.Token == hashOf(d.o.Own); s.Token != "" && !own {
		_, ok := d.tokens.byHash(s.Token, now)
		return ok
	}
	b, err := d.tokens.book()
	return err == nil && s.Made.After(b.Since)
}

// SignIn opens a session for the owner of a token, as Open does.
func (d *Doors) SignIn(secret string, now time.Time) (value string, s Session, ok bool, err error) {
	c, ok := d.Bearer(secret, now)
	if !ok {
		return "", Session{}, false, nil
	}
	value, s, err = d.Open(c, now)
	return value, s, true, err
}

// Open opens a session of a caller, and returns the cookie's value. With an error the
// session counts, but ends with the server.
func (d *Doors) Open(c Caller, now time.Time) (value string, s Session, err error) {
	s = d.sessionOf(c)
	s.Made, s.Expires = now, now.Add(SessionLife)
	value, err = d.sessions.open(s)
	return value, s, err
}

func (d *Doors) sessionOf(c Caller) Session {
	if c.token == "" {
		return Session{Name: Console}
	}
	return Session{Name: c.Name, Token: c.token}
}

// SignOut ends a session.
func (d *Doors) SignOut(value string) error { return d.sessions.close(value) }

// Link makes a link with a code that opens one session of a caller. For the zero Caller, it
// is a session of the console.
func (d *Doors) Link(c Caller, now time.Time) (code string, until time.Time) {
	code, until = rand.Text(), now.Add(LinkLife)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.links = slices.DeleteFunc(d.links, func(l link) bool { return !now.Before(l.until) })
	if len(d.links) >= maxLinks {
		d.links = d.links[1:]
	}
	s := d.sessionOf(c)
	s.Made = now
	d.links = append(d.links, link{hashOf(code), s, until})
	return code, until
}

// Opens reports whether a code opens a session, without using the code up.
func (d *Doors) Opens(code string, now time.Time) bool {
	hash := hashOf(code)
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.ContainsFunc(d.links, func(l link) bool { return l.hash == hash && now.Before(l.until) })
}

// Redeem opens the session of a code. After that, the code opens no session. The error is as
// that of Open.
func (d *Doors) Redeem(code string, now time.Time) (value string, s Session, ok bool, err error) {
	hash := hashOf(code)
	d.mu.Lock()
	i := slices.IndexFunc(d.links, func(l link) bool { return l.hash == hash && now.Before(l.until) })
	if i < 0 {
		d.mu.Unlock()
		return "", Session{}, false, nil
	}
	s = d.links[i].session
	d.links = slices.Delete(d.links, i, i+1)
	d.mu.Unlock()
	if !d.counts(s, now) {
		return "", Session{}, false, nil
	}
	s.Made, s.Expires = now, now.Add(SessionLife)
	value, err = d.sessions.open(s)
	return value, s, true, err
}
