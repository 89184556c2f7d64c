package forgetest_test

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v4"

	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/forge/forgetest/contract"
)

// appToken signs a JWT as the App, which ends after life.
func appToken(t *testing.T, s *forgetest.Server, life time.Duration) string {
	t.Helper()
	block, _ := pem.Decode(s.AppKey())
	key, err := x509.ParsePKCS1PrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	token, err := jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.RegisteredClaims{
		Issuer: fmt.Sprint(s.AppID()), IssuedAt: jwt.NewNumericDate(time.Now().Add(-time.Minute)),
		ExpiresAt: jwt.NewNumericDate(time.Now().Add(life)),
	}).SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// installed returns a client with an installation token made by this request.
func installed(t *testing.T, s *forgetest.Server, body string) rest {
	t.Helper()
	c := rest{t, s, appToken(t, s, time.Minute)}
	out := c.want(201, "POST", fmt.Sprintf("/app/installations/%d/access_tokens", s.InstallationID()), body)
	c.token, _ = out["token"].(string)
	return c
}

func TestApp(t *testing.T) {
	s := mustServer(t, forgetest.Options{})
	r := mustRepository(t, s)
	c := rest{t, s, appToken(t, s, time.Minute)}
	if app := c.want(200, "GET", "/app", ""); app["slug"] != "submitqueue" {
		t.Errorf("%v", app)
	}
	c.want(200, "GET", "/repos/o/r/installation", "")
	c.want(404, "POST", "/app/installations/7/access_tokens", "")
	c.want(422, "POST", "/app/installations/2002/access_tokens", `{"permissions":{"administration":"write"}}`)
	c.want(401, "GET", "/repos/o/r/pulls", "") // the App itself has no access
	for name, token := range map[string]string{
		"ended":    appToken(t, s, -time.Second),
		"too long": appToken(t, s, time.Hour),
		"unsigned": "a.b.c",
	} {
		if status, _, _ := (rest{t, s, token}).do("GET", "/app", ""); status != 401 {
			t.Errorf("a JWT that is %s: %d", name, status)
		}
	}

	narrow := installed(t, s, `{"repositories":["r"],"permissions":{"metadata":"read","contents":"read"}}`)
	narrow.want(200, "GET", "/repos/o/r/branches/main", "")
	narrow.want(403, "GET", "/repos/o/r/pulls", "")
	r.SetPrivate()
	none := installed(t, s, `{"repositories":["other"]}`)
	none.want(404, "GET", "/repos/o/r/branches/main", "")
	s.SetPermissions(map[string]string{"metadata": "read"})
	installed(t, s, "").want(403, "GET", "/repos/o/r/branches/main", "")
	s.ExpireTokens()
	narrow.want(401, "GET", "/repos/o/r/branches/main", "")
}

func TestCheckRunsAreJudged(t *testing.T) {
	s := mustServer(t, forgetest.Options{Judge: contract.Wrong(t)})
	r := mustRepository(t, s)
	head := r.Head("main")
	c := installed(t, s, "null")
	const base = "/repos/o/r/check-runs"
	with := func(more string) string { return fmt.Sprintf(`{"name":"q","head_sha":%q%s}`, head, more) }
	action := `{"label":"l","description":"d","identifier":"i"}`
	for _, x := range []struct {
		status int
		body   string
	}{
		{422, `{"name":"q"}`},
		{422, `{"head_sha":"` + head + `"}`},
		{422, with(`,"status":"doing"`)},
		{422, with(`,"status":"completed"`)},
		{422, with(`,"status":"queued","conclusion":"success"`)},
		{422, with(`,"conclusion":"green"`)},
		{422, with(`,"output":{"title":"t"}`)},
		{422, with(`,"output":{"title":"t","summary":"` + strings.Repeat("x", 65_536) + `"}`)},
		{201, with(`,"output":{"title":"t","summary":"` + strings.Repeat("x", 65_535) + `"}`)},
		{422, with(`,"details_url":"ftp://x"`)},
		{422, with(`,"started_at":"today"`)},
		{422, with(`,"actions":[` + strings.Repeat(action+",", 3) + action + `]`)},
		{422, with(`,"actions":[{"label":"` + strings.Repeat("x", 21) + `","description":"d","identifier":"i"}]`)},
		{201, with(`,"actions":[` + action + `]`)},
		{422, with(`,"colour":"red"`)},
	} {
		c.want(x.status, "POST", base, x.body)
	}
	id := int64(c.want(201, "POST", base, with(`,"conclusion":"success"`))["id"].(float64))
	one := fmt.Sprintf("%s/%d", base, id)
	c.want(422, "PATCH", one, `{"head_sha":"x"}`)
	c.want(200, "PATCH", one, `{"status":"in_progress"}`)
	if got := c.want(200, "GET", one, ""); got["conclusion"] != nil || got["status"] != "in_progress" {
		t.Errorf("%v", got)
	}
	theirs := r.CI.SetCheck("ci", head, "unit", "success")
	c.want(403, "PATCH", fmt.Sprintf("%s/%d", base, theirs), `{"status":"in_progress"}`)
	if run, ok := r.CI.CheckRun(head, "unit"); !ok || run.App != "ci" {
		t.Errorf("%+v", run)
	}
	if got := c.want(200, "GET", "/repos/o/r/commits/"+head+"/check-runs", ""); got["total_count"] != 2.0 {
		t.Errorf("the latest of each name: %v", got["total_count"])
	}
	if got := c.want(200, "GET", "/repos/o/r/commits/"+head+"/check-runs?filter=all&check_name=q&app_id=1001", ""); got["total_count"] != 3.0 {
		t.Errorf("all of a name: %v", got["total_count"])
	}
}

func TestDeliveriesOverREST(t *testing.T) {
	s := mustServer(t, forgetest.Options{})
	h := newHook(t)
	r := mustRepository(t, s)
	n := r.OpenIssue("o", "talk")
	s.SetWebhook(h.URL, "key")
	for range 130 {
		r.Comment("o", n, "x")
	}
	_, guids := h.take(t, s)
	c := rest{t, s, appToken(t, s, time.Minute)}
	_, head, out := c.do("GET", "/app/hook/deliveries?per_page=100", "")
	list := out["list"].([]any)
	newest := list[0].(map[string]any)
	if len(list) != 100 || newest["guid"] != guids[129] || !strings.Contains(head.Get("Link"), "cursor=") {
		t.Fatalf("%d %v %s", len(list), newest, head.Get("Link"))
	}
	_, cursor, _ := strings.Cut(head.Get("Link"), "cursor=")
	cursor, _, _ = strings.Cut(cursor, ">")
	if _, _, out := c.do("GET", "/app/hook/deliveries?cursor="+cursor, ""); len(out["list"].([]any)) != 30 {
		t.Errorf("second page: %d", len(out["list"].([]any)))
	}
	path := fmt.Sprintf("/app/hook/deliveries/%d", int64(newest["id"].(float64)))
	if got := c.want(200, "GET", path, ""); got["request"].(map[string]any)["payload"].(map[string]any)["action"] != "created" {
		t.Errorf("%v", got)
	}
	c.want(202, "POST", path+"/attempts", "")
	if _, again := h.take(t, s); len(again) != 1 || again[0] != guids[129] {
		t.Errorf("%v", again)
	}
	c.want(404, "POST", "/app/hook/deliveries/1/attempts", "")
}
