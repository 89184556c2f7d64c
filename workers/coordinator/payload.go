package coordinator

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/workers"
	"github.com/submitqueue/submitqueue/workers/protocol"
)

// Times of jobs.
const (
	defaultTimeout = time.Hour
	margin         = 10 * time.Minute // for the checkout and the end, on top of the step's time
)

// payload returns a job in the form for its runner.
func (c *Coordinator) payload(j *job) protocol.Job {
	b, work := j.a.Build, j.a.Build.Jobs[0]
	limit := workers.Limit(work, defaultTimeout)
	ref := string(b.Commit)
	if c.o.Ref != nil {
		ref = c.o.Ref(b)
	}
	p := protocol.Job{
		ID: j.id, Token: j.token, AllowGitFetch: true,
		JobInfo:    protocol.JobInfo{Name: work.Step.Name, Stage: "submitqueue", ProjectID: 1, ProjectName: projectOf(c.o.RepoURL(b))},
		GitInfo:    protocol.GitInfo{RepoURL: withPassword(c.o.RepoURL(b), j.token), Ref: ref, RefType: "branch", SHA: string(b.Commit), Refspecs: []string{"+" + ref + ":refs/submitqueue/job"}, Depth: work.Step.Checkout.Commits(), Outside: !work.Step.Checkout.Plain()},
		RunnerInfo: protocol.RunnerInfo{Timeout: int((limit + margin) / time.Second)},
		Variables:  c.variables(j),
		Cache:      j.caches,
		Steps:      []protocol.Step{{Name: "script", Script: script(j.mark, limit, c.o.Grace, len(j.large) > 0), Timeout: int((limit + margin) / time.Second), When: "on_success"}},
		Features:   protocol.Features{TraceSections: true, FailureReasons: protocol.Failures()},
	}
	if j.report != nil && len(j.report.Files()) > 0 {
		p.Artifacts = []protocol.Artifact{{Name: "report", Paths: j.report.Files(), When: "always", Type: "archive", Format: "zip"}}
	}
	if work.Step.Image != "" {
		p.Image = &protocol.Image{Name: work.Step.Image}
	}
	return p
}

// variables are the variables of a job: those of every runner (package workers, Runner), the
// usual ones of GitLab, and those that tell the runner how to check out.
func (c *Coordinator) variables(j *job) []protocol.Variable {
	b, work := j.a.Build, j.a.Build.Jobs[0]
	targets := work.Step.ToolNames(work.Targets())
	lines := strings.Join(targets, "\n")
	plain := map[string]string{}
	maps.Copy(plain, c.o.Variables)
	maps.Copy(plain, work.Step.Env)
	maps.Copy(plain, map[string]string{
		"CI": "true", "CI_SERVER": "yes", "CI_SERVER_NAME": "SubmitQueue", "CI_SERVER_URL": c.o.Server,
		"CI_JOB_ID": strconv.FormatInt(j.id, 10), "CI_JOB_NAME": work.Step.Name, "CI_JOB_STAGE": "submitqueue", "CI_JOB_IMAGE": work.Step.Image,
		"CI_COMMIT_SHA": string(b.Commit), "CI_COMMIT_SHORT_SHA": string(b.Commit[:min(8, len(b.Commit))]), "CI_COMMIT_REF_NAME": "submitqueue/" + string(b.ID),
		"CI_COMMIT_BEFORE_SHA": string(b.Main), "CI_PIPELINE_ID": string(b.ID), "CI_PIPELINE_SOURCE": "api", "CI_REPOSITORY_URL": c.o.RepoURL(b),
		"SUBMITQUEUE": "1", "SUBMITQUEUE_BUILD": string(b.ID), "SUBMITQUEUE_COMMIT": string(b.Commit), "SUBMITQUEUE_STEP": work.Step.Name,
		"SUBMITQUEUE_MAIN": string(b.Main), "SUBMITQUEUE_CHANGE": string(b.Change),
		"GIT_STRATEGY": "fetch", "GIT_CLEAN_FLAGS": "-ffdxq", "GIT_SUBMODULE_STRATEGY": "none", "GIT_LFS_SKIP_SMUDGE": "1",
		"GET_SOURCES_ATTEMPTS": "2", "FF_TIMESTAMPS": "false",
	})
	delete(plain, "SUBMITQUEUE_TARGETS")
	if len(lines) <= maxInline {
		plain["SUBMITQUEUE_TARGETS"] = lines
	}
	if work.Step.Image == "" {
		delete(plain, "CI_JOB_IMAGE")
	}
	switch work.Step.Checkout.Submodules {
	case config.SubmodulesTop:
		plain["GIT_SUBMODULE_STRATEGY"] = "normal"
	case config.SubmodulesAll:
		plain["GIT_SUBMODULE_STRATEGY"] = "recursive"
	}
	if work.Step.Checkout.LFS.On() {
		delete(plain, "GIT_LFS_SKIP_SMUDGE")
	}
	var out []protocol.Variable
	for _, name := range slices.Sorted(maps.Keys(plain)) {
		out = append(out, protocol.Variable{Key: name, Value: plain[name], Public: true, Raw: true})
	}
	if lines != "" {
		lines += "\n"
	}
	out = append(out,
		protocol.Variable{Key: "SUBMITQUEUE_TARGETS_FILE", Value: lines, Public: true, Raw: true, File: true},
		protocol.Variable{Key: "SUBMITQUEUE_SCRIPT", Value: j.trial.Command() + "\n", Public: true, Raw: true, File: true})
	if len(j.large) > 0 {
		out = append(out, protocol.Variable{Key: "SUBMITQUEUE_LFS_FILES", Value: "./" + strings.Join(j.large, "\n./") + "\n", Public: true, Raw: true, File: true})
	}
	secrets := workers.SecretsOf(c.o.Secrets, b.Queue, c.o.Called)
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		out = append(out, protocol.Variable{Key: name, Value: secrets[name], Masked: true, Raw: true})
	}
	return out
}

// maxInline is the longest list of targets in a variable.
const maxInline = 64 << 10

// script is what a runner's shell runs, in the root of the checkout: sh, on Linux and macOS, in
// images that have no git. Its first line prints the commit, unless a file of Git LFS is still
// a pointer. The second runs the step in a process group of its own, ends it when its time is
// over or the runner says so, and tells how it has ended.
func script(mark string, limit, grace time.Duration, large bool) []string {
	check := ""
	if large {
		check = fmt.Sprintf(pointerScript, mark)
	}
	return []string{
		check + `read -r submitqueue_head < .git/HEAD && echo "` + mark + ` begin $submitqueue_head"`,
		fmt.Sprintf(stepScript, int(limit/time.Second), int(grace/time.Second), mark),
	}
}

// pointerScript takes the mark. Its first line has the mark, so that the log leaves this line
// out if a runner prints it. It looks only at files that are small enough to be pointers.
const pointerScript = `submitqueue_mark=%s; submitqueue_pointer=$(tr '\n' '\000' <"$SUBMITQUEUE_LFS_FILES" | xargs -0 sh -c 'find "$@" -type f -size -3 -exec grep -lF -e "version https://git-lfs.github.com/spec/" -e "version https://hawser.github.com/spec/" {} + 2>/dev/null | head -n 1' sh | head -n 1)
if [ -n "$submitqueue_pointer" ]; then printf '%%s pointer %%s\n' "$submitqueue_mark" "$submitqueue_pointer"; exit 1; fi
`

// stepScript takes the seconds of the step, those from SIGTERM to SIGKILL, and the mark.
// Without setsid (macOS) perl makes the group; without both, the shell alone is ended, and the
// runner does the rest. Bash prints a message about a killed process when the script waits for
// it; for the watch the script hides that message. A step that was ended for taking too long
// fails the script, so that no runner keeps its caches, which may be torn. The watch signals the
// process that has the trap, which is not $$: gitlab-runner evaluates the script in a subshell,
// and there $$ is the process above it.
const stepScript = `submitqueue_limit=%d submitqueue_grace=%d submitqueue_mark=%s
submitqueue_group=-
submitqueue_since=$(date +%%s)
if command -v setsid >/dev/null 2>&1; then
  setsid sh "$SUBMITQUEUE_SCRIPT" </dev/null &
elif command -v perl >/dev/null 2>&1; then
  perl -e 'setpgrp(0,0); exec @ARGV or die' sh "$SUBMITQUEUE_SCRIPT" </dev/null &
else
  submitqueue_group=
  sh "$SUBMITQUEUE_SCRIPT" </dev/null &
fi
submitqueue_pid=$!
submitqueue_end() {
  kill -s TERM -- "$submitqueue_group$submitqueue_pid" 2>/dev/null || :
  ( submitqueue_n=0
    while [ "$submitqueue_n" -lt "$submitqueue_grace" ] && kill -s 0 -- "$submitqueue_group$submitqueue_pid"; do
      sleep 1; submitqueue_n=$((submitqueue_n + 1))
    done
    kill -s KILL -- "$submitqueue_group$submitqueue_pid" ) >/dev/null 2>&1 </dev/null &
  submitqueue_killer=$!
}
submitqueue_self=$(exec sh -c 'echo "$PPID"')
submitqueue_late=
trap 'submitqueue_late=1; submitqueue_end' USR1
( submitqueue_n=0
  while [ "$submitqueue_n" -lt "$submitqueue_limit" ]; do sleep 1; submitqueue_n=$((submitqueue_n + 1)); done
  kill -s USR1 "$submitqueue_self" ) >/dev/null 2>&1 </dev/null &
submitqueue_watch=$!
trap 'kill -s KILL "$submitqueue_watch" 2>/dev/null; submitqueue_end; wait "$submitqueue_killer"; exit 143' TERM INT HUP
submitqueue_code=0
wait "$submitqueue_pid" || submitqueue_code=$?
while kill -s 0 "$submitqueue_pid" 2>/dev/null; do
  wait "$submitqueue_pid" && submitqueue_code=0 || submitqueue_code=$?
done
{ kill -s KILL "$submitqueue_watch"; wait "$submitqueue_watch"; } 2>/dev/null || :
kill -s KILL -- "$submitqueue_group$submitqueue_pid" 2>/dev/null || :
trap - TERM INT HUP USR1
[ -z "$submitqueue_late" ] || echo "$submitqueue_mark timeout"
echo "$submitqueue_mark end $submitqueue_code $(($(date +%%s) - submitqueue_since))"
[ -z "$submitqueue_late" ] || exit 143
[ "$submitqueue_code" = 0 ] || exit "$submitqueue_code"`

// withPassword puts a job's token into an address.
func withPassword(address, token string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	u.User = url.UserPassword("gitlab-ci-token", token)
	return u.String()
}

// projectOf is the path of a repository, for a runner's folders and logs.
func projectOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "repository"
	}
	return strings.TrimSuffix(strings.Trim(u.Path, "/"), ".git")
}
