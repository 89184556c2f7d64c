package access_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/app/access"
)

func noon() time.Time { return time.Date(2026, 12, 24, 12, 0, 0, 0, time.UTC) }

func mustAdd(t *testing.T, dir, name string, role access.Role, expires time.Time) (secret string) {
	t.Helper()
	secret, err := access.NewTokens(dir).Add(access.Token{Name: name, Role: role, Made: noon(), Expires: expires})
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

func mustDoors(t *testing.T, o access.Options) *access.Doors {
	t.Helper()
	d, err := access.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestRoles(t *testing.T) {
	roles := []access.Role{"", access.Read, access.Land, access.Admin}
	for i, have := range roles {
		for j, want := range roles {
			if got := have.May(want); got != (j > 0 && i >= j) {
				t.Errorf("%q may %q: %t", have, want, got)
			}
		}
	}
	if _, err := access.ParseRole("write"); err == nil || !strings.Contains(err.Error(), "read, land and admin") {
		t.Errorf("a role that is none: %v", err)
	}
	if access.Role("root").May("root") {
		t.Error("a role that nobody knows lets in")
	}
}

// A token counts from the moment it is there to the one it is removed, or expires, with
// nobody told of it.
func TestTokensCountAtOnce(t *testing.T) {
	dir := t.TempDir()
	d := mustDoors(t, access.Options{Dir: dir})
	if _, ok := d.Bearer("sq_nothing", noon()); ok {
		t.Error("a token without any")
	}
	ann := mustAdd(t, dir, "ann", access.Land, noon().Add(time.Hour))
	bob := mustAdd(t, dir, "bob", access.Read, time.Time{})
	for secret, want := range map[string]string{ann: "ann land", bob: "bob read", ann + "x": " ", strings.ToLower(ann): " ", "": " "} {
		c, ok := d.Bearer(secret, noon())
		if got := c.Name + " " + string(c.Role); got != want || ok != (want != " ") {
			t.Errorf("%q: %q, want %q", secret, got, want)
		}
	}
	if _, ok := d.Bearer(ann, noon().Add(time.Hour)); ok {
		t.Error("a token counts after its expiry")
	}
	if _, ok := d.Bearer(bob, noon().Add(100*365*24*time.Hour)); !ok {
		t.Error("a token that never expires does")
	}
	must(t, access.NewTokens(dir).Remove("bob", noon()))
	if _, ok := d.Bearer(bob, noon()); ok {
		t.Error("a token counts after it was removed")
	}
	if err := access.NewTokens(dir).Remove("bob", noon()); !errors.Is(err, access.ErrNoToken) {
		t.Errorf("removed twice: %v", err)
	}
}

// The files hold nothing that lets anybody in, and are their owner's alone.
func TestFilesHoldNoSecrets(t *testing.T) {
	dir := t.TempDir()
	ann := mustAdd(t, dir, "ann", access.Land, time.Time{})
	d := mustDoors(t, access.Options{Dir: dir, Own: "the server's own one"})
	c, _ := d.Bearer(ann, noon())
	cookie, _, err := d.Open(c, noon())
	must(t, err)
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	must(t, err)
	if len(files) != 3 {
		t.Errorf("the folder has %v", files)
	}
	for _, f := range files {
		info, err := os.Stat(f)
		must(t, err)
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", f, info.Mode())
		}
		text, err := os.ReadFile(f)
		must(t, err)
		for _, secret := range []string{ann, strings.TrimPrefix(ann, "sq_"), cookie, "own one"} {
			if strings.Contains(string(text), secret) {
				t.Errorf("%s holds a secret", f)
			}
		}
	}
}

func TestNamesOfTokens(t *testing.T) {
	dir := t.TempDir()
	tokens := access.NewTokens(dir)
	for _, name := range []string{"", "two words", "a\nb", "console", "Console", "submitqueue", "-v", strings.Repeat("x", 101)} {
		if _, err := tokens.Add(access.Token{Name: name, Role: access.Read, Made: noon()}); err == nil {
			t.Errorf("%q is a name", name)
		}
	}
	mustAdd(t, dir, "ann", access.Read, noon().Add(time.Minute))
	if _, err := tokens.Add(access.Token{Name: "Ann", Role: access.Read, Made: noon()}); err == nil || !strings.Contains(err.Error(), "remove") {
		t.Errorf("two tokens of one name: %v", err)
	}
	if _, err := tokens.Add(access.Token{Name: "ann", Role: access.Read, Made: noon().Add(time.Hour)}); err != nil {
		t.Errorf("in the place of one that has expired: %v", err)
	}
	if _, err := tokens.Add(access.Token{Name: "bob", Role: "root", Made: noon()}); err == nil {
		t.Error("a role that is none")
	}
	list, err := tokens.List()
	if err != nil || len(list) != 1 || list[0].Made != noon().Add(time.Hour) {
		t.Errorf("%v %v", list, err)
	}
}

// Several that write at one time lose nothing.
func TestTokensAreAddedAtTheSameTime(t *testing.T) {
	dir := t.TempDir()
	var adds sync.WaitGroup
	for i := range 12 {
		adds.Go(func() {
			if _, err := access.NewTokens(dir).Add(access.Token{Name: fmt.Sprint("n", i), Role: access.Read, Made: noon()}); err != nil {
				t.Error(err)
			}
		})
	}
	adds.Wait()
	if list, err := access.NewTokens(dir).List(); err != nil || len(list) != 12 {
		t.Errorf("%d tokens, %v", len(list), err)
	}
}

// A file that cannot be read lets nobody in, says so, and is not written over.
func TestTokensThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	d := mustDoors(t, access.Options{Dir: dir, Own: "own", Owner: "root"})
	ann := mustAdd(t, dir, "ann", access.Admin, time.Time{})
	cookie, _, ok, err := d.SignIn(ann, noon())
	if !ok || err != nil {
		t.Fatalf("%t %v", ok, err)
	}
	path := filepath.Join(dir, "tokens.json")
	for _, text := range []string{`{"version":1,"tokens":[`, `{"version":9,"tokens":[]}`, ""} {
		must(t, os.WriteFile(path, []byte(text), 0o600))
		if _, ok := d.Bearer(ann, noon()); ok {
			t.Errorf("%q lets in", text)
		}
		if _, ok := d.Session(cookie, noon()); ok {
			t.Errorf("%q lets a session in", text)
		}
		if err := d.TokensErr(); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%q: %v", text, err)
		}
		if _, err := access.NewTokens(dir).Add(access.Token{Name: "bob", Role: access.Read, Made: noon()}); err == nil {
			t.Errorf("%q is written over", text)
		}
		if _, ok := d.Bearer("own", noon()); !ok {
			t.Errorf("%q locks the server's own token out", text)
		}
	}
}

// A session reads until it ends by itself, with its token, or when its browser signs out; a
// restart is no end.
func TestSessions(t *testing.T) {
	dir := t.TempDir()
	o := access.Options{Dir: dir, Own: "own", Owner: "root"}
	d := mustDoors(t, o)
	ann := mustAdd(t, dir, "ann", access.Admin, time.Time{})
	byToken, s, ok, err := d.SignIn(ann, noon())
	if !ok || err != nil || s.Name != "ann" {
		t.Fatalf("%+v %t %v", s, ok, err)
	}
	byOwn, _, _, err := d.SignIn("own", noon())
	must(t, err)
	byStart, s, err := d.Open(access.Caller{}, noon())
	if err != nil || s.Name != access.Console {
		t.Fatalf("%+v %v", s, err)
	}
	if _, _, ok, _ := d.SignIn("wrong", noon()); ok {
		t.Error("a wrong token signs in")
	}
	counts := func(d *access.Doors, value string, now time.Time) bool {
		_, ok := d.Session(value, now)
		return ok
	}
	again := mustDoors(t, o)
	if again.CookieName() != d.CookieName() {
		t.Errorf("%s, and after a restart %s", d.CookieName(), again.CookieName())
	}
	for name, value := range map[string]string{"a token's": byToken, "the server's": byOwn, "a link's": byStart} {
		if !counts(again, value, noon()) || !counts(again, value, noon().Add(access.SessionLife-time.Second)) || counts(again, value, noon().Add(access.SessionLife)) {
			t.Errorf("%s session does not last as long as it should", name)
		}
	}
	for _, value := range []string{"", "x", byToken + "x"} {
		if counts(again, value, noon()) {
			t.Errorf("%q is a session", value)
		}
	}
	if other := mustDoors(t, access.Options{Dir: dir, Own: "another"}); counts(other, byOwn, noon()) || !counts(other, byStart, noon()) {
		t.Error("a session outlives the token that opened it, or ends with another")
	}
	must(t, access.NewTokens(dir).Remove("ann", noon()))
	if counts(again, byToken, noon()) {
		t.Error("a session outlives its token")
	}
	mustAdd(t, dir, "ann", access.Admin, time.Time{})
	if counts(again, byToken, noon()) {
		t.Error("a session comes back with another token of its name")
	}
	must(t, again.SignOut(byStart))
	if counts(again, byStart, noon()) || counts(mustDoors(t, o), byStart, noon()) {
		t.Error("a session counts after its browser has signed out")
	}
	must(t, access.NewTokens(dir).Remove(access.Console, noon().Add(time.Minute)))
	if counts(again, byOwn, noon().Add(time.Hour)) {
		t.Error("the console's sessions outlive their end")
	}
	if later, _, _, _ := again.SignIn("own", noon().Add(time.Hour)); !counts(again, later, noon().Add(time.Hour)) {
		t.Error("the console has no sessions after that")
	}
}

// A person who opens many sessions ends only their own.
func TestSessionsAreBounded(t *testing.T) {
	dir := t.TempDir()
	d := mustDoors(t, access.Options{Dir: dir})
	ann, bob := mustAdd(t, dir, "ann", access.Read, time.Time{}), mustAdd(t, dir, "bob", access.Read, time.Time{})
	his, _, _, err := d.SignIn(bob, noon())
	must(t, err)
	first, _, _, err := d.SignIn(ann, noon())
	must(t, err)
	for range 50 {
		_, _, _, err := d.SignIn(ann, noon())
		must(t, err)
	}
	if _, ok := d.Session(first, noon()); ok {
		t.Error("the first of 51 sessions counts")
	}
	if _, ok := d.Session(his, noon()); !ok {
		t.Error("somebody else's session has ended")
	}
}

// A link opens one session, within its hour, for this start of the server.
func TestLinks(t *testing.T) {
	dir := t.TempDir()
	o := access.Options{Dir: dir, Own: "own", Owner: "root"}
	d := mustDoors(t, o)
	redeems := func(d *access.Doors, code string, now time.Time) bool {
		value, _, ok, err := d.Redeem(code, now)
		must(t, err)
		if _, in := d.Session(value, now); in != ok {
			t.Errorf("redeemed %t, in %t", ok, in)
		}
		return ok
	}
	code, until := d.Link(access.Caller{}, noon())
	if until != noon().Add(access.LinkLife) || !d.Opens(code, noon()) || !d.Opens(code, noon()) || d.Opens("x", noon()) {
		t.Error("to look at a link uses it up, or another opens")
	}
	if !redeems(d, code, noon()) || redeems(d, code, noon()) || d.Opens(code, noon()) {
		t.Error("a link opens other than once")
	}
	late, _ := d.Link(access.Caller{}, noon())
	if d.Opens(late, until) || redeems(d, late, until) {
		t.Error("a link opens after its hour")
	}
	mustAdd(t, dir, "x", access.Read, time.Time{})
	ann := mustAdd(t, dir, "ann", access.Read, time.Time{})
	c, _ := d.Bearer(ann, noon())
	hers, _ := d.Link(c, noon())
	console, _ := d.Link(access.Caller{}, noon())
	must(t, access.NewTokens(dir).Remove("ann", noon()))
	must(t, access.NewTokens(dir).Remove(access.Console, noon()))
	if redeems(d, hers, noon()) || redeems(d, console, noon().Add(time.Minute)) {
		t.Error("a link opens for a token that is gone")
	}
	if restarted, _ := d.Link(access.Caller{}, noon()); redeems(mustDoors(t, o), restarted, noon()) {
		t.Error("a link outlives the server")
	}
	first, _ := d.Link(access.Caller{}, noon())
	for range 100 {
		d.Link(access.Caller{}, noon())
	}
	if d.Opens(first, noon()) {
		t.Error("there is no end of links")
	}
	var opened sync.WaitGroup
	times := make(chan bool, 20)
	race, _ := d.Link(access.Caller{}, noon().Add(time.Second))
	for range cap(times) {
		opened.Go(func() {
			if _, _, ok, _ := d.Redeem(race, noon().Add(time.Second)); ok {
				times <- true
			}
		})
	}
	opened.Wait()
	if len(times) != 1 {
		t.Errorf("a link has opened %d sessions", len(times))
	}
}

// Sessions that cannot be read are none, and those that cannot be written end with the server.
func TestSessionsThatCannotBeKept(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "sessions.json"), []byte("{"), 0o600))
	d, err := access.New(access.Options{Dir: dir, Own: "own"})
	if err == nil {
		t.Error("sessions that cannot be read are not told of")
	}
	if _, _, ok, err := d.SignIn("own", noon()); !ok || err != nil {
		t.Errorf("%t %v", ok, err)
	}
	gone, err := access.New(access.Options{Dir: filepath.Join(dir, "gone"), Own: "own"})
	must(t, err)
	value, _, ok, err := gone.SignIn("own", noon())
	if !ok || err == nil {
		t.Errorf("%t %v, want a session and why it is not kept", ok, err)
	}
	if _, ok := gone.Session(value, noon()); !ok {
		t.Error("it does not count")
	}
}
