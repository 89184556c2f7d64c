package doctor_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/doctor"
	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/github"
)

var now = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

const config = "version: 1\nsteps:\n  - {name: test, run: make test}\n"

// healthy are the facts of a set-up without a fault.
func healthy() doctor.Facts {
	f := doctor.Facts{Now: now, Public: "https://queue.example.com", Redis: doctor.Redis{Asked: true, Kind: "Redis"}}
	f.Repository, f.Branch = "acme/shop", "main"
	permissions, events := map[string]string{}, []string{}
	for _, n := range github.Needs() {
		permissions[n.Name] = n.Access
	}
	for _, n := range github.EventNeeds() {
		events = append(events, n.Name)
	}
	f.App = github.AppFacts{Slug: "acme-queue", HTMLURL: "https://github.com/apps/acme-queue", Permissions: permissions, Events: events}
	f.App.Owner.Login, f.App.Owner.Type = "acme", "Organization"
	f.Hook = github.HookFacts{URL: "https://queue.example.com/webhook", Secret: "********", InsecureSSL: "0"}
	f.Deliveries = []github.DeliveryFacts{{GUID: "a", At: now.Add(-3 * time.Minute), Event: "push", Status: "OK", StatusCode: 202}}
	f.Installation = github.InstallationFacts{ID: 1, HTMLURL: "https://github.com/organizations/acme/settings/installations/1", Permissions: permissions}
	f.Repo = github.RepoFacts{FullName: "acme/shop", DefaultBranch: "main"}
	f.Protection = forge.Protection{Protected: true, MayPush: true}
	f.Trial = &doctor.Trial{Refs: 21}
	f.Config = []byte(config)
	f.Workflows = []github.WorkflowFile{{Path: ".github/workflows/ci.yml", Data: []byte("on: {push: {branches: ['submitqueue/**']}}\njobs: {build: {}}\n")}}
	return f
}

func TestHealthy(t *testing.T) {
	list := doctor.Judge(healthy())
	for _, f := range list {
		if f.Level != doctor.Fine || f.Fix != "" {
			t.Errorf("%+v", f)
		}
	}
	if len(list) < 9 {
		t.Errorf("only %d findings", len(list))
	}
}

// What runners do not see is said of a repository of which they build anything.
func TestWhatRunnersDoNotSee(t *testing.T) {
	for text, want := range map[string]int{"{name: unit, run: make}": 2, "{name: ci, checks: [build], scope: repository}": 0} {
		f := healthy()
		f.Config = []byte("version: 1\nsteps:\n  - " + text + "\n")
		f.Modules, f.Attributes = []byte("[submodule \"x\"]\n"), []byte("*.png filter=lfs\n")
		n := 0
		for _, x := range doctor.Judge(f) {
			if x.About == "checkout" && x.Level == doctor.Warns && x.Fix != "" {
				n++
			}
		}
		if n != want {
			t.Errorf("%s: %d findings, want %d", text, n, want)
		}
	}
}

// Each fault is found, at its level, and its fix says where to go.
func TestFaults(t *testing.T) {
	rule := func(kind, bypass string, checks ...string) github.RuleFacts {
		r := github.RuleFacts{Type: kind, Ruleset: "7", Bypass: bypass}
		for _, c := range checks {
			r.Checks = append(r.Checks, github.RequiredCheck{Context: c})
		}
		return r
	}
	workflow := func(text string) func(*doctor.Facts) {
		return func(f *doctor.Facts) {
			f.Workflows = []github.WorkflowFile{{Path: ".github/workflows/ci.yml", Data: []byte(text)}}
		}
	}
	lost := func(code int, status string) func(*doctor.Facts) {
		return func(f *doctor.Facts) {
			f.Deliveries = append([]github.DeliveryFacts{{GUID: "b", At: now.Add(-time.Minute), Event: "issue_comment", Status: status, StatusCode: code}}, f.Deliveries...)
		}
	}
	for _, c := range []struct {
		name  string
		spoil func(*doctor.Facts)
		level doctor.Level
		about string
		says  string // a part of it
		fix   string
	}{
		{"clock", func(f *doctor.Facts) { f.Skew = -90 * time.Second }, doctor.Blocks, "clock", "1m30s ahead of GitHub's", "NTP"},
		{"clock a bit", func(f *doctor.Facts) { f.Skew = 30 * time.Second }, doctor.Warns, "clock", "30s behind GitHub's", "NTP"},
		{"bad key", func(f *doctor.Facts) { f.AppErr = fmt.Errorf("github: read app: %w: 401", forge.ErrForbidden) }, doctor.Blocks, "app", "does not take the App's credentials", "private key"},
		{"not installed", func(f *doctor.Facts) { f.InstallationErr = forge.ErrForbidden }, doctor.Blocks, "app", "not installed on acme/shop", "https://github.com/apps/acme-queue/installations/new"},
		{"suspended", func(f *doctor.Facts) { f.Installation.SuspendedAt = &now }, doctor.Blocks, "app", "suspended on 2026-07-01", "installations/1"},
		{"permission", func(f *doctor.Facts) {
			f.Installation.Permissions = map[string]string{"contents": "read", "pull_requests": "write", "issues": "write", "checks": "write", "metadata": "read", "statuses": "write", "actions": "write", "workflows": "write", "administration": "read", "members": "read"}
		}, doctor.Blocks, "permission", "contents: write is missing", "accept it on the installation: https://github.com/organizations/acme/settings/installations/1"},
		{"optional permission", func(f *doctor.Facts) {
			f.App.Permissions, f.Installation.Permissions = without(f.App.Permissions, "workflows"), without(f.App.Permissions, "workflows")
		}, doctor.Warns, "permission", "changes of .github/workflows will be parked when they are pushed", "https://github.com/organizations/acme/settings/apps/acme-queue/permissions"},
		{"too much", func(f *doctor.Facts) { f.Installation.Permissions["secrets"] = "read" }, doctor.Warns, "permission", "more than it needs: secrets", "take it away"},
		{"event", func(f *doctor.Facts) { f.App.Events = f.App.Events[1:] }, doctor.Blocks, "event", "not told of issue_comment", "subscribe"},
		{"no hook", func(f *doctor.Facts) { f.Hook.URL = "" }, doctor.Blocks, "webhook", "no webhook address", "/webhook"},
		{"no secret", func(f *doctor.Facts) { f.Hook.Secret = "" }, doctor.Blocks, "webhook", "no secret", "--webhook-secret"},
		{"elsewhere", func(f *doctor.Facts) { f.Hook.URL = "https://old.example.com/webhook" }, doctor.Warns, "webhook", "the server is at https://queue.example.com", "set it"},
		{"unchecked", func(f *doctor.Facts) { f.Hook.InsecureSSL = "1" }, doctor.Warns, "webhook", "certificate", "SSL verification"},
		{"unheard", func(f *doctor.Facts) { f.Unheard = errors.New("it answers 502 Bad Gateway") }, doctor.Warns, "webhook", "502 Bad Gateway", "proxy"},
		{"other secret", lost(401, "Invalid HTTP Response: 401"), doctor.Blocks, "deliveries", "1 of the newest 2 webhooks have not arrived", "give both the same"},
		{"no way", lost(0, "failed to connect to host"), doctor.Blocks, "deliveries", "failed to connect to host", "firewall"},
		{"none", func(f *doctor.Facts) { f.Deliveries = nil }, doctor.Warns, "deliveries", "no webhook", "comment on a pull request"},
		{"archived", func(f *doctor.Facts) { f.Repo.Archived = true }, doctor.Blocks, "repository", "archived", "unarchive"},
		{"out of reach", func(f *doctor.Facts) { f.RepoErr = forge.ErrNotFound }, doctor.Blocks, "repository", "does not reach acme/shop", "choose the repository"},
		{"renamed", func(f *doctor.Facts) { f.Repo.FullName = "acme/store" }, doctor.Warns, "repository", "is called acme/store now", "new name"},
		{"no branch", func(f *doctor.Facts) { f.ProtectionErr = forge.ErrNotFound }, doctor.Blocks, "branch", "no branch main", "--branch"},
		{"no config", func(f *doctor.Facts) { f.ConfigErr = forge.ErrNotFound }, doctor.Blocks, "config", "main has no .submitqueue.yml", "submitqueue init"},
		{"bad config", func(f *doctor.Facts) { f.Config = []byte("version: 1\nstep: []\n") }, doctor.Blocks, "config", ".submitqueue.yml:2:1", "submitqueue validate"},
		{"may not push", func(f *doctor.Facts) {
			f.Protection = forge.Protection{Rule: "Changes must be made through a pull request."}
		}, doctor.Blocks, "branch", "may not push to main: Changes must be made through a pull request.", "allow the App acme-queue to push"},
		{"signed", func(f *doctor.Facts) { f.Rules = []github.RuleFacts{rule("required_signatures", "no")} }, doctor.Blocks, "branch", "signed commits only", "bypass list"},
		{"signed, classic", func(f *doctor.Facts) { f.Classic = &github.ClassicFacts{Signatures: true} }, doctor.Blocks, "branch", "signed commits only", "use a ruleset"},
		{"linear", func(f *doctor.Facts) { f.Rules = []github.RuleFacts{rule("required_linear_history", "no")} }, doctor.Blocks, "branch", "linear history", "queue.method"},
		{"two queues", func(f *doctor.Facts) { f.Rules = []github.RuleFacts{rule("merge_queue", "no")} }, doctor.Blocks, "branch", "GitHub's own merge queue", "Require merge queue"},
		{"scanning", func(f *doctor.Facts) { f.Rules = []github.RuleFacts{rule("code_scanning", "no")} }, doctor.Warns, "branch", "code scanning", "pull requests wait"},
		{"scanning, bypassed", func(f *doctor.Facts) { f.Rules = []github.RuleFacts{rule("code_scanning", "yes")} }, doctor.Blocks, "branch", "waits for the rule code_scanning, which the queue cannot judge and the App may bypass", "a ruleset of its own"},
		{"licenses, perhaps bypassed", func(f *doctor.Facts) {
			f.Rules = []github.RuleFacts{rule("license_compliance_scanning", "unknown")}
		}, doctor.Blocks, "branch", "could not be read", "a ruleset of its own"},
		{"a rule of tomorrow", func(f *doctor.Facts) { f.Rules = []github.RuleFacts{rule("moon_phase", "no")} }, doctor.Warns, "branch", "does not know rules of type moon_phase", "newer version"},
		{"stacks that GitHub cannot restack", func(f *doctor.Facts) {
			f.Stacks, f.Config = 2, append(f.Config, "queue: {method: squash, head: leave}\n"...)
		}, doctor.Warns, "branch", "stacks of GitHub to land on main (2)", "queue.head"},
		{"a merge queue that may not be seen", func(f *doctor.Facts) { f.MergeQueueErr = fmt.Errorf("github: %w", forge.ErrForbidden) }, doctor.Warns, "branch", "own merge queue", "merge_queues: read"},
		{"a classic check of nobody", func(f *doctor.Facts) {
			f.Classic = &github.ClassicFacts{Checks: []github.RequiredCheck{{Context: "jenkins"}}}
			f.Rules = []github.RuleFacts{rule("required_status_checks", "no", "jenkins")}
		}, doctor.Warns, "checks", "no App can bypass a required check of branch protection", "by a ruleset in place"},
		{"Actions off", func(f *doctor.Facts) { f.Actions.Off = true }, doctor.Blocks, "actions", "switched off", "Settings > Actions > General"},
		{"a policy", func(f *doctor.Facts) {
			f.Actions.Refused = &github.RunFacts{Path: ".github/workflows/ci.yml", Branch: "submitqueue/main/1", URL: "https://x/1"}
		}, doctor.Blocks, "actions", "refused to start .github/workflows/ci.yml", "Actions > Policies"},
		{"Actions unread", func(f *doctor.Facts) { f.ActionsErr = errors.New("502") }, doctor.Warns, "actions", "502", "run this again"},
		{"pushes of one", func(f *doctor.Facts) { f.Trial = &doctor.Trial{Refs: 21, Most: 1} }, doctor.Warns, "pushes", "takes 1 ref", "Pushes"},
		{"pushes of a few", func(f *doctor.Facts) { f.Trial = &doctor.Trial{Refs: 21, Most: 5} }, doctor.Warns, "pushes", "takes 5 refs", "raise it"},
		{"pushes refused", func(f *doctor.Facts) { f.Trial = &doctor.Trial{Refs: 21, Err: errors.New("no creation")} }, doctor.Warns, "pushes", "no creation", "branches of builds"},
		{"build branches", func(f *doctor.Facts) { f.BuildRules = []github.RuleFacts{rule("creation", "no")} }, doctor.Warns, "branch", "submitqueue/**), too: creation", "without submitqueue/**"},
		{"a check of pull requests only", func(f *doctor.Facts) {
			f.Rules = []github.RuleFacts{rule("required_status_checks", "no", "test (1, 2)")}
			workflow("on: [pull_request]\njobs: {t: {name: test, strategy: {matrix: {a: [1]}}}}\n")(f)
		}, doctor.Blocks, "checks", "ci.yml, which reports it, does not run for builds", "branches: ['submitqueue/**']"},
		{"a check of nobody", func(f *doctor.Facts) {
			f.Classic = &github.ClassicFacts{Checks: []github.RequiredCheck{{Context: "jenkins"}}}
		}, doctor.Warns, "checks", "no workflow here reports it", "let the CI"},
		{"paths", workflow("on: {push: {branches: ['**'], paths: ['src/**']}}\njobs: {b: {}}\n"), doctor.Warns, "workflows", "filter on paths", "take paths"},
		{"group", workflow("on: push\nconcurrency: {group: ci, cancel-in-progress: true}\njobs: {b: {}}\n"), doctor.Warns, "workflows", "same group", "github.ref"},
		{"affected", workflow("on: push\njobs: {b: {steps: [{run: npx nx affected -t test}]}}\n"), doctor.Warns, "workflows", "nx affected", "that the queue names"},
		{"a step's check elsewhere", func(f *doctor.Facts) {
			f.Config = []byte("version: 1\nsteps:\n  - {name: ci, checks: [b], scope: repository}\n")
			workflow("on: [pull_request]\njobs: {b: {}}\n")(f)
		}, doctor.Blocks, "checks", `step "ci" waits for the check "b", and ci.yml, which reports it, does not run`, "submitqueue/**"},
		{"a step's check of nobody", func(f *doctor.Facts) {
			f.Config = []byte("version: 1\nsteps:\n  - {name: ci, checks: [c], scope: repository}\n")
			workflow("on: push\njobs: {b: {}}\n")(f)
		}, doctor.Warns, "checks", `"c", and no workflow here reports it`, "mend the name"},
		{"a step's check of nobody, beside one of another App", func(f *doctor.Facts) {
			f.Config = []byte("version: 1\nsteps:\n  - {name: ci, checks: [{name: c, app: circle}, {name: d, app: github-actions}], scope: repository}\n")
			workflow("on: push\njobs: {b: {}}\n")(f)
		}, doctor.Warns, "checks", `"d", and no workflow here reports it`, "mend the name"},
		{"a check of two workflows", func(f *doctor.Facts) {
			f.Config = []byte("version: 1\nsteps:\n  - {name: ci, checks: [b], scope: repository}\n")
			workflow("on: push\njobs: {b: {}}\n")(f)
			f.Workflows = append(f.Workflows, github.WorkflowFile{Path: ".github/workflows/second.yml", Data: []byte("on: push\njobs: {c: {name: b}}\n")})
		}, doctor.Warns, "checks", `the check "b", which ci.yml, second.yml all report`, "names of their own"},
		{"a check behind another job", func(f *doctor.Facts) {
			f.Config = []byte("version: 1\nsteps:\n  - {name: ci, checks: [b], scope: repository}\n")
			workflow("on: push\njobs: {setup: {}, b: {needs: setup}}\n")(f)
		}, doctor.Warns, "checks", `whose job in ci.yml needs setup first`, "name these"},
		{"merge group", workflow("on: [merge_group]\njobs: {b: {}}\n"), doctor.Warns, "workflows", "merge_group", "submitqueue/**"},
		{"bad workflow", workflow("on: [push\n"), doctor.Warns, "workflows", "ci.yml: this is no YAML", "Actions page"},
		{"memory", func(f *doctor.Facts) { f.Redis.Memory = true }, doctor.Warns, "redis", "a restart empties it", "redis-server"},
		{"no redis", func(f *doctor.Facts) { f.Redis.Err = errors.New("refused") }, doctor.Blocks, "redis", "does not answer", "--redis"},
		{"lossy redis", func(f *doctor.Facts) { f.Redis.Warns = "appendonly is off" }, doctor.Warns, "redis", "appendonly is off", "appendfsync"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := healthy()
			c.spoil(&f)
			list := doctor.Judge(f)
			worst := 0
			for _, found := range list {
				if found.Level != doctor.Fine {
					worst++
				}
			}
			got := list[0]
			if got.Level != c.level || got.About != c.about || !strings.Contains(got.Says, c.says) || !strings.Contains(got.Fix, c.fix) || worst != 1 {
				t.Errorf("%d findings that are not fine; the first: %+v", worst, got)
			}
			if doctor.Blocked(list) != (c.level == doctor.Blocks) {
				t.Error("Blocked is wrong")
			}
		})
	}
}

// Each rule that nobody here judges is explained.
func TestRefusedRulesAreSaid(t *testing.T) {
	for _, row := range github.RuleTypes() {
		if row.Judging != github.RuleRefused {
			continue
		}
		for bypass, level := range map[string]doctor.Level{"yes": doctor.Blocks, "unknown": doctor.Blocks, "no": doctor.Warns} {
			f := healthy()
			f.Rules = []github.RuleFacts{{Type: row.Type, Ruleset: "7", Bypass: bypass}}
			if got := doctor.Judge(f)[0]; got.Level != level || got.About != "branch" || strings.Contains(got.Says, "does not know") {
				t.Errorf("%s, bypass %s: %+v", row.Type, bypass, got)
			}
		}
	}
}

func without(m map[string]string, name string) map[string]string {
	out := map[string]string{}
	for k, v := range m {
		if k != name {
			out[k] = v
		}
	}
	return out
}

// What the App may bypass is no fault.
// TestIgnoreIsMentioned holds that the doctor says how to find out whether
// what is ignored is read.
func TestIgnoreIsMentioned(t *testing.T) {
	f := healthy()
	f.Config = []byte("version: 1\nanalysis: {analyzer: go, ignore: [\"docs/**\"]}\nsteps:\n  - {name: test, run: \"go test {targets}\"}\n")
	for _, found := range doctor.Judge(f) {
		if found.About == "config" {
			if found.Level != doctor.Fine || !strings.Contains(found.Says, "1 glob of ignore names runs no step") || !strings.Contains(found.Says, "submitqueue audit inputs") {
				t.Errorf("%+v", found)
			}
			return
		}
	}
	t.Error("nothing is said of the configuration")
}

func TestBypass(t *testing.T) {
	f := healthy()
	for _, kind := range []string{"required_signatures", "required_linear_history", "merge_queue", "required_status_checks", "commit_message_pattern", "copilot_code_review"} {
		f.Rules = append(f.Rules, github.RuleFacts{Type: kind, Ruleset: "7", Bypass: "yes", Checks: []github.RequiredCheck{{Context: "x"}}})
	}
	for _, found := range doctor.Judge(f) {
		if found.Level != doctor.Fine {
			t.Errorf("%+v", found)
		}
	}
}

func TestTriggers(t *testing.T) {
	for on, starts := range map[string]bool{
		"push":                       true,
		"[pull_request, push]":       true,
		"pull_request":               false,
		"{push: {branches: [main]}}": false,
		"{push: {branches: ['*']}}":  false, // no slash
		"{push: {branches: ['**']}}": true,
		"{push: {branches: ['**', '!submitqueue/**']}}":  false,
		"{push: {branches: ['!submitqueue/x', '**']}}":   true,
		"{push: {branches-ignore: ['submitqueue/**']}}":  false,
		"{push: {branches-ignore: [gh-pages]}}":          true,
		"{push: {tags: ['v*']}}":                         false,
		"{push: {tags: ['v*'], branches-ignore: [old]}}": true,
		"{push: null}":                       true,
		"{push: {branches: submitqueue/**}}": true,
	} {
		if w := doctor.ReadWorkflow("x.yml", []byte("on: "+on+"\njobs: {}\n")); w.Err != nil || w.Starts != starts {
			t.Errorf("on: %s: starts %v, %v", on, w.Starts, w.Err)
		}
	}
}

func FuzzReadWorkflow(f *testing.F) {
	f.Add([]byte("on: push\njobs: {a: {name: 'x ${{ y }}'}}"))
	f.Add([]byte("on: {push: {branches: [1, {}]}}\nconcurrency: []\njobs: {a: 1, b: [], c: {strategy: 3, name: {}}}"))
	f.Fuzz(func(t *testing.T, data []byte) { doctor.ReadWorkflow("x", data) })
}

func TestWrite(t *testing.T) {
	var b strings.Builder
	list := []doctor.Finding{{doctor.Blocks, "app", "it is gone", "install it", "https://q.example.com/docs/troubleshoot#doctor-app"}, {doctor.Fine, "webhook", "https://x/webhook", "", ""}}
	if err := doctor.Write(&b, "acme/shop", list); err != nil {
		t.Fatal(err)
	}
	want := "acme/shop: 1 problem, 0 warnings, 1 fine\n\nFAIL  app      it is gone\n               fix: install it\n               see: https://q.example.com/docs/troubleshoot#doctor-app\nok    webhook  https://x/webhook\n"
	if b.String() != want {
		t.Errorf("%q", b.String())
	}
}

// What others wrote cannot move the cursor.
func TestHostile(t *testing.T) {
	f := healthy()
	f.Protection = forge.Protection{Rule: "\x1b[2Jgone\u202e"}
	if got := doctor.Judge(f)[0].Says; strings.ContainsAny(got, "\x1b\u202e") {
		t.Errorf("%q", got)
	}
}

// A pass of a part is not to count for the whole tree.
func TestCoversTree(t *testing.T) {
	f := healthy()
	f.Config = []byte("version: 1\nanalysis: {analyzer: go}\nsteps:\n  - {name: ci, checks: [b], scope: targets, covers: tree}\n")
	for text, want := range map[string]string{
		"on: {push: {paths: [src/**]}}\njobs: {b: {}}\n":                   "(a filter on paths)",
		"on: push\njobs: {b: {steps: [{run: npx nx affected -t test}]}}\n": "(nx affected)",
		"on: push\njobs: {b: {}}\n":                                        "",
	} {
		f.Workflows = []github.WorkflowFile{{Path: ".github/workflows/ci.yml", Data: []byte(text)}}
		got := ""
		for _, x := range doctor.Judge(f) {
			if x.About == "checks" && x.Level == doctor.Blocks {
				got += x.Says
			}
		}
		if want == "" && got != "" || !strings.HasSuffix(got, want) {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// What passes on heads counts, would, or does not, and what is missing is said.
func TestHeads(t *testing.T) {
	const plain = "on: {push: {branches: ['**', '!main']}}\njobs: {b: {steps: [{run: make}]}}\n"
	for _, c := range []struct {
		name, step, workflow string
		level                doctor.Level
		says                 string
	}{
		{"counts", "scope: targets, covers: tree, earlier: count", plain, doctor.Fine, `step "ci": what ci.yml passes on heads of pull requests counts`},
		{"would", "scope: targets, covers: tree", plain, doctor.Fine, "would count with earlier: count"},
		{"the tree", "scope: repository, earlier: count", plain, doctor.Fine, "pull requests counts"},
		{"could not", "scope: targets, covers: tree", "on: push\njobs: {b: {steps: [{uses: actions/cache@v4}]}}\n", doctor.Fine, "could not count: ci.yml: it uses actions/cache@v4"},
		{"a cache", "scope: targets, covers: tree, earlier: count", "on: push\njobs: {b: {steps: [{uses: actions/cache@v4}]}}\n", doctor.Warns, "counts for nothing: ci.yml: it uses actions/cache@v4"},
		{"builds only", "scope: targets, covers: tree, earlier: count", "on: {push: {branches: ['submitqueue/**']}, pull_request: {}}\njobs: {b: {steps: [{run: make}]}}\n", doctor.Warns, "a push of a pull request's branch does not start it"},
		{"of merges", "scope: targets, covers: tree, earlier: count", "run-name: CI of ${{ github.sha }}\non: {push: {branches: ['submitqueue/**']}, pull_request: {}}\njobs: {b: {steps: [{run: make}]}}\n", doctor.Fine, "pull requests counts"},
		{"not the tree", "scope: targets, earlier: count", plain, doctor.Warns, "it does not say covers: tree"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := healthy()
			f.Config = []byte("version: 1\nanalysis: {analyzer: go}\nsteps:\n  - {name: ci, checks: [b], " + c.step + "}\n")
			f.Workflows = []github.WorkflowFile{{Path: ".github/workflows/ci.yml", Data: []byte(c.workflow)}}
			n := 0
			for _, x := range doctor.Judge(f) {
				if x.About != "heads" {
					continue
				}
				if n++; x.Level != c.level || !strings.Contains(x.Says, c.says) || (x.Fix == "") != (c.level == doctor.Fine) {
					t.Errorf("%+v", x)
				}
			}
			if n != 1 {
				t.Errorf("%d findings", n)
			}
		})
	}
}
