package texts_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

var updateTexts = flag.Bool("update-texts", false, "write the golden files of the texts' tests")

// textNow is the moment at which all texts of these tests are rendered.
var textNow = queue.At(time.Date(2026, 9, 1, 14, 5, 0, 0, time.UTC))

func textOptions() texts.Options {
	return texts.Options{BaseURL: "https://queue.example.com", RepoURL: "https://github.com/acme/shop",
		Queue: "acme/shop@main", Now: textNow, Words: texts.Words{Branch: "main"}}
}

func textChange(phase queue.Phase, reason queue.Reason) queue.Change {
	return queue.Change{ID: "42.1f8e0c3a", Number: 42, Head: "1f8e0c3a5b7d9e11223344556677889900aabbcc", Title: "Faster checkout", Branch: "ann/checkout",
		Author: "ann", Requester: "bob", URL: "https://github.com/acme/shop/pull/42", Arrival: textNow.Add(-20 * time.Minute),
		Phase: phase, Reason: reason}
}

func reason(code queue.ReasonCode, names ...string) queue.Reason {
	return queue.Reason{Code: code, Names: names}
}

func textStates() map[string]queue.View {
	build := func(id string, started time.Duration, chain ...queue.ChangeID) queue.BuildView {
		b := queue.Build{ID: queue.BuildID(id), Change: "42.1f8e0c3a", Chain: chain, Jobs: []queue.Job{{Step: config.Step{Name: "unit"}}, {Step: config.Step{Name: "lint"}}, {Step: config.Step{Name: "browser"}}}}
		if started > 0 {
			b.Started = textNow.Add(-started)
		}
		return queue.BuildView{Build: b, Done: 1}
	}
	failed := textChange(queue.Rejected, reason(queue.ReasonFailed, "unit"))
	failed.Verdict = &queue.Verdict{Commit: "77aa88bb99cc00112233445566778899aabbccdd", Keys: 14, Failures: []queue.Evidence{
		{Step: "unit", Run: "go vet {targets} && go test -json {targets}", Targets: []string{"./core", "./api"}, Build: "b1d2c3e4f5a6b7c8", Attempts: 2,
			Ran:  queue.Ran{Change: "42.1f8e0c3a", Commit: "55aa88bb99cc00112233445566778899aabbccdd", Main: "66aa88bb99cc00112233445566778899aabbccdd"},
			Tail: "[submitqueue] step unit: go vet './core' './api' && go test -json './core' './api'\n=== RUN   TestCart\n    cart_test.go:41: total is 0\n\x1b[31m--- FAIL: TestCart\x1b[0m (0.01s)\n"},
		{Step: "lint", Run: "make lint", Targets: []string{config.TargetTree}, Build: "c1d2c3e4f5a6b7c8", Timeout: true, Attempts: 2,
			Ran: queue.Ran{Change: "51.cc", Commit: "44aa88bb99cc00112233445566778899aabbccdd", Main: "66aa88bb99cc00112233445566778899aabbccdd",
				Chain: []queue.ChangeID{"12.aa", "42.1f8e0c3a"}}},
	}}
	pair := failed
	pair.Verdict = &queue.Verdict{Commit: failed.Verdict.Commit, Keys: 14, Failures: slices.Clone(failed.Verdict.Failures)}
	pair.Verdict.Failures[0].Partners, pair.Verdict.Failures[0].Good = []queue.ChangeID{"12.aa"}, textNow.Add(-20*time.Minute)
	pair.Verdict.Failures[1].Partners = []queue.ChangeID{"12.aa", "14.bb"}
	cfg := textChange(queue.Rejected, reason(queue.ReasonFailed, config.Path))
	cfg.Verdict = &queue.Verdict{Failures: []queue.Evidence{{Step: config.Path, Run: `printf '%s\n' "$CONFIG_ERROR"; exit 1`, Targets: []string{config.TargetTree},
		Build: "b1d2c3e4f5a6b7c8", Attempts: 2, Ran: queue.Ran{Change: "42.1f8e0c3a", Commit: "55aa"},
		Tail: "[submitqueue] step .submitqueue.yml: printf '%s\\n' \"$CONFIG_ERROR\"; exit 1\n.submitqueue.yml:7:3: unknown key \"stepz\" (did you mean \"steps\"?)\n[submitqueue] failed after 2ms: exit status 1\n"}}}
	conflict := textChange(queue.Rejected, reason(queue.ReasonMergeConflict, "core/cart.go", "go.sum"))
	conflict.Verdict = &queue.Verdict{Commit: "77aa", Conflicts: []string{"core/cart.go", "go.sum"}}
	unsafe := textChange(queue.Rejected, queue.Reason{Code: queue.ReasonMergeConflict,
		Detail: "the branch holds a merge commit with changes of its own (core/cart.go): land it by squash or merge, or rebase the branch"})
	unsafe.Method, unsafe.Verdict = config.MethodRebase, &queue.Verdict{Commit: "77aa"}
	tested := textChange(queue.Landed, reason(queue.ReasonLanded))
	tested.Verdict = &queue.Verdict{Commit: "99cc00112233445566778899aabbccdd77aa88bb", Tested: true, Keys: 14}
	derived := textChange(queue.Landed, reason(queue.ReasonLanded))
	derived.Verdict = &queue.Verdict{Commit: "99cc00112233445566778899aabbccdd77aa88bb", Keys: 14, Reused: 9,
		Overtook: 2, Bypassed: []queue.ChangeID{"12.aa", "14.bb"}, Attempts: 3, MainRed: 1}
	parked := textChange(queue.Parked, queue.Reason{Code: queue.ReasonInfra, Detail: "runner mac-3: disk full\nno space left on device"})
	parked.Until = textNow.Add(10 * time.Minute)
	previous := textChange(queue.Rejected, reason(queue.ReasonFailed, "unit"))
	previous.Head = "00112233445566778899"
	notice := func(why queue.Reason, to string) queue.View {
		return queue.View{Change: queue.Change{Number: 42}, Notice: why, NoticeTo: to}
	}
	entered := textChange(queue.Pending, queue.Reason{})
	together := textChange(queue.Landed, reason(queue.ReasonLanded))
	together.Verdict = &queue.Verdict{Commit: "99cc00112233445566778899aabbccdd77aa88bb", Tested: true, Keys: 14, Together: []queue.ChangeID{"12.aa", "14.bb"}}
	shared := build("b1d2c3e4f5a6b7c8", 11*time.Minute, "51.cc")
	shared.Build.Also = []queue.ChangeID{"12.aa", "14.bb"}
	stacked := textChange(queue.Pending, queue.Reason{})
	stacked.Parent, stacked.Base = 12, "ann/core"
	leaning := func(names ...string) queue.View {
		c := textChange(queue.Parked, reason(queue.ReasonParent, names...))
		c.Parent = 12
		return queue.View{Change: c}
	}
	trying := textChange(queue.Trying, reason(queue.ReasonTrying))
	trying.On = "66aa88bb99cc00112233445566778899aabbccdd"
	tried := textChange(queue.Tried, reason(queue.ReasonTried))
	tried.On, tried.Verdict = trying.On, &queue.Verdict{Commit: "99cc", Tested: true, Keys: 14, Reused: 9}
	triedBad := failed
	triedBad.Phase, triedBad.On = queue.Tried, trying.On
	triedStuck := textChange(queue.Tried, queue.Reason{Code: queue.ReasonInfra, Detail: "disk full"})
	triedStuck.On = trying.On
	would := textChange(queue.Tried, reason(queue.ReasonExplained))
	would.On, would.Touches.Targets = trying.On, 3
	would.Would = &queue.Would{Unmet: reason(queue.ReasonDraft), Pending: 7, More: 2, Conflicts: []queue.Conflict{
		{With: "12.aa", Kind: queue.ConflictTarget, Witnesses: []string{"./core"}}}}
	again := would
	again.Would = &queue.Would{Failed: []string{"unit", "vet"}}
	urgent := entered
	urgent.Now = &queue.Emergency{By: "ada", Reason: "the shop is down @all", At: textNow.Add(-time.Minute)}
	late := build("b1d2c3e4f5a6b7c8", 11*time.Minute)
	late.Usual = 3 * time.Minute
	return map[string]queue.View{
		"analyzing": {Change: textChange(queue.Analyzing, reason(queue.ReasonAnalyzing)), Waits: []queue.Reason{reason(queue.ReasonAnalyzing)}},
		"pending": {Change: entered, Position: 3, Total: 7,
			Waits: []queue.Reason{reason(queue.ReasonWaitsAhead, "12.aa", "14.bb"), reason(queue.ReasonWaitsBuild, "b1d2c3e4f5a6b7c8", "c1d2c3e4f5a6b7c8")},
			Ahead: []queue.ChangeID{"12.aa", "14.bb"},
			Conflicts: []queue.Conflict{{With: "12.aa", Kind: queue.ConflictTarget, Witnesses: []string{"./core"}},
				{With: "14.bb", Kind: queue.ConflictReadWrite, Witnesses: []string{"./api", "./web"}},
				{With: "51.cc", Kind: queue.ConflictGlobal, Witnesses: []string{"go.mod"}}},
			Builds:   []queue.BuildView{build("b1d2c3e4f5a6b7c8", 11*time.Minute, "12.aa", "14.bb"), build("c1d2c3e4f5a6b7c8", 0, "12.aa")},
			Forecast: queue.Forecast{Early: textNow.Add(13*time.Minute + 20*time.Second), Late: textNow.Add(27 * time.Minute), Usual: 20 * time.Minute},
			Previous: &previous},
		"clash": {Change: entered, Position: 3, Total: 7, Waits: []queue.Reason{reason(queue.ReasonWaitsAhead, "12.aa", "14.bb")}, Ahead: []queue.ChangeID{"12.aa", "14.bb"},
			Conflicts: []queue.Conflict{{With: "12.aa", Kind: queue.ConflictClash, Witnesses: []string{"api/a.go", "docs/@all.md"}},
				{With: "51.cc", Kind: queue.ConflictClash, Witnesses: []string{"api/a.go"}}, {With: "14.bb", Kind: queue.ConflictTarget, Witnesses: []string{"./api"}}}},
		"paused": {Change: entered, Position: 1, Total: 1, Waits: []queue.Reason{
			{Code: queue.ReasonPaused, Names: []string{"carol"}, Detail: "release 4.2 goes out"}, reason(queue.ReasonWaitsTrain)}},
		"slot": {Change: entered, Position: 22, Total: 41, Waits: []queue.Reason{reason(queue.ReasonWaitsSlot)}, Forecast: queue.Forecast{Early: textNow.Add(-time.Second), Late: textNow.Add(5 * time.Hour)}},
		"early": {Change: entered, Position: 4, Total: 9, Ahead: []queue.ChangeID{"12.aa"},
			Waits: []queue.Reason{reason(queue.ReasonWaitsAhead, "12.aa"), {Code: queue.ReasonWaitsTime, Names: []string{"12.aa"}, Until: textNow.Add(7 * time.Minute)}}},
		"unlikely": {Change: entered, Position: 4, Total: 9, Ahead: []queue.ChangeID{"12.aa"},
			Waits: []queue.Reason{reason(queue.ReasonWaitsAhead, "12.aa"), reason(queue.ReasonWaitsUnlikely, "0.21", "0.3")}},
		"known": {Change: entered, Position: 4, Total: 9, Ahead: []queue.ChangeID{"12.aa"},
			Waits: []queue.Reason{reason(queue.ReasonWaitsAhead, "12.aa"), reason(queue.ReasonWaitsKnown, queue.KnownFailed)}},
		"quota": {Change: entered, Lane: "high", Position: 3, Total: 9, Waits: []queue.Reason{reason(queue.ReasonWaitsQuota, "payments", "4", "contended")}},
		"overdue": {Change: entered, Position: 1, Total: 1, Waits: []queue.Reason{reason(queue.ReasonWaitsBuild, "b1d2c3e4f5a6b7c8")},
			Builds: []queue.BuildView{late}, Forecast: queue.Forecast{Early: textNow.Add(-8 * time.Minute), Late: textNow.Add(-6 * time.Minute), Usual: 3 * time.Minute}},
		"stack": {Change: stacked, Position: 4, Total: 9, Ahead: []queue.ChangeID{"12.aa"}, Conflicts: []queue.Conflict{},
			Waits: []queue.Reason{reason(queue.ReasonWaitsAhead, "12.aa"), reason(queue.ReasonWaitsKnown, queue.KnownPassed)}},
		"stack-missing":  leaning("12"),
		"stack-rejected": leaning("12", "rejected", "failed"),
		"stack-left":     leaning("12", "cancelled", "head-moved"),
		"stack-parked":   leaning("12", "parked", "red-main"),
		"stack-circle":   notice(reason(queue.ReasonStackCircle, "42", "12", "42"), "ann"),
		"stack-deep":     notice(reason(queue.ReasonStackDeep), "ann"),
		"trying":         {Change: trying, Builds: []queue.BuildView{build("b1d2c3e4f5a6b7c8", 11*time.Minute)}},
		"tried":          {Change: tried},
		"tried-failed":   {Change: triedBad},
		"tried-stuck":    {Change: triedStuck},
		"would":          {Change: would},
		"would-again":    {Change: again},
		"explain": {Change: entered, Position: 3, Total: 7, Notice: reason(queue.ReasonExplain), NoticeTo: "ann", Ahead: []queue.ChangeID{"12.aa"},
			Waits:     []queue.Reason{reason(queue.ReasonWaitsAhead, "12.aa"), reason(queue.ReasonWaitsBuild, "b1d2c3e4f5a6b7c8")},
			Conflicts: []queue.Conflict{{With: "12.aa", Kind: queue.ConflictTarget, Witnesses: []string{"./core"}}},
			Outlook:   queue.Outlook{Good: 0.93, Chance: 0.87}, Builds: []queue.BuildView{build("b1d2c3e4f5a6b7c8", 11*time.Minute, "12.aa")}},
		"now": {Change: urgent, Position: 1, Total: 7, Waits: []queue.Reason{reason(queue.ReasonWaitsBuild, "b1d2c3e4f5a6b7c8")},
			Builds: []queue.BuildView{build("b1d2c3e4f5a6b7c8", 11*time.Minute)}},
		"now-quota": notice(queue.Reason{Code: queue.ReasonNowQuota, Names: []string{"3"}, Until: textNow.Add(5 * time.Hour)}, "ada"),
		"frozen": {Change: entered, Position: 1, Total: 1, Waits: []queue.Reason{
			{Code: queue.ReasonPaused, Names: []string{"carol"}, Detail: "release 4.2 goes out", Until: textNow.Add(2 * time.Hour)}, reason(queue.ReasonWaitsTrain)}},
		"let-through": {Change: entered, Position: 3, Total: 3, Ahead: []queue.ChangeID{"12.aa", "14.bb"}, Waits: []queue.Reason{
			{Code: queue.ReasonPaused, Detail: "release 4.2 goes out", Until: textNow.Add(2 * time.Hour)},
			reason(queue.ReasonWaitsAhead, "12.aa", "14.bb"), reason(queue.ReasonWaitsThrough, "14.bb"), reason(queue.ReasonWaitsKnown, queue.KnownPassed)}},
		"refused-push": {Change: textChange(queue.Parked, queue.Reason{Code: queue.ReasonProtected, Until: textNow.Add(time.Hour),
			Detail: "refusing to allow a GitHub App to create or update workflow `.github/workflows/ci.yml` without `workflows` permission"})},
		"branch-refuses": {Change: entered, Position: 1, Total: 1, Waits: []queue.Reason{
			{Code: queue.ReasonShut, Detail: "You're not authorized to push to this branch."}, reason(queue.ReasonWaitsTrain)}},
		"delegated":       notice(reason(queue.ReasonDelegated, "bob", "carol"), "carol"),
		"refused-list":    notice(reason(queue.ReasonNoPermission, "ann", "maintain @acme/oncall ada"), "ann"),
		"landing":         {Change: textChange(queue.Landing, reason(queue.ReasonLanding)), Waits: []queue.Reason{reason(queue.ReasonLanding)}},
		"landed-tested":   {Change: tested},
		"landed-derived":  {Change: derived},
		"landed-together": {Change: together},
		"rollup": {Change: entered, Position: 3, Total: 90, Rollup: []queue.ChangeID{"12.aa", "14.bb"}, Waits: []queue.Reason{reason(queue.ReasonWaitsBuild, "b1d2c3e4f5a6b7c8")},
			Builds: []queue.BuildView{shared}},
		"rejected":        {Change: failed},
		"rejected-pair":   {Change: pair},
		"rejected-merge":  {Change: conflict},
		"rejected-rebase": {Change: unsafe},
		"rejected-config": {Change: cfg},
		"parked":          {Change: parked},
		"parked-no-tool":  {Change: textChange(queue.Parked, queue.Reason{Code: queue.ReasonNoTool, Names: []string{"tree"}, Unrun: []queue.Evidence{{Step: "test", Run: "gradle test", Host: "mac-1", Tail: "[submitqueue] step test: gradle test\nsh: gradle: not found\n[submitqueue] infrastructure after 8ms\n"}}})},
		"parked-red":      {Change: textChange(queue.Parked, reason(queue.ReasonRedMain, "./core"))},
		"waiting": {Change: textChange(queue.Parked, queue.Reason{Code: queue.ReasonRequirements, Unmet: []queue.Requirement{
			{Kind: queue.RequireReady}, {Kind: queue.RequireReviews, Names: []string{"0", "2"}}, {Kind: queue.RequireCodeOwners},
			{Kind: queue.RequireCodeOwners, Names: []string{"lib/a.go"}}, {Kind: queue.RequireLastPush}, {Kind: queue.RequireNoChanges, Names: []string{"bob"}},
			{Kind: queue.RequireTeam, Names: []string{"0", "1", "db/a.sql"}}, {Kind: queue.RequireAttributed}, {Kind: queue.RequireJudged, Names: []string{"code_scanning", queue.UnjudgedBypass}},
			{Kind: queue.RequireJudged, Names: []string{"branch protection", queue.UnjudgedPermission + "administration: read"}},
			{Kind: queue.RequireChecks, Names: []string{"ci", "lint"}}, {Kind: queue.RequireChecksPassed, Names: []string{"unit"}},
			{Kind: queue.RequireResolved, Names: []string{"3", "a.go"}}, {Kind: queue.RequireNoLabel, Names: []string{"wip"}},
			{Kind: queue.RequireAdministrator, Names: []string{".github/workflows/ci.yml"}},
			{Kind: queue.RequireAdministrator, Names: []string{".github/workflows/ci.yml"}, Merged: true, On: []queue.ChangeID{"12.aa"}},
			{Kind: queue.RequireUpdate, Names: []string{".github/workflows/ci.yml"}, Merged: true}, {Kind: queue.RequireMerge, Names: []string{"go.sum"}}}})},
		"waiting-restack": {Change: textChange(queue.Parked, queue.Reason{Code: queue.ReasonRequirements, Unmet: []queue.Requirement{
			{Kind: queue.RequireRestack, Names: []string{"4", "low@all", "main"}}, {Kind: queue.RequireRestack, Names: []string{"4"}}}})},
		"restacked": {Change: textChange(queue.Cancelled, reason(queue.ReasonRestacked, "1f8e0c3a5b7d", "2222222222222222"))},
		"waiting-depends": {Change: textChange(queue.Parked, queue.Reason{Code: queue.ReasonRequirements, Unmet: []queue.Requirement{
			{Kind: queue.RequireLanded, Names: []string{"#7", queue.DependsQueued}}, {Kind: queue.RequireLanded, Names: []string{"#8", queue.DependsOpen}},
			{Kind: queue.RequireLanded, Names: []string{"acme/web#9", queue.DependsLeft}}, {Kind: queue.RequireLanded, Names: []string{"#10", queue.DependsClosed}},
			{Kind: queue.RequireLanded, Names: []string{"#11", queue.DependsMissing}}, {Kind: queue.RequireLanded, Names: []string{"else/where#1", queue.DependsElsewhere}},
			{Kind: queue.RequireLanded, Names: []string{"#12", queue.DependsCircle, "#12", "acme/web#3"}}, {Kind: queue.RequireLanded, Names: []string{"", queue.DependsMany}}}})},
		"cancelled":       {Change: textChange(queue.Cancelled, reason(queue.ReasonCancelled, "ann"))},
		"head-moved":      {Change: textChange(queue.Cancelled, reason(queue.ReasonPushed, "1f8e0c3a5b7d", "2222222222222222"))},
		"refused-moved":   notice(reason(queue.ReasonPushed, "", "2222222222222222"), "ann"),
		"refused-late":    notice(reason(queue.ReasonHeardLate, "2222222222222222"), "ann"),
		"nothing":         {Change: textChange(queue.NothingToLand, reason(queue.ReasonAlready))},
		"refused":         notice(reason(queue.ReasonNoPermission, "mallory", "write"), "mallory"),
		"refused-lane":    notice(reason(queue.ReasonNoPermission, "ann", "maintain", "high"), "ann"),
		"unknown-lane":    notice(reason(queue.ReasonUnknownLane, "<b>@all</b>", "high", "normal", "low"), "ann"),
		"refused-approve": notice(reason(queue.ReasonNeedsApprove, ".github/workflows/ci.yml"), "ann"),
		"refused-config":  notice(queue.Reason{Code: queue.ReasonNoConfig, Detail: ".submitqueue.yml:1:1: unknown key \"verson\" (did you mean \"version\"?)"}, "ann"),
		"unknown":         notice(reason(queue.ReasonUnknown, "/lnd", "/land"), "ann"),
		"help":            notice(reason(queue.ReasonHelp), "ann"),
		"landed-squash":   {Change: squashed(tested, true)},
		"landed-between":  {Change: between(derived)},
		"landed-closed":   {Change: squashed(tested, false)},
		"landed-late":     {Change: lateHead(tested)},
		"no-method":       notice(reason(queue.ReasonNoMethod, "<b>octopus</b>", "merge", "squash"), "ann"),
		"too-late":        {Change: tested, Notice: reason(queue.ReasonTooLate, "1f8e0c3a5b7d", "2222222222222222"), NoticeTo: "ann"},
	}
}

func TestCommentTexts(t *testing.T) {
	for name, v := range textStates() {
		o := textOptions()
		if name == "slot" {
			o.Broken = ".submitqueue.yml:7:3: unknown key \"stpes\" (did you mean \"steps\"?)"
		}
		comment := texts.Comment(v, o)
		state, title, summary := texts.Check(v, o)
		goldenText(t, name, comment+"\n=== check: "+state+": "+title+"\n")
		if !strings.HasSuffix(comment, texts.Marker(o.Queue)+"\n") || strings.Contains(summary, "<!--") {
			t.Errorf("%s: the marker is not where it belongs", name)
		}
		checkBounds(t, name, v, o)
	}
}

// TestLocalTexts has no word of a forge where there is none: nobody can comment.
func TestLocalTexts(t *testing.T) {
	foreign := regexp.MustCompile(`(?i)pull request|comment|\bforge\b|/land|/queue|maintainer|administrator`)
	o := textOptions()
	o.RepoURL, o.BaseURL, o.Words = "", "http://127.0.0.1:8080", texts.Words{Local: true, Branch: "main"}
	for name, v := range textStates() {
		v.Change.URL = ""
		comment := texts.Comment(v, o)
		goldenText(t, "local/"+name, comment)
		checkBounds(t, name, v, o)
		if strings.HasPrefix(name, "refused-approve") || name == "refused" || name == "refused-lane" || name == "unknown" || name == "waiting" {
			continue // cannot happen: everybody who reaches the repository administers it
		}
		if m := foreign.FindString(comment); m != "" && name != "head-moved" {
			t.Errorf("%s says %q:\n%s", name, m, comment)
		}
		if v.Change.Branch != "" && !strings.Contains(comment, "`ann/checkout`") {
			t.Errorf("%s does not name the branch:\n%s", name, comment)
		}
	}
	for _, code := range reasonCodes(t) {
		switch code {
		case queue.ReasonNoPermission, queue.ReasonNeedsApprove:
			continue
		}
		for _, r := range []queue.Reason{{Code: code}, {Code: code, Names: []string{"one", "two"}, Detail: "why"}} {
			full, brief := o.Words.Reason(textChange("", r), r), o.Words.Short(textChange("", r), r)
			if m := foreign.FindString(full + brief); m != "" || brief == "" {
				t.Errorf("%s says %q: %q, %q", code, m, full, brief)
			}
		}
	}
}

// GitLab's changes are merge requests, and "#7" is an issue there.
func TestGitLabTexts(t *testing.T) {
	foreign := regexp.MustCompile(`(?i)pull request|(^|[^/\w])#\d`)
	o := textOptions()
	o.Words = texts.Words{Mark: "!", Branch: "main"}
	for name, v := range textStates() {
		state, title, summary := texts.Check(v, o)
		for _, text := range []string{texts.Comment(v, o), state + title + summary, strings.Join(o.Words.Answer(v), "\n"), o.Words.Partners(v)} {
			if m := foreign.FindString(text); m != "" {
				t.Errorf("%s says %q:\n%s", name, m, text)
			}
		}
	}
	for _, code := range reasonCodes(t) {
		for _, r := range []queue.Reason{{Code: code}, {Code: code, Names: []string{"12.ab", "3.cd"}, Detail: "why"}} {
			full, brief := o.Words.Reason(textChange("", r), r), o.Words.Short(textChange("", r), r)
			if m := foreign.FindString(full + " " + brief); m != "" {
				t.Errorf("%s says %q: %q, %q", code, m, full, brief)
			}
		}
	}
}

// TestCommandsAreSafeToCopy holds that a branch's name is in a command only
// where the shell takes it for a name.
func TestCommandsAreSafeToCopy(t *testing.T) {
	for branch, want := range map[string]string{"ann/x-1.2_3": "submitqueue land ann/x-1.2_3", "": "submitqueue land BRANCH", "-f": "submitqueue land BRANCH",
		"x;reboot": "submitqueue land BRANCH", "x$(id)": "submitqueue land BRANCH", "é": "submitqueue land BRANCH"} {
		got := texts.Words{Local: true}.Reason(queue.Change{Branch: branch}, reason(queue.ReasonPushed))
		if !strings.HasSuffix(got, ": "+want+".") {
			t.Errorf("%q: %s", branch, got)
		}
	}
}

// TestNoteTexts holds that whatever is written into the history has words: it
// reads the names from the source.
func TestNoteTexts(t *testing.T) {
	files, err := filepath.Glob("../../speculation/*.go")
	if err != nil {
		t.Fatal(err)
	}
	whats := map[string]bool{"build-passed": true, "build-stopped": true, "build-infrastructure": true, "step-timeout": true, "step-failed": true}
	for _, p := range []queue.Phase{queue.Landed, queue.Rejected, queue.Cancelled, queue.NothingToLand} {
		whats[string(p)] = true
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue // what tests write has no words, and this package's hash does not have it
		}
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`queue\.Note\{[^}]*What: "([^"]+[^"-])"`).FindAllSubmatch(src, -1) {
			whats[string(m[1])] = true
		}
	}
	if len(whats) < 15 {
		t.Errorf("only %d found", len(whats))
	}
	seen := map[string]string{}
	for what := range whats {
		for _, local := range []bool{false, true} {
			title, more := texts.Words{Local: local}.Note(queue.Change{}, queue.Note{What: what, Reason: queue.Reason{Code: queue.ReasonFailed, Names: []string{"unit"}}})
			if title == "" || strings.Contains(title+more, "  ") || strings.ContainsAny(title[:1], "abcdefghijklmnopqrstuvwxyz") {
				t.Errorf("%s: %q, %q", what, title, more)
			}
			if guess := strings.ToUpper(what[:1]) + strings.ReplaceAll(what[1:], "-", " "); strings.Contains(what, "-") && title == guess && what != "build-passed" && what != "build-stopped" && what != "nothing-to-land" {
				t.Errorf("%s has no words of its own", what)
			}
			seen[title] = what
		}
	}
}

// checkBounds holds what is true of every text.
func checkBounds(t interface{ Errorf(string, ...any) }, name string, v queue.View, o texts.Options) {
	comment := texts.Comment(v, o)
	if lines := strings.Count(comment, "\n"); lines > 90 || len(comment) > 60000 {
		t.Errorf("%s: the comment has %d lines and %d bytes", name, lines, len(comment))
	}
	if !strings.HasPrefix(comment, "### ") || !utf8.ValidString(comment) {
		t.Errorf("%s: the comment does not begin with the state:\n%s", name, comment)
	}
	if c := queue.ParseCommands(comment); len(c) > 0 {
		t.Errorf("%s: the comment holds commands: %v", name, c)
	}
	want := 1
	if queue.NewsIn(comment) != "" {
		want = 2
	}
	if n := strings.Count(comment, "<!--"); n != want {
		t.Errorf("%s: the comment holds %d HTML comments, not %d", name, n, want)
	}
	state, title, summary := texts.Check(v, o)
	if utf8.RuneCountInString(title) > 100 || title == "" || strings.ContainsAny(title, "\n\r") {
		t.Errorf("%s: the check's title is %q", name, title)
	}
	if len(summary) > 65535 {
		t.Errorf("%s: the check's summary has %d bytes", name, len(summary))
	}
	switch state {
	case "queued", "in_progress", "success", "failure", "neutral", "cancelled":
	default:
		t.Errorf("%s: the check's state is %q", name, state)
	}
}

// TestCheckStates holds that only what landed, or has nothing to land, passes.
func TestCheckStates(t *testing.T) {
	for phase, want := range map[queue.Phase]string{queue.Analyzing: "queued", queue.Pending: "queued",
		queue.Landing: "in_progress", queue.Parked: "queued", queue.Landed: "success", queue.Rejected: "failure",
		queue.Cancelled: "cancelled", queue.NothingToLand: "neutral", "": "cancelled"} {
		if got, _, _ := texts.Check(queue.View{Change: textChange(phase, queue.Reason{})}, textOptions()); got != want {
			t.Errorf("%q: %s, want %s", phase, got, want)
		}
	}
	busy := queue.View{Change: textChange(queue.Pending, queue.Reason{}), Builds: make([]queue.BuildView, 1)}
	if got, _, _ := texts.Check(busy, texts.Options{}); got != "in_progress" {
		t.Errorf("with a build: %s", got)
	}
}

// TestReasonTexts holds that every reason has words, whatever it is given: it
// reads the constants from the source.
func TestReasonTexts(t *testing.T) {
	codes := reasonCodes(t)
	if len(codes) < 38 {
		t.Fatalf("only %d reasons found", len(codes))
	}
	seen := map[string]queue.ReasonCode{}
	for _, code := range codes {
		bare := texts.Reason(queue.Reason{Code: code})
		full := texts.Reason(queue.Reason{Code: code, Names: []string{"one", "two"}, Detail: "why\nnot"})
		for _, text := range []string{bare, full} {
			if text == "" || strings.Contains(text, "\n") || strings.Contains(text, "`") || strings.Contains(text, "  ") {
				t.Errorf("%s: %q", code, text)
			}
		}
		if !strings.HasSuffix(bare, ".") {
			t.Errorf("%s is not a sentence: %q", code, bare)
		}
		if other, dup := seen[bare]; dup {
			t.Errorf("%s and %s have the same words", code, other)
		}
		seen[bare] = code
		for _, phase := range []queue.Phase{queue.Parked, queue.Rejected, queue.Cancelled, queue.NothingToLand, queue.Analyzing} {
			_, title, _ := texts.Check(queue.View{Change: textChange(phase, queue.Reason{Code: code})}, textOptions())
			if strings.HasSuffix(title, ": ") || !strings.Contains(title, ": ") {
				t.Errorf("%s when %s has the title %q", code, phase, title)
			}
		}
	}
	if got := texts.Reason(queue.Reason{}); got != "" {
		t.Errorf("no reason reads %q", got)
	}
}

func reasonCodes(t *testing.T) []queue.ReasonCode {
	t.Helper()
	files, err := filepath.Glob("../../queue/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var codes []queue.ReasonCode
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			if typ, ok := spec.Type.(*ast.Ident); ok && typ.Name == "ReasonCode" {
				for _, v := range spec.Values {
					s, err := strconv.Unquote(v.(*ast.BasicLit).Value)
					if err != nil {
						t.Fatal(err)
					}
					codes = append(codes, queue.ReasonCode(s))
				}
			}
			return true
		})
	}
	return codes
}

// TestTextsAreStable holds that a second, and mostly a minute, changes nothing.
func TestTextsAreStable(t *testing.T) {
	o := textOptions()
	for name, v := range textStates() {
		versions := map[string]bool{}
		for s := range 600 {
			o.Now = textNow.Add(time.Duration(s) * time.Second)
			versions[texts.Comment(v, o)] = true
		}
		if len(versions) > 4 {
			t.Errorf("%s has %d versions within ten minutes", name, len(versions))
		}
	}
}

// TestForecasts says the clock in comments, which are read later, and the time
// left elsewhere.
func TestForecasts(t *testing.T) {
	at := func(early, late, usual time.Duration) queue.Forecast {
		return queue.Forecast{Early: textNow.Add(early), Late: textNow.Add(late), Usual: usual}
	}
	for _, c := range []struct {
		f             queue.Forecast
		left, comment string
	}{
		{queue.Forecast{}, "", ""},
		{at(2*time.Minute, 5*time.Minute, 4*time.Minute), "in 2 to 5 min", "**Verdict expected** between 14:07 and 14:10 UTC."},
		{at(20*time.Second, 50*time.Second, time.Minute), "in 20 to 50 s", "**Verdict expected** between 14:05 and 14:06 UTC."},
		{at(-time.Second, 3*time.Second, time.Minute), "within 3 s", "**Verdict expected** by 14:06 UTC."},
		{at(10*time.Minute, 3*time.Hour, 0), "within 3 h", "**Verdict expected** by 18:00 UTC."},
		{at(40*time.Minute, 90*time.Minute, 0), "in 40 min to 1.5 h", "**Verdict expected** between 14:45 and 15:35 UTC."},
		{at(-time.Hour, -time.Minute, 3*time.Minute), "longer than the usual 3 min", "Its build takes longer than the usual 3 min."},
		{at(-time.Hour, -time.Minute, 0), "later than foreseen", "It takes longer than was foreseen."},
	} {
		if got := (texts.Words{}).Forecast(c.f, textNow); got != c.left {
			t.Errorf("%v: %q, want %q", c.f, got, c.left)
		}
		got := texts.Comment(queue.View{Change: textChange(queue.Pending, queue.Reason{}), Forecast: c.f}, textOptions())
		if c.comment == "" && strings.Contains(got, "xpected") || !strings.Contains(got, c.comment) {
			t.Errorf("%v: want %q in\n%s", c.f, c.comment, got)
		}
	}
}

func TestMarker(t *testing.T) {
	for name, want := range map[string]string{
		"acme/shop@main": "<!-- submitqueue:acme/shop@main -->",
		"a --> <b>\n`x`": "<!-- submitqueue:a%20%2D%2D%3E%20%3Cb%3E%0A%60x%60 -->",
		"release-1":      "<!-- submitqueue:release%2D1 -->",
	} {
		if got := texts.Marker(name); got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
}

// TestProofs has the proofs that the golden files do not show.
func TestProofs(t *testing.T) {
	for want, v := range map[string]*queue.Verdict{
		"It was found on the target branch.":                                nil,
		"this very commit was tested.":                                      {Tested: true},
		"this very commit was tested; its one check passed.":                {Tested: true, Keys: 1},
		"this very commit was tested; of its 3 checks, 2 had passed before": {Tested: true, Keys: 3, Reused: 2},
		"its one check (a step on a target) had passed on other commits at exactly this content, in builds made for something else.": {Keys: 1, Reused: 1},
		"it adds nothing that a step would have to verify anew.":                                                                     {},
	} {
		c := textChange(queue.Landed, reason(queue.ReasonLanded))
		c.Verdict = v
		if got := texts.Comment(queue.View{Change: c}, texts.Options{}); !strings.Contains(got, want) {
			t.Errorf("want %q in\n%s", want, got)
		}
	}
}

// TestBefore says how the change before this one ended.
func TestBefore(t *testing.T) {
	for want, p := range map[string]queue.Change{
		"commit `1f8e0c3a5b` landed as `99cc`.":                        {Phase: queue.Landed, Ending: queue.Ending{Verdict: &queue.Verdict{Commit: "99cc"}}},
		"commit `1f8e0c3a5b` was rejected: it does not merge.":         {Phase: queue.Rejected, Reason: reason(queue.ReasonMergeConflict)},
		"commit `1f8e0c3a5b` left the queue: new commits were pushed.": {Phase: queue.Cancelled, Reason: reason(queue.ReasonPushed)},
	} {
		p.Head = "1f8e0c3a5b7d9e11223344556677889900aabbcc"
		v := queue.View{Change: textChange(queue.Pending, queue.Reason{}), Previous: &p}
		if got := texts.Comment(v, texts.Options{}); !strings.Contains(got, want) {
			t.Errorf("want %q in\n%s", want, got)
		}
	}
}

// TestClock shows the day of what is not near, and how long builds run.
func TestClock(t *testing.T) {
	for ago, want := range map[time.Duration]string{
		time.Minute:       "running since 14:04 UTC (usually 20 min)",
		100 * time.Minute: "running since 12:25 UTC (usually 20 min)",
		30 * time.Hour:    "running since 31 Aug 08:05 UTC (usually 20 min)",
	} {
		b := queue.BuildView{Build: queue.Build{ID: "b", Started: textNow.Add(-ago)}, Usual: 20 * time.Minute}
		v := queue.View{Change: textChange(queue.Pending, queue.Reason{}), Position: 112, Total: 121, Builds: []queue.BuildView{b}}
		got := texts.Comment(v, textOptions())
		if !strings.Contains(got, want) || !strings.HasPrefix(got, "### ⏳ 112th of 121") {
			t.Errorf("want %q in\n%s", want, got)
		}
	}
}

// TestLongTexts holds the bounds with far more of everything than is shown.
func TestLongTexts(t *testing.T) {
	many := make([]string, 500)
	for i := range many {
		many[i] = fmt.Sprintf("%d.%s", i+1, strings.Repeat("x", 300))
	}
	ids := make([]queue.ChangeID, len(many))
	conflicts := make([]queue.Conflict, 2*len(many))
	builds := make([]queue.BuildView, len(many))
	waits := make([]queue.Reason, len(many))
	for i, s := range many {
		ids[i] = queue.ChangeID(s)
		conflicts[i] = queue.Conflict{With: ids[i], Kind: queue.ConflictTarget, Witnesses: many}
		conflicts[len(many)+i] = queue.Conflict{With: ids[i] + "y", Kind: queue.ConflictUnknown}
		builds[i] = queue.BuildView{Build: queue.Build{ID: "b", Chain: ids, Cancel: i == 1}}
		waits[i] = reason(queue.ReasonWaitsAhead, many...)
	}
	for i := range conflicts[len(many):] {
		conflicts[len(many)+i].With = queue.ChangeID(fmt.Sprint(9000 + i))
	}
	tail := strings.Repeat(strings.Repeat("é", 500)+"\n", 500)
	failures := make([]queue.Evidence, 20)
	for i := range failures {
		failures[i] = queue.Evidence{Step: "s", Targets: many, Build: "b", Tail: tail}
	}
	o := textOptions()
	o.Broken = tail
	pending := queue.View{Change: textChange(queue.Pending, queue.Reason{}), Position: 500, Total: 500, Waits: waits, Ahead: ids,
		Conflicts: conflicts, Builds: builds, Notice: queue.Reason{Code: queue.ReasonNoConfig, Detail: tail}, NoticeTo: tail}
	checkBounds(t, "pending", pending, o)
	rejected := queue.View{Change: textChange(queue.Rejected, reason(queue.ReasonFailed, many...))}
	rejected.Change.Verdict = &queue.Verdict{Commit: "c", Failures: failures}
	checkBounds(t, "rejected", rejected, o)
	landed := queue.View{Change: textChange(queue.Landed, reason(queue.ReasonLanded))}
	landed.Change.Verdict = &queue.Verdict{Commit: "c", Bypassed: ids}
	checkBounds(t, "landed", landed, o)
}

func goldenText(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".md")
	if *updateTexts {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got; -update-texts writes it):\n%s", file, d)
	}
}

// squashed is a change that landed as one commit, its branch along with it or not.
func squashed(c queue.Change, along bool) queue.Change {
	v := *c.Verdict
	v.Along = along
	c.Method, c.Verdict = config.MethodSquash, &v
	return c
}

// lateHead is a squash whose moved head the forge had not taken note of.
func lateHead(c queue.Change) queue.Change {
	c = squashed(c, true)
	c.Verdict.Closed = true
	return c
}

// between is a change that others have come below since it was built.
func between(c queue.Change) queue.Change {
	v := *c.Verdict
	v.Between = []queue.ChangeID{"12.aa", "14.bb"}
	c.Verdict = &v
	return c
}

// TestTextsOfAnotherBranch says how a pull request ends where the queue's branch is
// not the repository's default one: GitHub shows none as merged there.
func TestTextsOfAnotherBranch(t *testing.T) {
	o := textOptions()
	o.Default = "tr`unk"
	landed := textStates()["landed-tested"].Change
	for name, c := range map[string]queue.Change{"merge": landed, "squash": squashed(landed, false), "along": squashed(landed, true)} {
		v := queue.View{Change: c}
		said := texts.Comment(v, o)
		goldenText(t, "another-branch-"+name, said)
		checkBounds(t, name, v, o)
		if !strings.Contains(said, "so it is closed, with the label `landed`") || strings.Contains(said, "shown as merged;") {
			t.Errorf("%s says\n%s", name, said)
		}
		if o := textOptions(); name == "merge" && strings.Contains(texts.Comment(v, o), "closed") {
			t.Errorf("what is shown as merged is said to be closed")
		}
	}
}
