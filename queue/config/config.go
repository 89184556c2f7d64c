package config

import "time"

// Path is where a repository keeps its configuration.
const Path = ".submitqueue.yml"

// Config is the configuration of one repository. Steps and Analysis are read
// from the tree of the commit that is judged; all other fields from the target
// branch.
//
// The comments and tags below are the reference: Parse reads the tags,
// and the schema (Schema) is made from both.
type Config struct {
	// Version is the version of this format: 1.
	Version int `json:"version" yaml:"version" jsonschema:"required,enum=1"`
	// Steps must all pass, in any order; at least one.
	Steps []Step `json:"steps" yaml:"steps" jsonschema:"required,minItems=1,maxItems=100"`
	// Environment is the environment of each step with run that names none: see steps[].environment. Default none.
	Environment string `json:"environment,omitempty" yaml:"environment,omitempty" jsonschema:"minLength=1,maxLength=2000"`
	// Env are variables of each step with run, where the step does not set them itself. Secrets do not belong here: give them to the runner. Default none.
	Env map[string]string `json:"env,omitempty" yaml:"env,omitempty"`
	// Checkout is the checkout of each step with run, where the step does not say otherwise.
	Checkout Checkout `json:"checkout,omitzero" yaml:"checkout,omitempty"`
	// Quarantine are entries of each step with run on targets, beside those of the step itself: see steps[].quarantine. Default none.
	Quarantine []Quarantine `json:"quarantine,omitempty" yaml:"quarantine,omitempty" jsonschema:"maxItems=100"`
	// Analysis says how changes are told apart. Default: they are not, each conflicts with all others.
	Analysis Analysis `json:"analysis,omitzero" yaml:"analysis,omitempty"`
	// Queue holds order, caps and landing.
	Queue Rules `json:"queue,omitzero" yaml:"queue,omitempty"`
	// Permissions says who may do what.
	Permissions Permissions `json:"permissions,omitzero" yaml:"permissions,omitempty"`
}

// Analysis says how a tree is turned into targets.
type Analysis struct {
	// Analyzer is the program that reads the tree: none (the tree is one target), paths (the areas below), go (packages), cargo (crates), node (packages of npm, yarn and pnpm), gn (the targets of GN), bazel (those of Bazel) or command (the targets that the command below prints). Default none.
	Analyzer string `json:"analyzer,omitempty" yaml:"analyzer,omitempty" jsonschema:"enum=none,enum=paths,enum=go,enum=cargo,enum=node,enum=gn,enum=bazel,enum=command,default=none"`
	// Analyzers are the programs that read the tree where one is not enough; the list takes the place of analyzer. Default none.
	Analyzers []SubAnalysis `json:"analyzers,omitempty" yaml:"analyzers,omitempty" jsonschema:"minItems=1,maxItems=20"`
	// Areas are the targets of the analyzer paths, required there and refused elsewhere.
	Areas []Area `json:"areas,omitempty" yaml:"areas,omitempty" jsonschema:"maxItems=1000"`
	// Command is the shell command of the analyzer command, required there and refused elsewhere: it prints the targets of $SUBMITQUEUE_TREE, one JSON object a line.
	Command string `json:"command,omitempty" yaml:"command,omitempty" jsonschema:"minLength=1,maxLength=2000"`
	// Program are globs of all files of the repository that the command runs. It runs with these files as they are on the target branch; a change to one of them has no targets until it has landed. Default none.
	Program []string `json:"program,omitempty" yaml:"program,omitempty"`
	// Definitions are globs of files that shape the output of the command: every target depends on them, unless each target says which files it reads. Default none.
	Definitions []string `json:"definitions,omitempty" yaml:"definitions,omitempty"`
	// Timeout ends the tool of the analyzers command, gn and bazel when it takes longer; the tree is one target then. From 1s to 10m; default 1m.
	Timeout time.Duration `json:"timeout,omitempty" yaml:"timeout,omitempty" jsonschema_extras:"x-minimum=1s,x-maximum=10m"`
	// Unowned is what happens to files that no target claims and ignore does not name: all (they are in every target's hash), target (they are one target of their own), or ignore (ignore must name some; the others are in every target's hash). Default all.
	Unowned Unowned `json:"unowned,omitempty" yaml:"unowned,omitempty" jsonschema:"enum=all,enum=target,enum=ignore,default=all"`
	// Ignore are globs of unclaimed files that no step reads, e.g. docs/**; ** is all of them. Default none.
	Ignore []string `json:"ignore,omitempty" yaml:"ignore,omitempty"`
	// Barrier are globs of files that every target depends on, beside the built-in ones. Default none.
	Barrier []string `json:"barrier,omitempty" yaml:"barrier,omitempty"`
	// Inputs are files that targets read and that the analyzer does not see. They are in the hashes of these targets, too; no other hash loses a file by that. Default none.
	Inputs []Inputs `json:"inputs,omitempty" yaml:"inputs,omitempty" jsonschema:"minItems=1,maxItems=200"`
}

// Inputs says that some targets read some files.
type Inputs struct {
	// Targets are globs of target names, e.g. ./cmd/*; a leading "./" may be left out, and ** is all of them.
	Targets []string `json:"targets" yaml:"targets" jsonschema:"required,minItems=1"`
	// Files are globs, from the repository's root, of the files that they read; they may be files that ignore names.
	Files []string `json:"files" yaml:"files" jsonschema:"required,minItems=1"`
}

// Area is one target of the analyzer paths: the files that match Files.
type Area struct {
	// Name is the target's name: letters, digits, ".", "_", "-" and "/"; not tree or unowned.
	Name string `json:"name" yaml:"name" jsonschema:"required,maxLength=64,pattern=^[a-zA-Z0-9._/-]+$"`
	// Files are globs from the repository's root: * within a folder, ** across folders.
	Files []string `json:"files" yaml:"files" jsonschema:"required,minItems=1"`
	// Needs are the areas whose changes affect this one. Default none.
	Needs []string `json:"needs,omitempty" yaml:"needs,omitempty"`
}

// Unowned is what happens to files that no target claims.
type Unowned string

// The policies for unclaimed files.
const (
	UnownedAll    Unowned = "all"    // their content is in every target's hash
	UnownedTarget Unowned = "target" // they are one target, TargetUnowned, that every step must pass
	UnownedIgnore Unowned = "ignore" // those that Analysis.Ignore names are in no hash, the others in every one
)

// Order says which changes are ahead of which.
type Order string

// The orders.
const (
	OrderFinish  Order = "finish"  // by arrival + predicted duration
	OrderArrival Order = "arrival" // strictly first come, first served
)

// External says what a commit on main that we did not make does to landings.
type External string

// The policies for outside commits.
const (
	ExternalHold  External = "hold"  // landings wait until main is proven again, repairs excepted
	ExternalTrust External = "trust" // landings go on; each says how much of main is not proven
)

// Ingredient is a part of the planner that can be left out.
type Ingredient string

// The ingredients; package plan says what each does and is worth.
const (
	IngredientAdaptive        Ingredient = "adaptive"         // thresholds follow the measured accuracy
	IngredientAging           Ingredient = "aging"            // value grows with the hours waited
	IngredientBenefit         Ingredient = "benefit"          // value by lane and project
	IngredientBeliefs         Ingredient = "beliefs"          // predictions are updated by results
	IngredientBypass          Ingredient = "bypass"           // landing and rejecting before those ahead are decided
	IngredientEarly           Ingredient = "early"            // changes board the train shortly before their own builds end
	IngredientFlips           Ingredient = "flips"            // futures other than the likeliest
	IngredientJustInTime      Ingredient = "just-in-time"     // re-verifications wait for those ahead
	IngredientLanes           Ingredient = "lanes"            // the order by lanes; without it all arrive in one
	IngredientMargin          Ingredient = "margin"           // no change is overtaken for less than it costs
	IngredientPreempt         Ingredient = "preempt"          // a build takes the slot of one worth less
	IngredientQuotas          Ingredient = "quotas"           // caps on the builds of a team, an author or a project
	IngredientSamples         Ingredient = "samples"          // first builds deep in the line assume only some of those ahead, to learn which changes are to blame
	IngredientTargetThreshold Ingredient = "target-threshold" // re-verifications take only targets that are likely enough to be needed
	IngredientTrials          Ingredient = "trials"           // changes that probably break a step on the whole tree are checked before they board the train
)

// Ingredients returns all of them.
func Ingredients() []Ingredient {
	return []Ingredient{IngredientAdaptive, IngredientAging, IngredientBeliefs, IngredientBenefit, IngredientBypass, IngredientEarly, IngredientFlips,
		IngredientJustInTime, IngredientLanes, IngredientMargin, IngredientPreempt, IngredientQuotas, IngredientSamples, IngredientTargetThreshold, IngredientTrials}
}

// Assignment says whether assigning the queue's account is a command.
type Assignment string

// The uses of assignments.
const (
	AssignmentOn  Assignment = "on"
	AssignmentOff Assignment = "off"
)

// Checkbox says whether comments have a box.
type Checkbox string

// With and without a box.
const (
	CheckboxOn  Checkbox = "on"
	CheckboxOff Checkbox = "off"
)

// Spare says when free slots build unlikely futures, too.
type Spare string

// The uses of free slots.
const (
	SpareAuto   Spare = "auto"   // those with a fair chance to be of use, while nothing is known of changes but an average and half of the slots are free
	SpareAlways Spare = "always" // latency before cost
	SpareNever  Spare = "never"  // cost before latency
)

// Rules are the queue's own settings. The settings of one topic may stand in a
// separate struct, which the file does not show. The zero value of each field
// means its default, which Parse and Defaults fill in.
type Rules struct {
	// Label asks to land when it is set, and cancels when it is taken off; LABEL:LANE does the same in a lane. Default land.
	Label string `json:"label,omitempty" yaml:"label,omitempty" jsonschema:"minLength=1,maxLength=50,pattern=^\\S([^\\r\\n\\x00]*\\S)?$,default=land"`
	// Order says which changes are ahead of which: finish (by expected finish, overtaking bounded by max_overtake) or arrival. Default finish.
	Order Order `json:"order,omitempty" yaml:"order,omitempty" jsonschema:"enum=finish,enum=arrival,default=finish"`
	// Landing says how a change gets onto the branch.
	Landing `yaml:",inline"`
	// External says what a commit that the queue did not make does to landings: hold (they wait until it is proven) or trust. Default hold where the branch is protected, else trust.
	External External `json:"external,omitempty" yaml:"external,omitempty" jsonschema:"enum=hold,enum=trust"`
	// VerifyMain is how old a pass on the branch may be before it is run there again, in slots that nothing else wants: a duration from 10m to 8760h, or off. Default 24h.
	VerifyMain string `json:"verify_main,omitempty" yaml:"verify_main,omitempty" jsonschema:"pattern=^(off|([0-9]+(\\.[0-9]+)?[hms])+)$,default=24h" jsonschema_extras:"x-minimum=10m,x-maximum=8760h"`
	// RedMain says what is done when the branch is red and the commit that turned it red is known.
	RedMain RedMain `json:"red_main,omitzero" yaml:"red_main,omitempty"`
	// Retries are the runs that must fail again before a failure decides. Default 1.
	Retries int `json:"retries,omitempty" yaml:"retries,omitempty" jsonschema:"minimum=0,maximum=5,default=1"`
	// InfraRetries are the infrastructure errors in a row before a change is parked. Default 3.
	InfraRetries int `json:"infra_retries,omitempty" yaml:"infra_retries,omitempty" jsonschema:"minimum=1,maximum=20,default=3"`
	// BuildsPerChange caps the builds of one change. A build of a part of what the change affects counts as that part. A part of the cap is kept for builds on the target branch as it is: a quarter, half while 80 % of the slots are busy or more, and no more than three builds while half are or fewer. Default 20.
	BuildsPerChange int `json:"builds_per_change,omitempty" yaml:"builds_per_change,omitempty" jsonschema:"minimum=1,maximum=1000,default=20"`
	// BuildsPerHour caps the builds of the whole queue; 0 is no cap. Default 0.
	BuildsPerHour int `json:"builds_per_hour,omitempty" yaml:"builds_per_hour,omitempty" jsonschema:"minimum=0,maximum=1000000,default=0"`
	// MaxOvertake bounds overtaking: no change is overtaken by one that arrived later than this after it. From 1m to 168h; default 4h.
	MaxOvertake time.Duration `json:"max_overtake,omitempty" yaml:"max_overtake,omitempty" jsonschema:"default=4h" jsonschema_extras:"x-minimum=1m,x-maximum=168h"`
	// Margin is how much later a change may come, as a share of its own duration, rather than overtake one that must then be built again. Default 0.4.
	Margin float64 `json:"margin,omitempty" yaml:"margin,omitempty" jsonschema:"minimum=0.01,maximum=2,default=0.4"`
	// Lanes are classes of urgency, the most urgent first. Default: high (benefit 3), normal (1) and low (0.5).
	Lanes []Lane `json:"lanes,omitempty" yaml:"lanes,omitempty" jsonschema:"maxItems=10"`
	// DefaultLane is the lane of changes for which none is asked. Default: normal, where there is such a lane, else the last.
	DefaultLane string `json:"default_lane,omitempty" yaml:"default_lane,omitempty" jsonschema:"maxLength=32"`
	// LaneMaxWait is how long a lane may hold up the one below it, where that does not say otherwise. From 1m to 168h; default 2h.
	LaneMaxWait time.Duration `json:"lane_max_wait,omitempty" yaml:"lane_max_wait,omitempty" jsonschema:"default=2h" jsonschema_extras:"x-minimum=1m,x-maximum=168h"`
	// Projects are parts of the repository whose changes are worth more or less than others. Default none.
	Projects []Project `json:"projects,omitempty" yaml:"projects,omitempty" jsonschema:"maxItems=100"`
	// Quotas cap the builds that run at one time for a team, an author or a project. Default none.
	Quotas []Quota `json:"quotas,omitempty" yaml:"quotas,omitempty" jsonschema:"maxItems=100"`
	// Admission says what a pull request must meet.
	Admission `yaml:",inline"`
	// Checkbox says whether the comment on a pull request has a box by which it is queued and taken out, as by /land and /land cancel: on or off. Default on.
	Checkbox Checkbox `json:"checkbox,omitempty" yaml:"checkbox,omitempty" jsonschema:"enum=on,enum=off,default=on"`
	// Assignment says whether a merge request is queued when the queue's account is assigned to it, and taken out when it is no longer, as by the label: on or off. Only GitLab tells of it. Default on.
	Assignment Assignment `json:"assignment,omitempty" yaml:"assignment,omitempty" jsonschema:"enum=on,enum=off,default=on"`
	// Threshold is the least chance to be needed that a speculative build must have, from 0.01 to 1. Default 0.3.
	Threshold float64 `json:"threshold,omitempty" yaml:"threshold,omitempty" jsonschema:"minimum=0.01,maximum=1,default=0.3"`
	// Off leaves ingredients of the planner out, to measure what each is worth; landings stay as safe. Default none.
	Off []Ingredient `json:"off,omitempty" yaml:"off,omitempty" jsonschema:"enum=adaptive,enum=aging,enum=beliefs,enum=benefit,enum=bypass,enum=early,enum=flips,enum=just-in-time,enum=lanes,enum=margin,enum=preempt,enum=quotas,enum=samples,enum=target-threshold,enum=trials"`
	// Spare says when free slots build unlikely futures, too: auto (those with a fair chance to be of use, while nothing is known of changes but an average and half of the slots are free), always or never. Default auto.
	Spare Spare `json:"spare,omitempty" yaml:"spare,omitempty" jsonschema:"enum=auto,enum=always,enum=never,default=auto"`
	// Batch says when several changes are built or landed together: off, independent (under overload changes without a common target share a build, where each step says which target has failed) or rollup (besides, under heavy overload changes that share most of their work land as one merge, as many as take the fewest builds, and a failed one is split down to the change that is to blame). Default off.
	Batch Batch `json:"batch,omitempty" yaml:"batch,omitempty" jsonschema:"enum=off,enum=independent,enum=rollup,default=off"`
	// BatchMax is how many changes may be in one batch; refused while batch is off. From 2 to 16; default 4.
	BatchMax int `json:"batch_max,omitempty" yaml:"batch_max,omitempty" jsonschema:"minimum=2,maximum=16,default=4"`
}

// Landing are the rules for how a change gets onto the branch. In the file they stand
// among the other Rules.
type Landing struct {
	// Method is how a change gets onto the branch: merge (a merge commit), squash (one commit), rebase (its commits, made anew on the branch), semi-linear (the same, and a merge commit on top of them) or fast-forward (its commits as they are, which must stand on the branch). Default merge.
	Method Method `json:"method,omitempty" yaml:"method,omitempty" jsonschema:"enum=merge,enum=squash,enum=rebase,enum=semi-linear,enum=fast-forward,default=merge"`
	// Methods are the methods that a change may ask for, as in /land method=squash; the one above is always among them. Default none.
	Methods []Method `json:"methods,omitempty" yaml:"methods,omitempty" jsonschema:"uniqueItems=true,enum=merge,enum=squash,enum=rebase,enum=semi-linear,enum=fast-forward"`
	// Intermediate says what becomes of the commits before the last of a change that lands as several: verify (each must pass like the last one) or skip (only the last is verified, and the proof says so). Default verify.
	Intermediate Intermediate `json:"intermediate,omitempty" yaml:"intermediate,omitempty" jsonschema:"enum=verify,enum=skip,default=verify"`
	// Head says what becomes of the branch of a pull request that lands as another commit than its head (squash, rebase, semi-linear): move (to that commit, right before the target branch moves, so that the forge shows the pull request as merged) or leave (it stays as it is, and the pull request is closed with the label landed). Default move.
	Head Head `json:"head,omitempty" yaml:"head,omitempty" jsonschema:"enum=move,enum=leave,default=move"`
	// HeadWait is how long a landing waits at most until the forge has taken note of a head that was moved; the target branch moves then in any case. From 1s to 2m; default 15s.
	HeadWait time.Duration `json:"head_wait,omitempty" yaml:"head_wait,omitempty" jsonschema:"default=15s" jsonschema_extras:"x-minimum=1s,x-maximum=2m"`
	// MergeAPI lets the forge merge a pull request itself where it lands alone, by squash and right where it was proven, so that pull requests of forks are shown as merged, too. The commit of the forge is compared with the proven one; if it differs, the queue pauses. Needs squash among the methods. Default off.
	MergeAPI MergeAPI `json:"merge_api,omitempty" yaml:"merge_api,omitempty" jsonschema:"enum=on,enum=off,default=off"`
	// Freeze are the times at which landings are held, again and again. Default none.
	Freeze []Freeze `json:"freeze,omitempty" yaml:"freeze,omitempty" jsonschema:"maxItems=50"`
	// Messages are the templates of the commits that the queue makes.
	Messages Messages `json:"messages,omitzero" yaml:"messages,omitempty"`
}

// Admission are the rules for what a pull request must meet to enter the queue, to be hurried
// and to stay. In the file they stand among the other Rules.
type Admission struct {
	// RequireChecks says whether a change waits for the required checks of its pull request: wait (it enters once they have passed) or enter (it enters at once). Default wait.
	RequireChecks CheckPolicy `json:"require_checks,omitempty" yaml:"require_checks,omitempty" jsonschema:"enum=wait,enum=enter,default=wait"`
	// RequireResolved says when all conversations of a pull request must be resolved: auto (where the branch's protection asks for it) or always. Default auto.
	RequireResolved ResolvePolicy `json:"require_resolved,omitempty" yaml:"require_resolved,omitempty" jsonschema:"enum=auto,enum=always,default=auto"`
	// BlockingLabels are labels with which a pull request does not land; it waits until they are taken off. Default none.
	BlockingLabels []string `json:"blocking_labels,omitempty" yaml:"blocking_labels,omitempty" jsonschema:"maxItems=50,pattern=^\\S([^\\r\\n\\x00]*\\S)?$"`
	// Auto are rules by which pull requests enter without a command; one that holds is enough. Only those of the target branch count. Default none.
	Auto []Auto `json:"auto,omitempty" yaml:"auto,omitempty" jsonschema:"maxItems=20"`
	// NowPerDay is how often /land now may be said in any 24 hours. Default 3.
	NowPerDay int `json:"now_per_day,omitempty" yaml:"now_per_day,omitempty" jsonschema:"minimum=1,maximum=1000"`
	// ParkedLimit is how long a change stays parked before it is cancelled. From 1m to 8760h; default 168h.
	ParkedLimit time.Duration `json:"parked_limit,omitempty" yaml:"parked_limit,omitempty" jsonschema:"default=168h" jsonschema_extras:"x-minimum=1m,x-maximum=8760h"`
}

// Permissions says who may use the commands, and which paths need more. Each is
// the least role (write, maintain or admin), or a list of which one is enough:
// roles, teams as "@org/team", and users. Nothing is built or landed for people without
// write access, even if a list names them.
type Permissions struct {
	// Land is who may say /land and set the label: the least role, or a list of roles, teams ("@org/team") and users. Default write.
	Land Who `json:"land,omitempty" yaml:"land,omitempty"`
	// Cancel is who may take out the changes of others. Default what land says.
	Cancel Who `json:"cancel,omitempty" yaml:"cancel,omitempty"`
	// Retry is who may make the queue forget failures. Default what land says.
	Retry Who `json:"retry,omitempty" yaml:"retry,omitempty"`
	// Try is who may say /land try. Default what land says.
	Try Who `json:"try,omitempty" yaml:"try,omitempty"`
	// Delegate is who may let somebody else land a pull request (/land delegate). Default what land says.
	Delegate Who `json:"delegate,omitempty" yaml:"delegate,omitempty"`
	// Now is who may say /land now, which lands before all others. Default admin.
	Now Who `json:"now,omitempty" yaml:"now,omitempty"`
	// Queue is who may say /queue pause, /queue freeze, /queue resume and /queue forget. Default maintain.
	Queue Who `json:"queue,omitempty" yaml:"queue,omitempty"`
	// Bots are the Apps whose commands and labels are followed, by login; they count as having write access. The commands and labels of all other Apps are ignored. Default none.
	Bots []string `json:"bots,omitempty" yaml:"bots,omitempty" jsonschema:"maxItems=100,pattern=^[a-zA-Z0-9][a-zA-Z0-9_-]*(\\[bot\\])?$"`
	// Protected are globs of paths; a change of them enters only with an administrator's approval of its head. The written list replaces the default: .github/**, .gitlab-ci.yml, .submitqueue.yml and the CODEOWNERS files.
	Protected []string `json:"protected_paths,omitempty" yaml:"protected_paths,omitempty" jsonschema:"minItems=1"`
}
