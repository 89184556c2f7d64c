// Package queue is the vocabulary of the merge queue: changes, the facts about
// them, events and actions. It is a leaf and pure: every other package speaks in
// its terms, and it does nothing on its own.
//
// The words that matter most:
//
//   - A Change is a pull request at one pinned head, asked to land. Its Phase says
//     where it stands, its Reason why.
//   - A Stack is pull requests each of which asks for the branch of the next; a
//     Change's Parent is what it is on top of, until that has landed.
//   - A Lane is a class of urgency, a Project a part of the repository, and a Quota
//     a cap on what some people or a project may build at one time.
//   - A Key is one thing that can be verified: a Step on a target at a hash. An
//     Entry is what the ledger knows of a key.
//   - A Link is a change merged onto a parent commit, with the keys that the new
//     commit has and its parent has not. A path is a chain of links from main;
//     the train is the path that is about to land; main's line is its
//     first-parent commits.
//   - A Build is one attempt to verify keys on the commit of a link.
//   - An Event is something that happened; an Action is something to be done, by a
//     Task. Results of actions are events.
//   - A queue's own key says where it is stored, e.g. "github:77@main": the repository by
//     its forge's id, and the branch that the queue began with. Its name is what people
//     see, "acme/shop@main", as repository and branch are called by now.
//   - State is all of that for one queue: facts only. A Turn is what one step of
//     the core changes in it; a Store writes it whole or not at all.
//
// For example: ann comments /land on pull request 7. The webhook becomes
// Commented; the turn that folds it stores a Request and asks the action
// Inspect. Inspected brings the head and ann's permission; the turn makes the
// Change and asks Analyze. Analyzed brings its Footprint, and the change is
// Pending. The plan wants it merged onto main: Resolve, answered by Resolved
// with a Link and its keys. Those without a pass in the ledger are built: Run,
// answered by JobDone, which writes passes into the ledger, and BuildDone. When
// all keys of the link have passed, the gate lets it through: a Push is stored
// (the point of no return) and Land asked. Pushed says that main has moved: the
// change is Landed, and Publish shows it to ann.
//
// # How do I add a command?
//
// One row of Commands (command_table.go): its words, how the text behind them is read, the
// right form for a misspelt one, its lines of the help, the people with the right to give
// it. The effect of the command is one row of followers in package speculation
// (follow.go). Comments, answers to misspelt commands, the help, permissions and teams
// follow from these. For example, /land later 2h:
//
//	{Verb: CommandLater, Words: "/land later", Takes: takesUntil, Near: "/land later UNTIL", Who: mayLand,
//		Forms: []CommandForm{{"/land later UNTIL", "`/land later UNTIL` waits before it asks to land."}}}
//
// A command that is also given over HTTP or by the command line needs a handler in
// package app/api (commands.go), which puts the same words into the inbox, and a
// client of it in cmd/submitqueue/ask.
//
// # How do I add …?
//
//	a predictor    a row of Models                          package speculation/predict
//	a command      a row of Commands, a row of followers    package queue (above), package speculation
//	an analyzer    a package below conflict, a row of All   package cmd/submitqueue/analyzers
//	a forge        a package below forge, a row of forges   package forge, package cmd/submitqueue/server
//	a step report  a row of Reports, a row of readers       package queue/config, package workers
//	a requirement  a kind, a row of requirements            requirement.go, package app/texts
//	a notification a sink, or a kind of notification        package app/notify
//
// Each of these packages says how; its tests add a toy one by the same rows.
package queue
