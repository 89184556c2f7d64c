// Package forgetest holds stateful simulated code hosts for tests and for the
// demo: real HTTP on 127.0.0.1, real bare git repositories behind it.
//
// Server is a simulated GitHub. It is driven by verbs (Repository.OpenPull,
// Repository.Comment, Server.Fail, ...) that do what a person at GitHub would
// do, and it answers a bot as GitHub would:
//
//   - REST in GitHub's shapes under URL()+"/api/v3/", the way an Enterprise
//     server lays it out, for a GitHub App: JWT, installation tokens that expire
//     and carry permissions, rate limit headers, ETags, Link headers. Requests
//     are judged strictly: an unknown JSON member is a 422.
//   - the GraphQL queries of the adapter, at URL()+"/api/graphql": which reviews,
//     code owners, conversations and checks a pull request lacks, as GitHub works it
//     out.
//   - git over smart HTTP at URL()+"/<owner>/<name>.git". Fetching is git's own
//     upload-pack. Pushes are handled in this package, because they apply branch
//     protection in GitHub's words, keep refs/pull/<n>/head, and make a pull
//     request merged once its head is reachable from the default branch.
//   - signed webhooks, in the order things happened, each sent once: like
//     GitHub, the server never sends one again unless asked to.
//   - pages for browsers at URL()+"/<owner>/<name>", .../pull/<n> and
//     .../commit/<id>, only of public repositories, and only for reading, except
//     that the player (Repository.Play) can comment.
//
// Tests must read the bot's words: Server.Strict fails a test for each comment of
// the bot unless an assertion has looked at its final text.
//
// Verbs that name a pull request, comment or user that does not exist panic:
// such a script is wrong. Verbs that run git return its error.
//
// There are two locks. Repository.refs is held while refs move, and is taken before
// Server.mu. Server.mu guards everything in memory, and is not held while a process
// runs, except during the look-up of a packed commit.
package forgetest
