// Package docs is the documentation: Markdown files that a forge shows as they are and
// that the server shows at /docs, with search.
//
// # Rules for a page
//
//   - Links between pages are relative (configure.md#lanes), so that they work on a forge and
//     at /docs alike; a link to a file outside this folder (../../deploy) leads to the
//     repository.
//   - Headings make anchors as GitHub makes them. Each reason, banner and error of the
//     program has a separate heading, which texts link to: a test follows each of these
//     links.
//   - Pages hold no HTML. Pictures are files of img; `.ci/picture` makes queue.png.
//   - keys.md is generated: see package queue/config.
//
// # How do I add a page?
//
// Write NAME.md with one heading of the first level, and add a row to contents.
package docs
