// Package contract holds forgetest.Server, and whoever talks to it, to GitHub's
// own descriptions: of its REST interface, the OpenAPI document of the npm package
// @octokit/openapi; of its GraphQL interface, the schema of @octokit/graphql-schema.
// They say what shapes are right; what they mean is only in its
// prose, so rules such as "a completed check run has a conclusion" are
// forgetest's own.
//
// They are not part of this repository. They are looked for in the folder
// that the environment's SUBMITQUEUE_CONTRACTS names (.ci/run fills it); where one
// is not, nothing is checked by it, unless SUBMITQUEUE_REQUIRE demands "contracts".
//
// Of each exchange the following is checked: the endpoint exists; the parameters
// and the body fit; the answer's status is a documented one, or an error that
// any request can meet; its body fits. So do the payloads of the webhooks that
// the server sends. Beyond what the description enforces, no
// request and no answer may have a member or a query parameter that it does not
// know: a misspelt optional member is ignored by GitHub, and nobody would learn
// of it.
//
// Of each question in GraphQL, the query is validated by the schema's rules, its
// variables by its types, and the answer is walked along the query: each member was
// asked for, each that was asked for is there, of its type, and null only where it may
// be.
//
// No route and no event is excepted. Where the description is silent or at odds
// with itself, its other parts decide: errors, and redirects from a repository's
// former name, which few endpoints document, have the shape of those that are; the
// head of a pull request may be without a repository, as some webhooks say (its
// fork was deleted); the account of an installation is a user or an enterprise,
// not both; a rule of a kind that it does not know is not looked at.
//
// Worked example: the adapter sends PATCH check-runs/7 with {"titel": "x"}. The
// route "PATCH /repos/{owner}/{repo}/check-runs/{id}" is the operation of the
// same path, whatever its parameters are called; the body's schema and all it is
// composed of know no "titel"; the server answers 422 and the test fails.
//
// Reading the whole document takes 2 s. Only the part that the server's routes
// use is read (a few hundred KB), which is cut out once and kept beside it.
package contract
