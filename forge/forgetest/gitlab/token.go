package gitlab

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Token says what an access token may do, and until when.
type Token struct {
	id      int
	Name    string
	Scopes  []string
	Expires time.Time // zero: never
}

// botName matches the names of the accounts that GitLab makes for tokens of projects and
// groups.
var botName = regexp.MustCompile(`^(project|group)_\d+_bot`)

// SetToken changes a token.
func (s *Server) SetToken(token string, change func(*Token)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s.papers[token])
}

// holder returns the account of a token; nil: there is none, or the token has
// expired.
func (s *Server) holder(token string) *User {
	t := s.papers[token]
	if t == nil || !t.Expires.IsZero() && !s.now().Before(t.Expires) {
		return nil
	}
	return s.tokens[token]
}

// scope refuses requests outside of the token's scopes.
func (c *call) scope() *refused {
	have := c.s.papers[c.token].Scopes
	switch {
	case slices.Contains(have, "api"), slices.Contains(have, "read_api") && c.r.Method == "GET":
		return nil
	case strings.HasSuffix(c.r.URL.Path, "/personal_access_tokens/self"): // any token may ask for itself
		return nil
	}
	return &refused{403, obj{"error": "insufficient_scope", "error_description": "The request requires higher privileges than provided by the access token.", "scope": "api"}}
}

func (t *Token) json(u *User) obj {
	var expires any
	if !t.Expires.IsZero() {
		expires = t.Expires.Format(time.DateOnly)
	}
	return obj{"id": t.id, "name": t.Name, "revoked": false, "active": true, "scopes": t.Scopes, "user_id": u.ID, "expires_at": expires}
}

func getToken(c *call) (any, *refused) { return c.s.papers[c.token].json(c.who), nil }

// rotateToken makes a new token of the same account, and ends the old one. Without a date
// the new one lasts a week.
func rotateToken(c *call) (any, *refused) {
	at := c.s.now().Add(7 * 24 * time.Hour)
	if c.given("expires_at") {
		var err error
		if at, err = time.Parse(time.DateOnly, c.text("expires_at")); err != nil || at.Sub(c.s.now()) > 366*24*time.Hour {
			return nil, &refused{400, obj{"message": "400 Bad request - Expiration date must be before a year from now"}}
		}
	}
	old := c.s.papers[c.token]
	fresh := &Token{id: c.s.nextID(), Name: old.Name, Scopes: old.Scopes, Expires: at}
	text := fmt.Sprintf("glpat-%d-%d", c.who.ID, fresh.id)
	c.s.tokens[text], c.s.papers[text] = c.who, fresh
	delete(c.s.tokens, c.token)
	delete(c.s.papers, c.token)
	if c.s.botToken == c.token {
		c.s.botToken = text
	}
	return fresh.json(c.who).with(obj{"token": text}), nil
}
