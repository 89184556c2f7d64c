// Package contract checks forgetest.Server, and its clients, against GitHub's own
// descriptions: of its REST interface, the OpenAPI document of the npm package
// @octokit/openapi; of its GraphQL interface, the schema of @octokit/graphql-schema.
// They say which shapes are right. The meaning is only in GitHub's prose, so
// forgetest itself has rules such as "a completed check run has a conclusion".
//
// The descriptions are not part of this repository. They are looked for in the
// folder that the environment's SUBMITQUEUE_CONTRACTS names (.ci/run fills it). If
// one is missing, its checks are left out, unless SUBMITQUEUE_REQUIRE demands
// "contracts": then tests fail.
//
// For each exchange the following is checked: the endpoint exists; the parameters
// and the body fit; the answer's status is a documented one, or an error that any
// request can get; its body fits. The payloads of the webhooks that the server
// sends must fit, too. In addition, no request and no answer may have a member or a
// query parameter that the description does not know: GitHub ignores a misspelt
// optional member, and nobody would notice it.
//
// For each GraphQL request, the query is validated by the schema's rules, its
// variables by its types, and the answer is compared with the query: each member was
// asked for, and each member that was asked for exists, has its type, and is null only
// where it may be.
//
// No route and no event is left out. Where the description is silent or contradicts
// itself, its other parts decide. Errors, and redirects from a repository's former
// name, which few endpoints document, have the shape of the documented ones. The
// head of a pull request may be without a repository, as some webhooks say (its
// fork was deleted). The account of an installation is a user or an enterprise, not
// both. A rule of an unknown kind is not checked.
//
// Worked example: the adapter sends PATCH check-runs/7 with {"titel": "x"}. The
// route "PATCH /repos/{owner}/{repo}/check-runs/{id}" is the operation of the
// same path, whatever its parameters are called. The body's schema and its parts
// know no "titel", so the server answers 422 and the test fails.
//
// Reading the whole document takes 2 s. So only the part that the server's routes
// use is read (a few hundred KB); it is cut out once and kept beside the document.
package contract
