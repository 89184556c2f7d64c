// Package gitlab holds a stateful simulated GitLab for tests and for the demo: real HTTP
// on 127.0.0.1, real bare git repositories behind it.
//
// A Server is driven by verbs (Project.Open, Project.Push, Project.Comment, Project.Report,
// Server.Pass, ...) that do what people, runners and time do at GitLab. It answers a bot by
// REST under URL()+"/api/v4/", by git over smart HTTP at URL()+"/<path>.git", and by
// webhooks.
//
// It simulates eleven things that make GitLab hard; each has a test of its name:
//
//   - Duty1: a push is followed up by one background job for each ref, later and in either
//     order; a merge request is merged only if six conditions hold in the job of its target.
//   - Duty2: deleting a source branch closes its merge request; a merge by push
//     keeps branch and stack.
//   - Duty3: the merge request's own merge, with its refusals in GitLab's order.
//   - Duty4: the first four changes of a push get pipelines; more than three changes
//     of a kind send no hook; one forbidden ref makes all be refused; push options.
//   - Duty5: branches that REST does not see yet; 400 for throttling, rules and variables;
//     broken YAML; automatic cancelling; a retried pipeline is open again.
//   - Duty6: a commit status is a job of a pipeline, and counts in it.
//   - Duty7: quick actions are removed from notes and executed, for the bot as
//     well.
//   - Duty8: webhooks are sent once, and switched off after failures.
//   - Duty9: approvals vanish ten seconds after a push; one reason at a time.
//   - Duty10: moved projects, tiers, throttling in plain text.
//   - Duty11: refusals of pushes that only their text tells apart.
//
// # Background jobs
//
// Work that GitLab does in Sidekiq is a job here. Server.Settle runs all due jobs, in an
// order that Options.Seed chooses; Server.RunJob runs a certain one. Unless Options.Held is
// set, each request to the REST interface first runs some jobs by chance, so that a client
// that polls sees their effects. Jobs with a time wait until Server.Pass has reached it.
//
// # Unread output
//
// Server.Strict fails a test for each note of the bot unless an assertion has looked at its
// final text, and for each quick action that was executed as the bot.
//
// One lock guards everything, and is held while git runs; it is not held while a webhook is
// being sent.
package gitlab
