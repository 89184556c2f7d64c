package mirror_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
)

func TestSquashHasTheMergesTreeAndOneParent(t *testing.T) {
	t.Parallel()
	_, m, base, a, b, _ := world(t)
	merge := must(m.Merges.MergeChain(t.Context(), base, []mirror.Pick{pick("", a), pick("", b)}))(t)
	first, second := pick("", a), pick("", b)
	first.Squash, second.Squash = true, true
	first.Author = mirror.AuthorOf("Ann <x>\n", "ann@example.org")
	squash := must(m.Merges.MergeChain(t.Context(), base, []mirror.Pick{first, second}))(t)
	flush(t, m)
	at := base
	for i, s := range squash {
		if s.Tree != merge[i].Tree || s.Commit == merge[i].Commit {
			t.Errorf("%d: squash %+v, merge %+v", i, s, merge[i])
		}
		raw := (&repo{t, m.Dir()}).run("", "cat-file", "commit", string(s.Commit))
		if n := strings.Count(raw, "\nparent "); n != 1 || !strings.Contains(raw, "\nparent "+string(at)+"\n") {
			t.Errorf("%d: %s", i, raw)
		}
		if i == 0 && !strings.Contains(raw, "\nauthor Ann x <ann@example.org> 1800000000 +0000\ncommitter SubmitQueue <") {
			t.Error(raw)
		}
		(&repo{t, m.Dir()}).run("", "fsck", "--strict", string(s.Commit))
		at = s.Commit
	}
	again := first
	again.Parent = squash[0].Commit
	if got := must(m.Merges.MergeWave(t.Context(), []mirror.Pick{again}))(t); !got[0].Empty || got[0].Contained {
		t.Errorf("squashed once more: %+v", got[0])
	}
}

// A head on top of one that was squashed brings what it adds to that one: plain
// git sees both change the same line.
func TestOnTopOfWhatWasSquashed(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.commit("main", "base", files{"f": lines(20, nil)})
	low := r.commit("low", "low", files{"f": lines(20, map[int]string{3: "low"})}, base)
	high := r.commit("high", "high", files{"f": lines(20, map[int]string{3: "high"})}, low)
	m := r.fetched("low", "high")
	first := pick(base, low)
	first.Squash = true
	landed := must(m.Merges.MergeWave(t.Context(), []mirror.Pick{first}))(t)[0].Commit

	plain := pick(landed, high)
	if got := must(m.Merges.MergeWave(t.Context(), []mirror.Pick{plain}))(t); got[0].Clean() {
		t.Fatal("git merges it, so that this tests nothing")
	}
	plain.Below, plain.Squash = low, true
	got := must(m.Merges.MergeWave(t.Context(), []mirror.Pick{plain}))(t)[0]
	if want := r.run("", "rev-parse", string(high)+"^{tree}"); string(got.Tree) != strings.TrimSpace(want) {
		t.Errorf("%+v, want the tree of %s", got, high)
	}
}

func TestOwnCommits(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.commit("main", "base", files{"f": "f\n"})
	one := r.commit("topic", "one\n\nSigned-off-by: A <a@x>\nCo-authored-by: B <b@x>", files{"g": "1\n"}, base)
	two := r.commit("topic", "two", files{"g": "2\n"}, one)
	m := r.fetched("topic")
	own := must(m.History.Own(t.Context(), base, two))(t)
	if len(own) != 2 || own[0].Commit != one || own[1].Subject() != "two" || own[0].Trailers("co-authored-by")[0] != "B <b@x>" || own[0].Address == "" {
		t.Errorf("%+v", own)
	}
	if own := must(m.History.Own(t.Context(), base, two, one))(t); len(own) != 1 || own[0].Commit != two {
		t.Errorf("%+v", own)
	}
	if _, err := m.History.Own(t.Context(), base, queue.CommitID("--all")); err == nil || errors.Is(err, mirror.ErrTooMany) {
		t.Error(err)
	}
}

func TestRebaseKeepsAuthorsAndMessages(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.commit("main", "base", files{"f": lines(50, nil), "g": "g\n"})
	one := r.commit("topic", "one\n\nWhy.\n\nSigned-off-by: A <a@x>\nChange: 9.ff\nHead: "+strings.Repeat("1", 40), files{"f": lines(50, map[int]string{3: "one"})}, base)
	same := r.commit("topic", "what main has too", files{"g": "G\n"}, one)
	two := r.commit("topic", "two", files{"f": lines(50, map[int]string{3: "one", 30: "two"}), "h": "h\n"}, same)
	main := r.commit("main", "moved", files{"f": lines(50, map[int]string{45: "main"}), "g": "G\n"}, base)
	m := r.fetched("topic")
	p := mirror.Pick{Parent: main, Head: two, Rebase: true, Message: "Change: 1.aa\nHead: " + string(two) + "\n", Date: 1_800_000_000_000}
	got := must(m.Merges.MergeWave(t.Context(), []mirror.Pick{p}))(t)[0]
	plain := must(m.Merges.MergeWave(t.Context(), []mirror.Pick{pick(main, two)}))(t)[0]
	if got.Tree != plain.Tree || len(got.Between) != 1 {
		t.Fatalf("%+v, want the tree of %+v and one commit before", got, plain)
	}
	flush(t, m)
	shown := &repo{t, m.Dir()}
	first, last := shown.run("", "cat-file", "commit", string(got.Between[0])), shown.run("", "cat-file", "commit", string(got.Commit))
	if !strings.HasSuffix(strings.TrimSpace(first), "\n\none\n\nWhy.\n\nSigned-off-by: A <a@x>") || !strings.Contains(first, "\nparent "+string(main)+"\n") {
		t.Error(first)
	}
	if !strings.HasSuffix(strings.TrimSpace(last), "\n\ntwo\n\nChange: 1.aa\nHead: "+string(two)) || !strings.Contains(last, "\nparent "+string(got.Between[0])+"\n") {
		t.Error(last)
	}
	own := shown.run("", "log", "-1", "--format=%an <%ae> %ad", string(two))
	if now := shown.run("", "log", "-1", "--format=%an <%ae> %ad", string(got.Commit)); now != own {
		t.Errorf("the author is %s, and was %s", now, own)
	}
	shown.run("", "fsck", "--strict", string(got.Commit))
	if again := must(r.fetched("topic").Merges.MergeWave(t.Context(), []mirror.Pick{p}))(t)[0]; again.Commit != got.Commit {
		t.Errorf("once %s, once %s", got.Commit, again.Commit)
	}
	joined := p
	joined.Joined, joined.Message = true, "Merge it\n\n"+p.Message
	semi := must(m.Merges.MergeWave(t.Context(), []mirror.Pick{joined}))(t)[0]
	flush(t, m)
	if parents := strings.Fields(shown.run("", "log", "-1", "--format=%P", string(semi.Commit))); semi.Tree != got.Tree || len(semi.Between) != 0 || len(parents) != 2 || parents[0] != string(main) {
		t.Errorf("%+v, its parents are %v", semi, parents)
	}
	if of := shown.run("", "log", "--reverse", "--format=%an %s%n%(trailers:only)", string(main)+".."+string(semi.Commit)+"^2"); strings.Contains(of, "Change:") || strings.Contains(of, "Head:") || !strings.Contains(of, "Signed-off-by") {
		t.Errorf("what it merges says\n%s", of)
	}
	if said := shown.run("", "log", "-1", "--format=%B", string(semi.Commit)); strings.TrimSpace(said) != strings.TrimSpace(joined.Message) {
		t.Errorf("it says\n%s", said)
	}
	shown.run("", "fsck", "--strict", string(semi.Commit))
	joined.Parent = semi.Commit
	if again := must(m.Merges.MergeWave(t.Context(), []mirror.Pick{joined}))(t)[0]; !again.Empty {
		t.Errorf("once more: %+v", again)
	}
	p.Parent = got.Commit
	if again := must(m.Merges.MergeWave(t.Context(), []mirror.Pick{p}))(t)[0]; !again.Empty {
		t.Errorf("once more: %+v", again)
	}
	clash := r.commit("clash", "clash", files{"f": lines(50, map[int]string{45: "clash"})}, base)
	r.fetch(m, "clash")
	if got := must(m.Merges.MergeWave(t.Context(), []mirror.Pick{{Parent: main, Head: clash, Rebase: true, Message: "x"}}))(t)[0]; got.Clean() || len(got.Conflicts) != 1 {
		t.Errorf("%+v", got)
	}
}

func TestFastForward(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.commit("main", "base", files{"f": "f\n"})
	one := r.commit("topic", "one", files{"g": "1\n"}, base)
	two := r.commit("topic", "two", files{"g": "2\n"}, one)
	moved := r.commit("main", "moved", files{"h": "h\n"}, base)
	side := r.commit("side", "main merged into it", files{"g": "2\n", "h": "h\n"}, two, moved)
	m := r.fetched("topic", "side")
	at := func(parent, head queue.CommitID) mirror.Merged {
		return must(m.Merges.MergeWave(t.Context(), []mirror.Pick{{Parent: parent, Head: head, FastForward: true, Message: "x"}}))(t)[0]
	}
	if got := at(base, two); got.Commit != two || len(got.Between) != 1 || got.Between[0] != one {
		t.Errorf("%+v", got)
	}
	if got := at(moved, two); got.Clean() || got.Refused == "" {
		t.Errorf("main has moved: %+v", got)
	}
	if got := at(moved, side); got.Clean() || got.Refused == "" {
		t.Errorf("main is not on its first-parent line: %+v", got)
	}
	if got := at(two, one); !got.Empty || !got.Contained {
		t.Errorf("it is there: %+v", got)
	}
}
