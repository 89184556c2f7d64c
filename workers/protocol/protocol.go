// Package protocol has the messages of the GitLab Runner job protocol, which package
// coordinator speaks as the server and package agent as a client.
//
// All paths are below /api/v4. A runner asks for a job with its runner token, and gets a job
// with its own token, which ends with the job:
//
//	POST  runners/verify      VerifyRequest   200 Verified      403: no such token
//	DELETE runners/managers   VerifyRequest   204
//	POST  jobs/request        JobRequest      201 Job           204: nothing to do
//	PATCH jobs/ID/trace       bytes           202               416: go on at Range
//	PUT   jobs/ID             Update          200               412: send the trace again from 0, then this; 202: say it again
//	POST  jobs/ID/artifacts   multipart       201
//	GET   submitqueue/environments            200 Environments  ours
//
// The names of fields, headers and states are those that gitlab-runner 15.4, 17.9 and 18.6 were
// seen to send (gitlab-org/gitlab-runner, common/network.go and network/). Versions leave out
// different fields; fields that are not here are ignored. Fields with names that begin with
// submitqueue_ are ours, between package agent and package coordinator; other runners ignore
// them.
package protocol

import "encoding/json"

// Headers that carry a token, each in one part of the protocol. Older runners send a token in
// the body only.
const (
	HeaderJobToken     = "JOB-TOKEN"
	HeaderRunnerToken  = "RUNNER-TOKEN"
	HeaderPrivateToken = "PRIVATE-TOKEN"
)

// Headers of answers.
const (
	HeaderLastUpdate     = "X-GitLab-Last-Update"           // comes back in JobRequest.LastUpdate
	HeaderJobStatus      = "Job-Status"                     // the state of the job: a State
	HeaderUpdateInterval = "X-GitLab-Trace-Update-Interval" // seconds
	HeaderRequestID      = "X-Request-Id"
	HeaderEnvironments   = "X-SubmitQueue-Environments" // ours, to JobRequest: Environments.Digest
)

// State is the state of a job, in Update and in HeaderJobStatus.
type State string

// The states of a job. Canceling has a runner end the script and run the after_script; Canceled
// has it end everything.
const (
	StatePending   State = "pending" // since 18.5, of a job that its runner prepares
	StateRunning   State = "running"
	StateSuccess   State = "success"
	StateFailed    State = "failed"
	StateCanceling State = "canceling"
	StateCanceled  State = "canceled"
)

// Failure is why a job has failed, in the runner's words.
type Failure string

// The reasons that runners give for a failed job. Only ScriptFailure can be a verdict; runners
// also give it for a failed checkout.
const (
	ScriptFailure       Failure = "script_failure"
	JobExecutionTimeout Failure = "job_execution_timeout"
	RunnerSystemFailure Failure = "runner_system_failure"
	RunnerInterrupted   Failure = "runner_interrupted"
	ImagePullFailure    Failure = "image_pull_failure"
	UnknownFailure      Failure = "unknown_failure"
)

// Failures are the reasons that a server lists in Job.Features, so that runners do not
// map them to older ones.
func Failures() []Failure {
	return []Failure{ScriptFailure, JobExecutionTimeout, RunnerSystemFailure, RunnerInterrupted, ImagePullFailure, UnknownFailure,
		"runner_unsupported", "configuration_error", "runner_configuration_error", "runner_external_dependency_failure"}
}

// Info is a runner's description of itself.
type Info struct {
	Name         string            `json:"name,omitempty"`
	Version      string            `json:"version,omitempty"`
	Revision     string            `json:"revision,omitempty"`
	Platform     string            `json:"platform,omitempty"`     // as runtime.GOOS
	Architecture string            `json:"architecture,omitempty"` // as runtime.GOARCH
	Executor     string            `json:"executor,omitempty"`     // shell, docker, kubernetes, ...
	Shell        string            `json:"shell,omitempty"`
	Features     map[string]bool   `json:"features,omitempty"`
	Labels       map[string]string `json:"labels,omitempty"` // since 18.5
	Config       json.RawMessage   `json:"config,omitempty"`
}

// VerifyRequest asks whether a runner token is valid.
type VerifyRequest struct {
	Token    string `json:"token,omitempty"`
	SystemID string `json:"system_id,omitempty"` // the machine: a token may be used by several
	Info     Info   `json:"info,omitzero"`
}

// Verified answers a VerifyRequest.
type Verified struct {
	ID        int64   `json:"id"`
	Token     string  `json:"token"`
	ExpiresAt *string `json:"token_expires_at"` // RFC 3339; null: never
}

// JobRequest asks for a job.
type JobRequest struct {
	Info       Info   `json:"info,omitzero"`
	Token      string `json:"token,omitempty"`
	SystemID   string `json:"system_id,omitempty"`
	LastUpdate string `json:"last_update,omitempty"`

	Tools []Tool `json:"submitqueue_tools,omitempty"` // ours
}

// FeatureTools is the feature of runners that send the output of the environment commands of
// steps in JobRequest.Tools. HeaderEnvironments tells them when the commands have changed.
const FeatureTools = "submitqueue_tools"

// Environments are the environment commands of steps: GET submitqueue/environments, with a
// runner token.
type Environments struct {
	Digest   string   `json:"digest"` // "": there are none
	Commands []string `json:"commands"`
}

// Tool is the output of an environment command on a machine.
type Tool struct {
	Command     string `json:"command"`
	Fingerprint string `json:"fingerprint,omitempty"` // of its output; "": it failed
	Error       string `json:"error,omitempty"`       // why, for people
}

// Job is a job that a runner is to run.
type Job struct {
	ID            int64      `json:"id"`
	Token         string     `json:"token"`
	AllowGitFetch bool       `json:"allow_git_fetch"` // the working copy of an earlier job may be used again
	JobInfo       JobInfo    `json:"job_info"`
	GitInfo       GitInfo    `json:"git_info"`
	RunnerInfo    RunnerInfo `json:"runner_info"`
	Variables     []Variable `json:"variables"`
	Steps         []Step     `json:"steps"`
	Image         *Image     `json:"image,omitempty"`
	Artifacts     []Artifact `json:"artifacts,omitempty"`
	Cache         []Cache    `json:"cache,omitempty"`
	Features      Features   `json:"features"`
}

// JobInfo is for logs.
type JobInfo struct {
	Name        string `json:"name"`
	Stage       string `json:"stage"`
	ProjectID   int64  `json:"project_id"`
	ProjectName string `json:"project_name"`
}

// GitInfo names the commit that is checked out.
type GitInfo struct {
	RepoURL  string   `json:"repo_url"` // with the job's token as password
	Ref      string   `json:"ref"`
	RefType  string   `json:"ref_type"` // branch
	SHA      string   `json:"sha"`      // at least 8 characters
	Refspecs []string `json:"refspecs"`
	Depth    int      `json:"depth"` // commits; 0: all

	// Ours: at RepoURL/submitqueue/outside the server lists, and gives, the content that the
	// checkout has beside the commit: submodules, and files of Git LFS.
	Outside bool `json:"submitqueue_outside,omitempty"`
}

// Outside is the content that a checkout needs beside its commit.
type Outside struct {
	Submodules []Submodule `json:"submodules,omitempty"` // each after the one that it lies in; number N is fetched from RepoURL/submodules/N.git
	Large      []LargeFile `json:"large,omitempty"`
}

// Submodule is a submodule of a commit, or of one of its submodules.
type Submodule struct {
	Path   string `json:"path"` // from the root of the checkout
	Commit string `json:"commit"`
	Name   string `json:"name"` // the same for the same repository: hexadecimal digits
}

// LargeFile is a file that Git LFS keeps: by its batch API at RepoURL/info/lfs.
type LargeFile struct {
	Path       string `json:"path"`
	OID        string `json:"oid"` // its SHA-256
	Size       int64  `json:"size"`
	Executable bool   `json:"executable,omitempty"`
}

// RunnerInfo has the limit of the whole job.
type RunnerInfo struct {
	Timeout int `json:"timeout"` // seconds; 0: 7200
}

// Variable is a variable of the environment.
type Variable struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Public bool   `json:"public"`
	File   bool   `json:"file,omitempty"`   // Value is written to a file, and the variable has the path of the file
	Masked bool   `json:"masked,omitempty"` // Value is not shown in logs
	Raw    bool   `json:"raw,omitempty"`    // $ in Value means nothing
}

// Step is a part of a job's script: "script", then "after_script".
type Step struct {
	Name         string   `json:"name"`
	Script       []string `json:"script"`
	Timeout      int      `json:"timeout"` // seconds; not enforced by stock runners
	When         string   `json:"when"`    // on_success, on_failure, always
	AllowFailure bool     `json:"allow_failure"`
}

// Image is a container image, for executors that use them.
type Image struct {
	Name string `json:"name"`
}

// Artifact names files that a runner uploads when the script has ended.
type Artifact struct {
	Name   string   `json:"name,omitempty"`
	Paths  []string `json:"paths"`
	When   string   `json:"when"` // on_success, on_failure, always
	Type   string   `json:"artifact_type"`
	Format string   `json:"artifact_format"` // zip, gzip, raw
}

// Cache names folders that a runner keeps from job to job.
type Cache struct {
	Key          string   `json:"key"`
	Policy       string   `json:"policy"` // pull-push, pull, push
	Paths        []string `json:"paths"`
	When         string   `json:"when"`
	FallbackKeys []string `json:"fallback_keys,omitempty"`

	Unkeyed bool `json:"submitqueue_unkeyed,omitempty"` // ours: it is one for all commits
}

// Features says what the server understands.
type Features struct {
	TraceSections  bool      `json:"trace_sections"`
	FailureReasons []Failure `json:"failure_reasons,omitempty"`
}

// Update is the heartbeat of a job (StateRunning) or its end.
type Update struct {
	Info     Info    `json:"info,omitzero"`
	Token    string  `json:"token,omitempty"`
	State    State   `json:"state"`
	Failure  Failure `json:"failure_reason,omitempty"`
	ExitCode int     `json:"exit_code,omitempty"`
	Output   Output  `json:"output,omitzero"`

	// Ours, at the end of a job: whether it had caches of earlier jobs. A job without this
	// field may have had them.
	Cached *bool `json:"submitqueue_cached,omitempty"`
	// Ours: not all of the output was sent, as there was too much.
	Cut bool `json:"submitqueue_cut,omitempty"`
	// Ours: why the runner could not run the job, for people.
	Detail string `json:"submitqueue_detail,omitempty"`
}

// Output is the size and checksum of the whole trace that a runner has sent, to be compared
// with what arrived.
type Output struct {
	Checksum string `json:"checksum,omitempty"` // "crc32:%08x", IEEE
	Bytesize int64  `json:"bytesize,omitempty"`
}
