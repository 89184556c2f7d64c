package forgetest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Refusal is how GitHub, or a server like it, answers a push that it does not take.
type Refusal struct {
	Name   string
	Reason string   // of each ref; "": no ref is reported, and git says "remote failed to report status"
	Said   []string // to the person pushing: git puts "remote: " before each
	Status int      // the HTTP status that answers git's first request of a push, with Said as its body; 0: that request succeeds
	Cut    bool     // there is no answer: the connection ends
	After  bool     // the push takes effect all the same
	Source string   // where it was seen; see Refusals
}

// Refusals are answers by their meaning, with names changed to those of this fake ("main",
// "acme/shop"). A Source that is a thread (owner/repository#number) was read, and has the
// words. A Source that begins with "unread" was not read: the words are as commonly known.
// No thread tells of a push that took effect all the same (After); a lost answer can hide
// that.
var Refusals = struct {
	Rules   []Refusal // somebody has to change the commits or the settings
	Trouble []Refusal // the server itself has trouble: the same push goes through later
	Races   []Refusal // somebody else has moved the branch, or is moving it
}{
	Rules: []Refusal{
		{Name: "GH006 pull request", Reason: "protected branch hook declined", Source: "foundry-rs/block-explorers#110",
			Said: []string{"error: GH006: Protected branch update failed for refs/heads/main.", "", "- Changes must be made through a pull request."}},
		{Name: "GH006 pull request, one line", Reason: "protected branch hook declined", Source: "supportpal/github-gh-cli#47",
			Said: []string{"error: GH006: Protected branch update failed for refs/heads/main.", "error: Changes must be made through a pull request. Required status check \"Build\" is expected."}},
		{Name: "GH006 not authorized", Reason: "protected branch hook declined", Source: "az-digital/arizona-bootstrap#1524",
			Said: []string{"error: GH006: Protected branch update failed for refs/heads/main.", "", "- You're not authorized to push to this branch. Visit https://docs.github.com/about-protected-branches for more information."}},
		{Name: "GH006 forced", Reason: "protected branch hook declined", Source: "bitcoin/bitcoin#6697",
			Said: []string{"error: GH006: Protected branch update failed for refs/heads/main.", "error: Cannot force-push to a protected branch"}},
		{Name: "GH006 signatures", Reason: "protected branch hook declined", Source: "ArgonFetch/ArgonFetch#186",
			Said: []string{"error: GH006: Protected branch update failed for refs/heads/main.", "- Commits must have verified signatures."}},
		{Name: "GH006 signatures, older", Reason: "protected branch hook declined", Source: "lcpp-org/crane#86",
			Said: []string{"error: GH006: Protected branch update failed for refs/heads/main.", "error: Commits must have valid signatures. Changes must be made through a pull request."}},
		{Name: "GH013 pull request", Reason: "push declined due to repository rule violations", Source: "henne49/dbus-opendtu#235",
			Said: []string{"error: GH013: Repository rule violations found for refs/heads/main.", "Review all repository rules at https://github.com/acme/shop/rules?ref=refs%2Fheads%2Fmain", "", "- Changes must be made through a pull request."}},
		{Name: "GH013 checks and code scanning", Reason: "push declined due to repository rule violations", Source: "gleam-lang/gleam#6080",
			Said: []string{"error: GH013: Repository rule violations found for refs/heads/main.", "- Changes must be made through a pull request.", "", "- 12 of 12 required status checks are expected.", "", "- Code scanning is waiting for results from CodeQL for the commit cfbb5c1."}},
		{Name: "GH013 number of refs", Reason: "push declined due to repository rule violations", Source: "ejoffe/spr#422",
			Said: []string{"error: GH013: Repository rule violations found for refs/heads/main.", "Review all repository rules at http://github.com/acme/shop/rules", "", "- Pushes can not update more than 5 branches or tags."}},
		{Name: "GH013 secrets", Reason: "push declined due to repository rule violations", Source: "palxiao/poster-design#140",
			Said: []string{"error: GH013: Repository rule violations found for refs/heads/main.", "", "- GITHUB PUSH PROTECTION", "  Resolve the following violations before pushing again", "", "  - Push cannot contain secrets"}},
		{Name: "GH013 without words", Reason: "push declined due to repository rule violations", Source: "ViscousPot/GitSync#1301"},
		{Name: "GH001 large files", Reason: "pre-receive hook declined", Source: "sanskrit-lexicon/COLOGNE#365",
			Said: []string{"error: Trace: 83e8ea79de23baec9c518a4d315dd573", "error: See http://git.io/iEPt8g for more information.", "error: File boesp-1.pdf is 122.92 MB; this exceeds GitHub's file size limit of 100.00 MB", "error: GH001: Large files detected. You may want to try Git Large File Storage - https://git-lfs.github.com."}},
		{Name: "GH001 large file of a hostile name", Reason: "pre-receive hook declined", Source: "evalEmpire/gitpan#110, another name",
			Said: []string{"error: GH001: Large files detected.", "error: File Internal Server Error is 193.70 MB; this exceeds GitHub's file size limit of 100 MB"}},
		{Name: "workflow file", Reason: "refusing to allow a GitHub App to create or update workflow `.github/workflows/dlc.yml` without `workflows` permission", Source: "repo-sync/github-sync#23"},
		{Name: "hook of an Enterprise server", Reason: "pre-receive hook declined", Source: "progrium/gitreceive#36"},
		{Name: "hidden ref", Reason: "deny updating a hidden ref", Source: "kbroman/qtl#49"},
		{Name: "GitLab's protected branch", Reason: "pre-receive hook declined", Source: "unread: docs.gitlab.com: Protected branches",
			Said: []string{"GitLab: You are not allowed to push code to protected branches on this project."}},
		{Name: "no permission", Status: http.StatusForbidden, Source: "bloomberg/rmqcpp#61", Said: []string{"Permission to acme/shop.git denied to github-actions[bot]."}},
		{Name: "archived", Status: http.StatusForbidden, Source: "unread: docs.github.com: Archiving repositories", Said: []string{"This repository was archived so it is read-only."}},
	},
	Trouble: []Refusal{
		{Name: "failure", Reason: "failure", Source: "desktop/desktop#16398", Said: []string{"fatal error in commit_refs"}},
		{Name: "failure without words", Reason: "failure", Source: "unread: JamesIves/github-pages-deploy-action#718"},
		{Name: "failed", Reason: "failed", Source: "desktop/desktop#16804"},
		{Name: "internal server error", Reason: "Internal Server Error", Source: "desktop/desktop#21249", Said: []string{"Internal Server Error"}},
		{Name: "no report", Source: "LSSTDESC/descwl-shear-sims#64", Said: []string{"Internal Server Error"}},
		{Name: "no report of what arrived", Source: "isaacs/github#1741", Said: []string{"Internal Server Error"}, After: true},
		{Name: "failure of what arrived", Reason: "failure", Source: "desktop/desktop#16398", Said: []string{"fatal error in commit_refs"}, After: true},
		{Name: "no report, without words", Source: "renovatebot/renovate#17590"},
		{Name: "a trace of GitHub's own code", Source: "mislav/hub#1722", Said: []string{"lib/github/statsd.rb:23:in `ip': getaddrinfo: Name or service not known (SocketError)"}},
		{Name: "unpacker", Reason: "unpacker error", Source: "WuyiUniversity/forum#15", Said: []string{"fatal: early EOF"}},
		{Name: "unpacker, older", Reason: "n/a (unpacker error)", Source: "yona-projects/yona#725"},
		{Name: "GitLab's own services", Reason: "pre-receive hook declined", Source: "unread: docs.gitlab.com: Troubleshooting Git, internal API", Said: []string{"GitLab: Internal API unreachable"}},
		{Name: "500", Status: http.StatusInternalServerError, Source: "upleveled/notion-backup#371"},
		{Name: "502", Status: http.StatusBadGateway, Source: "MakerPress/atlas-public-feedback#125"},
		{Name: "503", Status: http.StatusServiceUnavailable, Source: "unread: githubstatus.com: degraded Git operations"},
		{Name: "429", Status: http.StatusTooManyRequests, Source: "unread: docs.github.com: Rate limits for Git operations"},
		{Name: "hung up", Cut: true, Source: "desktop/desktop#12186"},
		{Name: "hung up when it had arrived", Cut: true, After: true, Source: "desktop/desktop#12569"},
	},
	Races: []Refusal{
		{Name: "lock", Reason: "cannot lock ref 'refs/heads/main': is at 66941e6196d60ec8a5f14cc3cd5764037bad4e82 but expected cdec69331ca3b4565378c23c6f917d5f89426a3a", Source: "slsa-framework/example-package#250"},
		{Name: "update", Reason: "failed to update ref", Source: "unread: git: builtin/receive-pack.c"},
	},
}

// planned is a refusal that answers pushes to a branch.
type planned struct {
	Refusal
	ref  string
	left int
}

// RefusePushes answers the next pushes of a branch, each as a whole, with a refusal.
// A refusal with a Status answers the next pushes of any branch. Earlier refusals
// are used first.
func (r *Repository) RefusePushes(branch string, x Refusal, times int) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.refusals = append(r.refusals, &planned{x, "refs/heads/" + branch, times})
	r.s.touch()
}

// RefusedPushes returns how many refusals are still to come.
func (r *Repository) RefusedPushes() (left int) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	for _, p := range r.refusals {
		left += p.left
	}
	return left
}

// LimitPushes sets "Limit how many branches and tags can be updated in a single push": a
// push of more refs is refused as a whole, for everybody, with the words of
// ejoffe/spr#422. No interface tells the setting. 0 removes it.
func (r *Repository) LimitPushes(refs int) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.pushLimit = refs
	r.s.touch()
}

// tooMany returns the refusal of a push of more refs than are allowed, or nil.
func (r *Repository) tooMany(moves []refMove) *Refusal {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	if r.pushLimit == 0 || len(moves) <= r.pushLimit {
		return nil
	}
	return &Refusal{Reason: "push declined due to repository rule violations", Said: []string{
		"error: GH013: Repository rule violations found for " + moves[0].ref + ".",
		"Review all repository rules at " + r.s.url + "/" + r.fullName() + "/rules", "",
		fmt.Sprintf("- Pushes can not update more than %d branches or tags.", r.pushLimit)}}
}

// plannedRefusal takes one use of the first refusal that is planned for one of the moves.
// Without moves, it takes the first refusal with a Status, which answers before the moves
// are known.
func (r *Repository) plannedRefusal(moves []refMove) *Refusal {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	for _, p := range r.refusals {
		early := p.Status != 0
		if p.left > 0 && early == (len(moves) == 0) && (early || slices.ContainsFunc(moves, func(m refMove) bool { return m.ref == p.ref })) {
			p.left--
			r.s.touch()
			return &p.Refusal
		}
	}
	return r.s.outage.refusal(len(moves) == 0)
}

// all makes the refusal the result of each move.
func (x *Refusal) all(moves []refMove) pushResult {
	res := pushResult{moves: moves, reason: make([]string, len(moves)), lines: x.Said}
	for i := range res.reason {
		res.reason[i] = x.Reason
	}
	return res
}

// early answers git's first request of a push, and says whether it did.
func (x *Refusal) early(w http.ResponseWriter) bool {
	if x == nil {
		return false
	}
	w.Header().Set("Content-Type", "text/plain")
	w.WriteHeader(x.Status)
	_, _ = w.Write([]byte(strings.Join(x.Said, "\n") + "\n"))
	return true
}

// cut ends the connection in the middle of an answer, since git repeats a request
// that got no answer at all on a connection it has used before.
func (x *Refusal) cut(w http.ResponseWriter) {
	_, _ = w.Write([]byte("00"))
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}
