package gitlab

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/forge"
)

// TokenFacts are the facts that GitLab tells about our token.
type TokenFacts struct {
	ID      int      `json:"id"`
	Name    string   `json:"name"`
	Scopes  []string `json:"scopes"`
	Expires string   `json:"expires_at"` // a date: the token ends when that day begins (UTC); "": never
	Unknown bool     `json:"-"`          // the instance does not say
}

// Ends returns when the token expires; zero: never.
func (t TokenFacts) Ends() time.Time {
	at, err := time.Parse(time.DateOnly, t.Expires)
	if err != nil {
		return time.Time{}
	}
	return at
}

// TokenKind is the kind of a token's owner.
type TokenKind string

// The kinds of tokens.
const (
	TokenProject TokenKind = "project" // GitLab has made an account for it
	TokenGroup   TokenKind = "group"   // likewise
	TokenUser    TokenKind = "user"    // of an account that somebody has made
)

// Kind returns the kind of token that an account acts by.
func (a AccountFacts) Kind() TokenKind {
	if !botName.MatchString(a.Name) {
		return TokenUser
	}
	if strings.HasPrefix(a.Name, "group_") {
		return TokenGroup
	}
	return TokenProject
}

// TokenFacts reads what GitLab tells about our token. Versions before 15.5 do not
// tell.
func (f *Forge) TokenFacts(ctx context.Context) (TokenFacts, error) {
	t, err := readOne[TokenFacts](ctx, f, "read what the token may do", "personal_access_tokens/self", nil)
	if errors.Is(err, forge.ErrNotFound) {
		return TokenFacts{Unknown: true}, nil
	}
	return t, err
}

// Rotated is a token that has taken the place of ours.
type Rotated struct {
	Text    string
	Expires string
}

// Rotate has GitLab make a token of the same account, with the same scopes, that expires on
// a date, and end ours at once. The account stays, with what it has written. The Forge
// itself keeps the token that it was made with.
func (f *Forge) Rotate(ctx context.Context, until time.Time) (Rotated, error) {
	var out struct {
		Token   string `json:"token"`
		Expires string `json:"expires_at"`
	}
	err := f.ask(ctx, "rotate the token", http.MethodPost, "personal_access_tokens/self/rotate", map[string]string{"expires_at": until.UTC().Format(time.DateOnly)}, &out)
	switch {
	case errors.Is(err, forge.ErrNotFound):
		return Rotated{}, errors.New("gitlab: this version cannot rotate a token by itself; rotate it on the page on which it was made, and write the new one to the file")
	case err != nil:
		return Rotated{}, err
	case out.Token == "":
		return Rotated{}, fmt.Errorf("gitlab: rotate the token: the answer has none; look at the account's tokens and write the new one to the file")
	}
	return Rotated{Text: out.Token, Expires: out.Expires}, nil
}
