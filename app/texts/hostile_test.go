package texts_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/queue"
)

// canary is in every piece of hostile text; outside code no text may hold it.
const canary = "zq"

// TestHostileTexts puts hostile text into every field of a view and takes the
// code out of what comes, as a Markdown reader does: nothing of it is left.
func TestHostileTexts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.SampledFrom([]string{canary, "@" + canary, "@zq-team", "closes #1zq", "`", "``", "```", "````", "~~~", "\n", "\r\n", "\r", "\n\n",
			"\n```\n", "\n/land\n", "<!--", "<\u200b!--", "<!-\u2060-", "-->", "<img src=zq>", "[zq](http://zq)", "![zq](http://zq)", "http://zq.example", "\x00",
			"\x1b[31m", "\x1b]8;;http://zq\x07", "\u202e", "\u2028", "\\", "\\`", " ", "    ", "\t", "$`", "`$", "|", "&lt;", "\xff", "é", "<details>", "</sub>", "*", "_", "- ", "> ", "# ", ":zq:",
			texts.Marker("q"), texts.Marker("other")})
		hostile := func(label string) string {
			return canary + strings.Join(rapid.SliceOfN(piece, 0, 8).Draw(t, label), "")
		}
		list := func(label string) []string {
			return rapid.SliceOfN(rapid.Custom(func(*rapid.T) string { return hostile(label) }), 0, 3).Draw(t, label+"s")
		}
		why := func(label string) queue.Reason {
			return queue.Reason{Code: rapid.SampledFrom(hostileCodes).Draw(t, label), Names: list(label + " name"), Detail: hostile(label + " detail"),
				Unrun: []queue.Evidence{{Step: hostile(label), Run: hostile(label + " run"), Host: hostile(label + " host"), Tail: hostile(label + " tail")}},
				Unmet: []queue.Requirement{{Kind: rapid.SampledFrom(hostileKinds).Draw(t, label+" kind"), Names: list(label + " unmet")}},
				Culprits: []queue.Culprit{{HuntCommit: queue.HuntCommit{Commit: queue.CommitID(hostile(label)), Subject: hostile(label), Author: hostile(label), Number: 7},
					Targets: list(label + " target"), Names: list(label + " step"), Failed: queue.Probe{Build: queue.BuildID(hostile(label)), Commit: queue.CommitID(hostile(label)), Tries: 2},
					Later: []queue.Later{{HuntCommit: queue.HuntCommit{Subject: hostile(label), Author: hostile(label)}, Paths: list(label + " path")}},
					Revert: &queue.Revert{State: rapid.SampledFrom([]queue.HuntProof{queue.RevertProven, queue.RevertFails, queue.RevertConflict, queue.RevertUnknown}).Draw(t, label+" revert"),
						Conflicts: list(label + " conflict"), Failed: list(label + " failed"), Trouble: hostile(label)}}}}
		}
		change := queue.Change{ID: queue.ChangeID(hostile("id")), Number: 42, Head: queue.CommitID(hostile("head")), Title: hostile("title"), Branch: hostile("branch"),
			Author: hostile("author"), Requester: hostile("requester"), URL: "https://x.example/" + hostile("url") + "/42",
			Phase: rapid.SampledFrom([]queue.Phase{"", queue.Analyzing, queue.Pending, queue.Landing, queue.Parked,
				queue.Landed, queue.Rejected, queue.Cancelled, queue.NothingToLand, queue.Trying, queue.Tried}).Draw(t, "phase"), Reason: why("reason")}
		change.Verdict = &queue.Verdict{Commit: queue.CommitID(hostile("commit")), Bypassed: []queue.ChangeID{queue.ChangeID(hostile("bypassed"))},
			Together: []queue.ChangeID{queue.ChangeID(hostile("together"))},
			Failures: []queue.Evidence{{Step: hostile("step"), Run: hostile("run"), Attempts: 2, Ran: queue.Ran{Change: queue.ChangeID(hostile("ran")), Commit: queue.CommitID(hostile("ran commit")),
				Main: queue.CommitID(hostile("ran main")), Chain: []queue.ChangeID{queue.ChangeID(hostile("ran chain"))}}, Targets: list("target"), Build: queue.BuildID(hostile("build")), Tail: hostile("tail")},
				{Step: hostile("step 2"), Tail: hostile("tail 2"), Timeout: true}}, Conflicts: list("path"), Against: []queue.ChangeID{queue.ChangeID(hostile("against"))}}
		other := change
		if rapid.Bool().Draw(t, "emergency") {
			change.Now = &queue.Emergency{By: hostile("by"), Reason: hostile("why now"), At: textNow}
		}
		if rapid.Bool().Draw(t, "only explained") {
			change.Would = &queue.Would{Unmet: why("unmet"), Failed: list("step"), More: 3, Conflicts: []queue.Conflict{{With: queue.ChangeID(hostile("would")), Kind: queue.ConflictTextual, Witnesses: list("path")}}}
			change.Touches.Unknown, change.On = hostile("why unknown"), queue.CommitID(hostile("on"))
		}
		kind := rapid.SampledFrom([]queue.ConflictKind{queue.ConflictTarget, queue.ConflictReadWrite, queue.ConflictGlobal, queue.ConflictDefinition, queue.ConflictTextual, queue.ConflictUnknown}).Draw(t, "kind")
		v := queue.View{Change: change, Position: 1, Total: 2, Waits: []queue.Reason{why("wait"), why("wait 2")},
			Rollup:    []queue.ChangeID{"7.a", queue.ChangeID(hostile("rollup"))},
			Ahead:     []queue.ChangeID{"7.a", queue.ChangeID(hostile("ahead"))},
			Conflicts: []queue.Conflict{{With: "7.a", Kind: kind, Witnesses: list("witness")}, {With: queue.ChangeID(hostile("with")), Kind: kind}},
			Unknown:   []queue.Unknown{{Change: "7.a", Why: hostile("unknown")}, {Change: queue.ChangeID(hostile("with")), Why: hostile("unknown 2")}},
			Builds: []queue.BuildView{{Build: queue.Build{ID: queue.BuildID(hostile("build id")), Change: change.ID, Why: hostile("why"),
				Chain: []queue.ChangeID{queue.ChangeID(hostile("chain"))}, Also: []queue.ChangeID{queue.ChangeID(hostile("also"))}}}},
			Notice: why("notice"), NoticeTo: hostile("notice to"), Previous: &other}
		o := texts.Options{Queue: "q", Words: texts.Words{Local: rapid.Bool().Draw(t, "local")}, Now: textNow, Broken: hostile("broken"),
			BaseURL: rapid.SampledFrom([]string{"", "https://queue.example", "javascript:zq"}).Draw(t, "base"),
			RepoURL: rapid.SampledFrom([]string{"", "https://forge.example/a/b", "https://forge.example/" + hostile("repo")}).Draw(t, "repository")}
		comment := texts.Comment(v, o)
		_, _, summary := texts.Check(v, o)
		checkBounds(t, "hostile", v, o)
		main := queue.QueueView{Main: queue.Main{Branch: hostile("main"), Upkeep: queue.Upkeep{Drift: []queue.Drift{{Aim: queue.Aim{Step: hostile("drift"), Target: hostile("drifted")}}}}},
			Red: append(list("red"), canary), Blame: why("blame")}
		_, _, onMain := texts.MainCheck(main, o)
		for _, text := range []string{comment, summary, onMain, texts.Revert(why("revert").Culprits[0], o)} {
			if left := withoutCode(text); strings.Contains(left, canary) {
				t.Fatalf("hostile text outside code:\n%s\n--- in\n%s", left, text)
			}
		}
		if strings.ContainsAny(comment, "\x00\x1b\r\u202e") {
			t.Fatalf("control characters in %q", comment)
		}
	})
}

var hostileCodes = []queue.ReasonCode{queue.ReasonAnalyzing, queue.ReasonUnanalyzed, queue.ReasonUnread, queue.ReasonWaitsBuild, queue.ReasonWaitsControl, queue.ReasonWaitsAhead, queue.ReasonPaused, queue.ReasonRenamed, queue.ReasonFailed, queue.ReasonMergeConflict,
	queue.ReasonCancelled, queue.ReasonPushed, queue.ReasonClosed, queue.ReasonRetargeted, queue.ReasonParkedLimit, queue.ReasonInfra, queue.ReasonNoRunner, queue.ReasonNoCheck,
	queue.ReasonBuildCap, queue.ReasonRedMain, queue.ReasonNoTool, queue.ReasonProtected, queue.ReasonShut, queue.ReasonStuck, queue.ReasonNoPermission, queue.ReasonWrongBase,
	queue.ReasonNeedsApprove, queue.ReasonNoConfig, queue.ReasonUnknown, queue.ReasonForced, queue.ReasonTooLate, queue.ReasonForge,
	queue.ReasonParent, queue.ReasonStackCircle, queue.ReasonStackDeep, queue.ReasonRestacked, queue.ReasonRequirements, "zq",
	queue.ReasonTrying, queue.ReasonTried, queue.ReasonInQueue, queue.ReasonExplain, queue.ReasonExplained, queue.ReasonDelegated,
	queue.ReasonUndelegated, queue.ReasonNowQuota, queue.ReasonBadUntil, queue.ReasonCulprit, queue.ReasonBlame, queue.ReasonBenched}

var hostileKinds = []queue.RequirementKind{queue.RequireReviews, queue.RequireCodeOwners, queue.RequireTeam, queue.RequireAttributed, queue.RequireJudged, queue.RequireNoChanges, queue.RequireChecks, queue.RequireChecksPassed,
	queue.RequireResolved, queue.RequireNoLabel, queue.RequireAdministrator, queue.RequireUpdate, queue.RequireLanded, queue.RequireRestack, queue.RequireMerge, "zq"}

// withoutCode returns Markdown without its fenced blocks, code spans and the
// targets of links: the part in which mentions and markup would work. It is
// written from CommonMark, not from the code under test.
func withoutCode(text string) string {
	var out []string
	fence := ""
	for _, line := range strings.Split(text, "\n") {
		bare := strings.TrimLeft(line, " ")
		ticks := len(bare) - len(strings.TrimLeft(bare, "`"))
		switch {
		case fence != "":
			if ticks >= len(fence) && strings.Trim(bare, "` ") == "" {
				fence = ""
			}
		case ticks >= 3 && !strings.Contains(bare[ticks:], "`"):
			fence = bare[:ticks]
		default:
			out = append(out, withoutTargets(withoutSpans(line)))
		}
	}
	return strings.Join(out, "\n")
}

// withoutSpans replaces each code span of a line by "code".
func withoutSpans(line string) string {
	var out strings.Builder
	for i := 0; i < len(line); {
		n := run(line, i)
		if n == 0 {
			out.WriteByte(line[i])
			i++
			continue
		}
		end := -1
		for j := i + n; j < len(line); {
			m := run(line, j)
			if m == n {
				end = j
				break
			}
			j += max(m, 1)
		}
		if end < 0 {
			out.WriteString(line[i : i+n])
			i += n
			continue
		}
		out.WriteString("code")
		i = end + n
	}
	return out.String()
}

func run(s string, i int) int {
	n := 0
	for i+n < len(s) && s[i+n] == '`' {
		n++
	}
	return n
}

// withoutTargets takes the targets out of links whose label is "code", a
// number or "details"; a target ends at the first bracket or space.
func withoutTargets(line string) string {
	for {
		i := strings.Index(line, "](http")
		if i < 0 {
			return line
		}
		end := strings.IndexAny(line[i:], ") <>\"'")
		if end < 0 || line[i+end] != ')' {
			return line
		}
		line = line[:i+1] + line[i+end+1:]
	}
}
