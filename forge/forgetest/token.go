package forgetest

import (
	"crypto/rand"
	"encoding/base64"
	"net/http"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v4"
)

// token is a credential other than the App's JWT.
type token struct {
	user        *user
	permissions map[string]string // of an installation token; nil for a person's
	repos       map[string]bool   // full names in lower case; nil: all
	expires     time.Time         // zero: never
	install     int64             // the installation to which it belongs
}

// identity is the user, App or token that makes a request or push. The zero value
// is anonymous.
type identity struct {
	user  *user
	app   bool   // by the App's JWT
	token *token // nil for verbs
}

func (w identity) installation() bool { return w.token != nil && w.token.permissions != nil }

// installed returns the id of the installation to which the token belongs, or 0.
func (w identity) installed() int64 {
	if w.token == nil {
		return 0
	}
	return w.token.install
}

func (s *Server) actor(w identity) *user {
	if w.user == nil {
		return s.users[strings.ToLower(s.Bot())]
	}
	return w.user
}

// pusherName returns the name under which protection knows the identity that
// pushes: a login, or the slug of the App.
func (s *Server) pusherName(w identity) string {
	if w.installation() {
		return s.opts.Slug
	}
	return s.actor(w).login
}

// UserToken makes a user if needed, and a personal access token of that user for
// git over HTTP and REST. The token has the user's permissions.
func (s *Server) UserToken(login string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addToken("ghp_", &token{user: s.addUser(login)})
}

// ExpireTokens makes every installation token invalid now.
func (s *Server) ExpireTokens() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, t := range s.tokens {
		if t.permissions != nil {
			delete(s.tokens, id)
		}
	}
}

// SetPermissions changes the App's permissions; they apply to tokens made from now
// on.
func (s *Server) SetPermissions(p map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opts.Permissions = p
}

func (s *Server) addToken(prefix string, t *token) string {
	id := prefix + rand.Text() + rand.Text()
	s.tokens[id] = t
	return id
}

// identify reads the Authorization header. ok is false for credentials that are
// wrong or have expired. The caller holds s.mu.
func (s *Server) identify(h http.Header) (who identity, ok bool) {
	auth := h.Get("Authorization")
	if auth == "" {
		return identity{}, true
	}
	scheme, value, _ := strings.Cut(auth, " ")
	switch strings.ToLower(scheme) {
	case "basic":
		raw, err := base64.StdEncoding.DecodeString(value)
		if err != nil {
			return identity{}, false
		}
		_, value, _ = strings.Cut(string(raw), ":")
	case "bearer", "token":
	default:
		return identity{}, false
	}
	if t := s.tokens[value]; t != nil {
		if !t.expires.IsZero() && !time.Now().Before(t.expires) {
			return identity{}, false
		}
		return identity{user: t.user, token: t}, true
	}
	return identity{app: true}, s.validJWT(value)
}

// validJWT checks an App's JWT as GitHub does.
func (s *Server) validJWT(value string) bool {
	var claims jwt.RegisteredClaims
	parser := jwt.NewParser(jwt.WithValidMethods([]string{"RS256"}), jwt.WithoutClaimsValidation())
	if _, err := parser.ParseWithClaims(value, &claims, func(*jwt.Token) (any, error) {
		return &s.opts.Key.PublicKey, nil
	}); err != nil {
		return false
	}
	now := time.Now()
	return claims.Issuer == "1001" && claims.ExpiresAt != nil && claims.IssuedAt != nil &&
		now.Before(claims.ExpiresAt.Time) && !claims.IssuedAt.After(now.Add(time.Minute)) &&
		claims.ExpiresAt.Sub(claims.IssuedAt.Time) <= 11*time.Minute
}

// may says whether an identity has a permission such as "contents:write" on r. need
// may list alternatives, separated by "|".
func (s *Server) may(who identity, r *Repository, need string) bool {
	for one := range strings.SplitSeq(need, "|") {
		name, access, _ := strings.Cut(one, ":")
		if who.installation() {
			have := who.token.permissions[name]
			if who.token.covers(r) && (have == access || have == "write" || have == "admin") {
				return true
			}
			continue
		}
		role := "none"
		if !r.private {
			role = "read"
		}
		if who.user != nil {
			role = r.law.role(who.user)
		}
		min := map[string]string{"read": "read", "write": "write"}[access]
		if name == "issues" {
			min = "read" // every reader may comment
		}
		if name == "administration" {
			min = "admin"
		}
		if (who.user != nil || access == "read") && level(role) >= level(min) {
			return true
		}
	}
	return false
}

func (t *token) covers(r *Repository) bool {
	in := r.installation()
	return in != nil && in.id == t.install && (t.repos == nil || t.repos[r.key()])
}
