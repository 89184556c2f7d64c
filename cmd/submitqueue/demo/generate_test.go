package demo

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/queue/storetest"
)

func mustGenerate(t *testing.T, size Size) *Plan {
	t.Helper()
	p, err := Generate(size)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestGenerateIsDeterministic(t *testing.T) {
	a, b := mustGenerate(t, Size{Seed: 7, Changes: 60}), mustGenerate(t, Size{Seed: 7, Changes: 60})
	if diff := cmp.Diff(a, b); diff != "" {
		t.Error(diff)
	}
	if c := mustGenerate(t, Size{Seed: 8, Changes: 60}); cmp.Equal(a, c) {
		t.Error("another seed made the same plan")
	}
	if _, err := Generate(Size{Changes: MinChanges - 1}); err == nil {
		t.Error("too few changes were accepted")
	}
}

func TestGenerateShowsEveryKind(t *testing.T) {
	for _, n := range []int{MinChanges, 13, 23, 24, 25, 47, 48, 300} {
		p := mustGenerate(t, Size{Seed: uint64(n), Changes: n})
		if len(p.Changes) != n {
			t.Errorf("%d changes, want %d", len(p.Changes), n)
		}
		count, pairs, branches := map[Kind]int{}, map[string]int{}, map[string]bool{}
		for _, c := range p.Changes {
			count[c.Kind]++
			branches[c.Branch] = true
			if c.Pair != "" {
				pairs[c.Pair]++
			}
			if c.Author == "" || c.Title == "" || len(c.Files) == 0 || c.Expect == "" {
				t.Errorf("incomplete: %+v", c)
			}
		}
		if p.Changes[0].Kind != KindSlow || count[KindSlow] != 1 {
			t.Errorf("%d: the one slow change must come first", n)
		}
		for _, k := range []Kind{KindDocs, KindCompile, KindFailing, KindOverlap, KindRename, KindBehaviour, KindMerge} {
			if count[k] == 0 {
				t.Errorf("%d: no %s", n, k)
			}
		}
		if n >= 24 && count[KindGood] < n/4 {
			t.Errorf("%d: only %d good ones", n, count[KindGood])
		}
		for pair, size := range pairs {
			if size != 2 {
				t.Errorf("%d: %s has %d changes", n, pair, size)
			}
		}
		if len(branches) != n {
			t.Errorf("%d: %d different branches", n, len(branches))
		}
	}
}

// Only changes of one group may edit the same file; and nothing of a template
// may be left in what it made.
func TestGenerateKeepsChangesApart(t *testing.T) {
	placeholder := regexp.MustCompile(`\{\{(noun|Noun|n|m|slow)\}\}`)
	p := mustGenerate(t, Size{Seed: 3, Changes: 300})
	owner := map[string]string{}
	for _, c := range p.Changes {
		group := c.Branch[strings.Index(c.Branch, "/")+1:]
		for _, part := range parts() {
			group = strings.TrimSuffix(group, "-"+part)
		}
		for name, data := range c.Files {
			if other, ok := owner[name]; ok && other != group {
				t.Errorf("%s is edited by %s and %s", name, other, group)
			}
			owner[name] = group
			if left := placeholder.FindString(name + data + c.Title + c.Body); left != "" {
				t.Errorf("a placeholder is left in %s of %s", name, c.Branch)
			}
			if p.Base[name] == data {
				t.Errorf("%s of %s is not edited", name, c.Branch)
			}
		}
	}
}

func TestGeneratedConfigurationIsValid(t *testing.T) {
	p := mustGenerate(t, Size{Seed: 1, Changes: MinChanges})
	c, err := config.Parse(config.Path, []byte(p.Base[config.Path]))
	if err != nil {
		t.Fatal(err)
	}
	if c.Analysis.Analyzer != "go" || len(c.Steps) != 1 || c.Steps[0].Report != config.ReportGoTestJSON {
		t.Errorf("%+v", c)
	}
}

func TestScenariosAreRead(t *testing.T) {
	for text, want := range map[string]string{
		"kind: good\n-- one/a --\n":         "",
		"kind: best\n-- one/a --\n":         `no kind "best"`,
		"kind: good\n-- two/a --\n":         "parts are not",
		"nonsense\n-- one/a --\n":           "cannot read",
		"kind: good\n-- base/a --\nx\ny\n":  "",
		"kind: good\n-- other/a --\nx\ny\n": "parts are not",
	} {
		_, err := parseScenario(text)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// The plan's claims, checked with real git and the real Go: what is to land
// merges and passes together, whichever half of each pair is in it; what is to
// fail fails alone; the halves of a pair fail together or do not merge. One of a kind is
// tried always, and all where SUBMITQUEUE_REQUIRE names "long".
func TestPlanIsTrue(t *testing.T) {
	storetest.OneOf(t, 2)
	if testing.Short() {
		t.Skip("runs go test about ten times")
	}
	t.Setenv("GOFLAGS", os.Getenv("GOFLAGS")+" -trimpath") // what was built in another folder is built
	p := mustGenerate(t, Size{Seed: 5, Changes: 24, Slow: 20 * time.Millisecond})
	dir := mustRepository(t, p.Base)
	halves := map[string][]string{}
	var lands, fails []string
	kinds := map[string]Kind{}
	for _, c := range p.Changes {
		mustBranch(t, dir, c.Branch, c.Title, c.Files)
		kinds[c.Branch] = c.Kind
		switch c.Expect {
		case ExpectLand:
			lands = append(lands, c.Branch)
		case ExpectBuildFailure:
			fails = append(fails, c.Branch)
		default:
			halves[c.Pair] = append(halves[c.Pair], c.Branch)
		}
	}
	check := func(want bool, command string, branches ...string) {
		t.Helper()
		mustGit(t, dir, "checkout", "--quiet", "--detach", "main")
		mustMerge(t, dir, branches...)
		ok, tail, err := shell(t.Context(), dir, command)
		if err != nil || ok != want {
			t.Errorf("%v: passes: %v, want %v, %v\n%s", branches, ok, want, err, tail)
		}
	}
	all := GoCheck().Command
	// A part is enough to see a failure, and cheaper.
	part := "go vet ./orders ./invoice ./notify ./report && go test ./orders ./invoice ./notify ./report"
	check(true, all)
	if !storetest.Required("long") { // the real Go takes seconds for each
		fails = fails[:1]
	}
	for half := range 2 {
		if half == 1 && !storetest.Required("long") {
			break
		}
		branches := slices.Clone(lands)
		for _, pair := range slices.Sorted(maps.Keys(halves)) {
			branches = append(branches, halves[pair][half])
		}
		check(true, all, branches...)
	}
	for _, branch := range fails {
		check(false, part, branch)
	}
	for _, pair := range halves {
		if kinds[pair[0]] != KindMerge {
			check(false, part, pair...)
			continue
		}
		if _, err := git(t.Context(), dir, "merge-tree", "--write-tree", pair[0], pair[1]); err == nil {
			t.Errorf("%v merge", pair)
		}
	}
}
