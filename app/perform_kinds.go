package app

import (
	"context"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// room is where an action waits until it may begin.
type room int

const (
	anywhere room = iota // it never waits
	inGit
	inForge
	inAsks   // they join in one fetch of their heads
	inJudges // after a first merge in inGit
)

// atOnce is how many actions work at once in each room.
var atOnce = [...]int{inGit: 4, inForge: 8, inAsks: 32, inJudges: 8}

// kind is one row of the table of action kinds.
type kind struct {
	task  queue.Task                        // of the type that is carried out this way
	at    room                              // where it waits
	grace time.Duration                     // how long it may go on when it is no longer wanted: it uses git
	paced func(context.Context, queue.Task) // waits before it has a place; nil: it begins at once
	do    doer                              // with joins: nil
	joins *joint                            // those that come together are carried out together; nil: each separately
	twice string                            // why doing it twice is harmless
}

// doer carries out an action and returns its result; nil: the result comes as an event from
// elsewhere.
type doer = func(context.Context, *queue.Action) (queue.Body, error)

// of makes a doer from a function on a kind's own type of task.
func of[T queue.Task](do func(context.Context, *queue.Action, T) (queue.Body, error)) doer {
	return func(ctx context.Context, a *queue.Action) (queue.Body, error) { return do(ctx, a, a.Task.(T)) }
}

// table is the kinds of actions: how each is carried out, and why twice is as good as once.
// That has to hold across processes. A server that dies after it did an action and before
// it stored the result leaves the action in the state, and the next owner of the queue does
// it again. The file of a kind is perform_ and the kind's name.
func (p *performer) table(own ownership) []kind {
	keys, commits := p.passes, p.passes.commits
	observing := &observer{commits: commits, pushes: p.pushes, forget: p.forget}
	inspecting := &inspections{commits: commits, levels: map[string]level{}}
	learns := learning{p.ground}
	pushing := &pusher{commits: commits, pushes: p.pushes, ownership: own}
	return []kind{
		// Actions that read.
		{task: queue.Observe{}, at: inGit, grace: gitGrace, do: of(observing.observe),
			twice: "It reads the target branch; what it finds is folded by the commit it is found at."},
		{task: queue.Survey{}, at: inGit, grace: gitGrace, do: of(keys.survey),
			twice: "It reads; keys follow from a commit's content."},
		{task: queue.Watch{}, at: inGit, grace: gitGrace, do: of(keys.watch),
			twice: "It reads; keys follow from a commit's content."},
		{task: queue.Trace{}, at: inGit, grace: gitGrace, do: of(keys.trace),
			twice: "It reads main's past, which does not change."},
		{task: queue.Weigh{}, at: inGit, grace: gitGrace, do: of(commits.weigh),
			twice: "It reads main's past, and tries merges that nobody keeps."},
		{task: queue.Attest{}, at: inAsks, grace: gitGrace, do: of(keys.attest),
			twice: "It reads a commit and asks the forge what was run on it; a pass that is told twice is one."},
		{task: queue.Inspect{}, at: inAsks, grace: gitGrace, do: of(inspecting.inspect),
			twice: "It asks the forge; the later answer is the better one."},

		{task: queue.Learn{}, do: of(learns.learn),
			twice: "It reads the event archive; the same rows make the same model, and the state takes one of each version."},

		// Actions that make commits in the mirror.
		{task: queue.Meet{}, at: inGit, grace: gitGrace, do: of(commits.meet),
			twice: "A merge that was made once comes out the same again."},
		{task: queue.Analyze{}, at: inJudges, grace: gitGrace, joins: joined(analysis, commits.analyze),
			twice: "A footprint follows from two commits, and a merge from its parent and its change, byte for byte."},
		{task: queue.Resolve{}, at: inJudges, grace: gitGrace, joins: joined(resolution, keys.resolve),
			twice: "Commits are content: making them twice makes the same."},

		// Actions that have others build.
		{task: queue.Run{}, grace: gitGrace, do: of(commits.run),
			twice: "The build's id names the run: a controller that runs it already, or has run it, does not start it again."},
		{task: queue.ProbeHost{}, grace: gitGrace, do: of(commits.probe),
			twice: "The build's id names the run, as for Run."},
		{task: queue.Stop{}, do: of(p.stop),
			twice: "To stop a build that has ended, or that nobody knows, is no error."},

		// Actions that others see.
		{task: queue.MoveHeads{}, grace: gitGrace, do: of(pushing.moveHeads),
			twice: "Each branch has a lease on where it was, and one that is where it is to be counts as moved."},
		{task: queue.SeeHeads{}, do: of(pushing.seeHeads),
			twice: "It asks the forge; the later answer is the better one."},
		{task: queue.ReturnHeads{}, grace: gitGrace, do: of(pushing.returnHeads),
			twice: "Each branch has a lease on where we have moved it; one that is anywhere else is left."},
		{task: queue.Land{}, grace: gitGrace, do: of(pushing.land),
			twice: "The push has a lease on where the branch was, and a branch that is at its tip already counts as moved."},
		{task: queue.Publish{}, at: inForge, paced: paced(p.pace.wait), do: of(p.publish.publish),
			twice: "The comment is found by its hidden marker, the check by its external id, and both are written anew from the state."},
		{task: queue.Tell{}, at: inForge, do: of(commits.tell),
			twice: "The check of the commit is found by its name and external id, and written anew from the state."},
		{task: queue.React{}, at: inForge, do: of(commits.react),
			twice: "A second reaction of the same kind to a comment is none."},
		{task: queue.Propose{}, at: inGit, grace: gitGrace, do: of(commits.propose),
			twice: "An open pull request of the branch is looked for first; the branch's name and commit follow from the culprit."},
	}
}

// paced turns a wait on a kind's own type of task into one on any task.
func paced[T queue.Task](wait func(context.Context, T)) func(context.Context, queue.Task) {
	return func(ctx context.Context, t queue.Task) { wait(ctx, t.(T)) }
}
