package app

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Analyzers makes the analyzer that settings ask for; nil, nil for `none`. Package
// cmd/submitqueue knows which build systems there are.
type Analyzers func(config.Analysis) (conflict.Analyzer, error)

// judged is what a commit is judged by: its own steps and its targets.
type judged struct {
	snapshot *conflict.Snapshot
	steps    queue.StepSet
	config   *config.Config // in its own tree
	tools    string         // name of the toolset in the steps
}

// version names what the commit is judged by: the analyzer's version, and the toolset.
func (j judged) version() string { return j.snapshot.Analyzer + j.tools }

// judge reads commits: configuration, steps, targets, keys. Its findings
// depend on the tree and the version of the analyzer alone and are kept by both.
type judge struct {
	mirror    *mirror.Mirror
	analyzers Analyzers

	mu       sync.Mutex
	byTree   map[treeBy]judged
	order    []treeBy // oldest first
	size     int      // bytes of the snapshots, roughly
	configs  map[string]parsed
	analyzer map[string]conflict.Analyzer

	sharing sharing
}

// treeBy is a tree and the version of the analyzer that it is judged by.
type treeBy struct {
	tree queue.TreeID
	by   string
}

type parsed struct {
	said   config.Said
	config *config.Config
	err    error
}

const (
	keptTrees   = 512
	keptBytes   = 32 << 20 // of snapshots; the latest is kept, however large
	keptConfigs = 64
)

func newJudge(m *mirror.Mirror, a Analyzers) *judge {
	return &judge{mirror: m, analyzers: a, byTree: map[treeBy]judged{}, configs: map[string]parsed{},
		analyzer: map[string]conflict.Analyzer{}, sharing: newSharing()}
}

// config reads the configuration in a tree. missing is true where there is none.
func (j *judge) config(ctx context.Context, t *mirror.Tree) (c *config.Config, missing bool, err error) {
	c, _, missing, err = j.configSaid(ctx, t)
	return c, missing, err
}

// configSaid is config, and also returns what the file itself says.
func (j *judge) configSaid(ctx context.Context, t *mirror.Tree) (c *config.Config, said config.Said, missing bool, err error) {
	file, found, err := t.Find(ctx, config.Path)
	if err != nil || !found {
		return nil, said, err == nil, err
	}
	oid := file.OID
	j.mu.Lock()
	p, known := j.configs[oid]
	j.mu.Unlock()
	if !known {
		data, err := t.Blob(ctx, oid)
		if err != nil {
			return nil, said, false, err
		}
		p.config, p.said, p.err = config.ParseSaid(config.Path, data)
		j.mu.Lock()
		if len(j.configs) >= keptConfigs {
			clear(j.configs)
		}
		j.configs[oid] = p
		j.mu.Unlock()
	}
	if p.err != nil {
		return nil, said, false, &brokenConfig{p.err}
	}
	return p.config, p.said, false, nil
}

// brokenConfig is a configuration that cannot be used: the author's error.
type brokenConfig struct{ error }

// Unwrap returns what is wrong with it, with line and column.
func (b *brokenConfig) Unwrap() error { return b.error }

// commit judges a commit. A tree without a usable configuration is judged by the one in
// force, if its file is the target branch's. A change that breaks the file itself gets
// a step that fails and says where. near is a commit that was judged a moment ago ("":
// the latest one). Where its judgement is remembered and the analyzer can work from a
// difference, judging costs only the difference from it.
func (j *judge) commit(ctx context.Context, id queue.CommitID, now inForce, near queue.CommitID) (judged, error) {
	t, err := j.mirror.Objects.Tree(ctx, id)
	if err != nil {
		return judged{}, err
	}
	j.mu.Lock()
	known, ok := j.byTree[treeBy{t.ID(), now.by}]
	j.mu.Unlock()
	if ok {
		return known, nil
	}
	base, files, err := j.from(ctx, near, treeBy{t.ID(), now.by})
	if err != nil {
		return judged{}, err
	}
	r := rules{config: base.config, own: true}
	if files == nil || slices.ContainsFunc(files, func(c conflict.FileChange) bool { return c.Path == config.Path }) {
		if r, err = j.rules(ctx, t, id, now); err != nil {
			return judged{}, err
		}
	}
	a, err := j.version(r.config.Analysis, now.by)
	if err != nil {
		return judged{}, err
	}
	if a, err = j.trusting(ctx, a, now.tip); err != nil {
		return judged{}, err
	}
	snap, err := conflict.Advance(ctx, a, r.config.Analysis, base.snapshot, TreeOf(t), files)
	if err != nil {
		return judged{}, err
	}
	_, tools := queue.SplitVersion(now.by)
	out := judged{snapshot: snap, steps: queue.NewStepSet(config.WithRepeats(queue.WithTools(r.config.Steps, tools))), config: r.config, tools: tools}
	if r.own && !snap.Provisional {
		j.keep(treeBy{t.ID(), now.by}, out)
	}
	return out, nil
}

// rules are the configuration that a commit is judged by.
type rules struct {
	config *config.Config
	own    bool   // it is in the commit's tree; else it follows from what is in force
	fails  string // why the one in the tree cannot be used, where that lets every build fail
}

func (j *judge) rules(ctx context.Context, t *mirror.Tree, id queue.CommitID, now inForce) (rules, error) {
	cfg, missing, err := j.config(ctx, t)
	broken := (*brokenConfig)(nil)
	if !asBroken(err, &broken) && !missing {
		return rules{config: cfg, own: true}, err
	}
	r := rules{config: now.config}
	same := id == now.tip
	if !same && now.tip != "" {
		if same, err = j.sameConfig(ctx, t, now.tip); err != nil {
			return rules{}, err
		}
	}
	if !same || r.config == nil {
		r.fails = whyFailing(broken)
		r.config = failingConfig(now.config, r.fails)
	}
	return r, nil
}

// trusting has an analyzer that runs programs run the target branch's version of them.
func (j *judge) trusting(ctx context.Context, a conflict.Analyzer, tip queue.CommitID) (conflict.Analyzer, error) {
	guarded, ok := a.(conflict.Guarded)
	if !ok || tip == "" {
		return a, nil
	}
	t, err := j.mirror.Objects.Tree(ctx, tip)
	if err != nil {
		return nil, err
	}
	return guarded.Trusting(TreeOf(t)), nil
}

func asBroken(err error, out **brokenConfig) bool {
	b, ok := err.(*brokenConfig)
	if ok {
		*out = b
	}
	return ok
}

// sameConfig reports whether a tree's configuration file is that of a commit.
func (j *judge) sameConfig(ctx context.Context, t *mirror.Tree, tip queue.CommitID) (bool, error) {
	other, err := j.mirror.Objects.Tree(ctx, tip)
	if err != nil {
		return false, err
	}
	a, err := configFile(ctx, t)
	if err != nil {
		return false, err
	}
	b, err := configFile(ctx, other)
	return a == b, err
}

func configFile(ctx context.Context, t *mirror.Tree) (string, error) {
	file, _, err := t.Find(ctx, config.Path)
	return file.OID, err
}

func whyFailing(why *brokenConfig) string {
	if why != nil {
		return why.Error()
	}
	return config.Path + " is missing"
}

// failingConfig judges a commit without a usable configuration: one step,
// on the whole tree, that fails with the reason.
func failingConfig(last *config.Config, text string) *config.Config {
	c := &config.Config{Version: 1}
	if last != nil {
		*c = *last
	}
	c.Analysis = config.Analysis{}
	c.Steps = []config.Step{{Name: config.Path, Scope: config.ScopeTargets, Report: config.ReportExitCode, Timeout: time.Minute,
		Env: map[string]string{"CONFIG_ERROR": text}, Run: `printf '%s\n' "$CONFIG_ERROR"; exit 1`}}
	return c
}

// version returns the analyzer that settings ask for, in the version with the name by.
// Where it has no such version, it is the newest.
func (j *judge) version(s config.Analysis, by string) (conflict.Analyzer, error) {
	by, _ = queue.SplitVersion(by)
	a, err := j.analyzerOf(s)
	if err != nil || by == "" || by == conflict.VersionOf(a) {
		return a, err
	}
	for _, v := range conflict.Versions(a) {
		if conflict.VersionOf(v) == by {
			return v, nil
		}
	}
	return a, nil
}

// versions names the versions that there are of the analyzer that settings ask
// for, the newest first.
func (j *judge) versions(s config.Analysis) ([]string, error) {
	a, err := j.analyzerOf(s)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, v := range conflict.Versions(a) {
		out = append(out, conflict.VersionOf(v))
	}
	return out, nil
}

func (j *judge) analyzerOf(s config.Analysis) (conflict.Analyzer, error) {
	name, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("app: naming an analyzer: %w", err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if a, ok := j.analyzer[string(name)]; ok {
		return a, nil
	}
	a, err := j.analyzers(s)
	if err != nil {
		return nil, err
	}
	if len(j.analyzer) >= keptConfigs {
		clear(j.analyzer)
	}
	j.analyzer[string(name)] = a
	return a, nil
}
