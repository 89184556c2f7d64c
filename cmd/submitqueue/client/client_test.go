package client

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/app/api"
)

// A user that names a server without its token learns where the token is.
func TestMissingTokenSaysWhereItIs(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer right" {
			w.WriteHeader(http.StatusUnauthorized)
		}
		_, _ = w.Write([]byte(`{"error": "send a header"}`))
	}))
	defer s.Close()
	flags := Flags{Server: s.URL, Data: t.TempDir()}
	for token, wrong := range map[string]bool{"": true, "right": false} {
		t.Setenv(api.TokenVariable, token)
		c, err := flags.Open()
		if err != nil {
			t.Fatal(err)
		}
		err = c.Post(t.Context(), "/api/land", nil, &struct{}{})
		if (err != nil) != wrong {
			t.Errorf("token %q: %v", token, err)
		}
		if wrong && !(strings.Contains(err.Error(), "SUBMITQUEUE_TOKEN") && strings.Contains(err.Error(), "client.json")) {
			t.Errorf("token %q: %v; want where the token is", token, err)
		}
	}
}
