package access

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
)

// Token is a named token without its secret.
type Token struct {
	Name    string    `json:"name"`
	Role    Role      `json:"role"`
	Hash    string    `json:"hash"` // SHA-256 of the secret, in hexadecimal
	Made    time.Time `json:"made"`
	Expires time.Time `json:"expires,omitzero"` // zero: never
}

// Expired reports whether the token is worth nothing any more.
func (t Token) Expired(now time.Time) bool { return !t.Expires.IsZero() && !now.Before(t.Expires) }

// Console is the owner of the sessions that the links of a server's start have opened. No
// token has its name.
const Console = "console"

// Names that the queue uses for itself in texts and in the history.
var reserved = []string{Console, "submitqueue"}

const (
	tokensFile  = "tokens.json"
	tokenPrefix = "sq_" // people and scanners recognise a leaked token by it
	maxTokens   = 1000
	maxName     = 100
)

// ErrNoToken: there is no token of that name.
var ErrNoToken = errors.New("there is no token of that name")

// Tokens are the named tokens of a data folder. Its methods may be called at the same time,
// and several processes may have the same folder.
type Tokens struct {
	dir string

	mu     sync.Mutex
	seen   fs.FileInfo // of the file that was read last; nil: there was none
	tokens tokenBook
	err    error // why it cannot be read
}

// tokenBook is the file.
type tokenBook struct {
	Version int       `json:"version"`
	Tokens  []Token   `json:"tokens"`
	Since   time.Time `json:"console_since,omitzero"` // older sessions of the console and of the server's own token are over
}

// NewTokens returns the tokens of a data folder, which needs no file yet. With the
// folder "" there are none.
func NewTokens(dir string) *Tokens { return &Tokens{dir: dir} }

func (t *Tokens) path() string { return filepath.Join(t.dir, tokensFile) }

// book returns what the file says now.
func (t *Tokens) book() (tokenBook, error) {
	if t.dir == "" {
		return tokenBook{}, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	info, err := os.Stat(t.path())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		t.seen, t.tokens, t.err = nil, tokenBook{}, nil
	case err != nil:
		t.seen, t.tokens, t.err = nil, tokenBook{}, fmt.Errorf("the tokens cannot be read: %w", err)
	case t.seen == nil || !os.SameFile(t.seen, info) || !t.seen.ModTime().Equal(info.ModTime()) || t.seen.Size() != info.Size():
		t.seen = info // before it is read: a change meanwhile is read again
		t.tokens, t.err = readTokens(t.path())
	}
	return t.tokens, t.err
}

func readTokens(path string) (b tokenBook, err error) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return tokenBook{}, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &b)
	}
	if err == nil && b.Version != 1 {
		err = fmt.Errorf("version %d is not known", b.Version)
	}
	if err != nil {
		return tokenBook{}, fmt.Errorf("the tokens in %s cannot be read: %w. Nobody is let in by one; put the file right, or remove it and add them anew", path, err)
	}
	return b, nil
}

// Find returns the token with a secret, if it counts.
func (t *Tokens) Find(secret string, now time.Time) (Token, bool) {
	if !strings.HasPrefix(secret, tokenPrefix) {
		return Token{}, false
	}
	return t.byHash(hashOf(secret), now)
}

// byHash returns the token with a hash, if it counts.
func (t *Tokens) byHash(hash string, now time.Time) (Token, bool) {
	b, err := t.book()
	if err != nil {
		return Token{}, false
	}
	i := slices.IndexFunc(b.Tokens, func(k Token) bool { return k.Hash == hash && !k.Expired(now) && k.Role.May(Read) })
	if i < 0 {
		return Token{}, false
	}
	return b.Tokens[i], true
}

// Err says why the tokens cannot be read, or nil.
func (t *Tokens) Err() error {
	_, err := t.book()
	return err
}

// List returns all tokens by name.
func (t *Tokens) List() ([]Token, error) {
	b, err := t.book()
	list := slices.Clone(b.Tokens)
	slices.SortFunc(list, func(a, b Token) int { return strings.Compare(a.Name, b.Name) })
	return list, err
}

// Add makes a token, and returns its secret, which cannot be read again later. k needs no hash.
func (t *Tokens) Add(k Token) (secret string, err error) {
	if err := checkName(k.Name); err != nil {
		return "", err
	}
	if !k.Role.May(Read) {
		return "", fmt.Errorf("there is no role %q", k.Role)
	}
	secret = tokenPrefix + rand.Text()
	k.Hash = hashOf(secret)
	return secret, t.change(func(b *tokenBook) error {
		b.Tokens = slices.DeleteFunc(b.Tokens, func(old Token) bool { return old.Name == k.Name && old.Expired(k.Made) })
		switch {
		case slices.ContainsFunc(b.Tokens, func(old Token) bool { return strings.EqualFold(old.Name, k.Name) }):
			return fmt.Errorf("%s has a token: remove that one first", k.Name)
		case len(b.Tokens) >= maxTokens:
			return fmt.Errorf("there are %d tokens already: remove some", len(b.Tokens))
		}
		b.Tokens = append(b.Tokens, k)
		return nil
	})
}

// Remove takes a token away, and with it the sessions that it has opened. With Console,
// it ends the sessions that links of a server's start, or the server's own token, have
// opened.
func (t *Tokens) Remove(name string, now time.Time) error {
	return t.change(func(b *tokenBook) error {
		if name == Console {
			b.Since = now
			return nil
		}
		n := len(b.Tokens)
		b.Tokens = slices.DeleteFunc(b.Tokens, func(k Token) bool { return k.Name == name })
		if len(b.Tokens) == n {
			return fmt.Errorf("%w: %s", ErrNoToken, name)
		}
		return nil
	})
}

// change edits the file, one process at a time.
func (t *Tokens) change(edit func(*tokenBook) error) (err error) {
	lock, err := lockFile(filepath.Join(t.dir, "tokens.lock"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	b, err := readTokens(t.path())
	if err != nil {
		return err
	}
	b.Version = 1
	if err := edit(&b); err != nil {
		return err
	}
	return writeFile(t.path(), b)
}

// checkName says why a name cannot be a token's.
func checkName(name string) error {
	switch {
	case name == "" || len(name) > maxName || strings.HasPrefix(name, "-") ||
		strings.ContainsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }):
		return fmt.Errorf("%.120q is no name: write one printable word of at most %d bytes", name, maxName)
	case slices.ContainsFunc(reserved, func(r string) bool { return strings.EqualFold(r, name) }):
		return fmt.Errorf("%s is a name of the queue's own: take another", name)
	}
	return nil
}

// hashOf returns the hash of a secret, which is kept in its place.
func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}
