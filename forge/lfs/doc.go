// Package lfs fetches the files that Git LFS keeps outside a repository. In place of such
// a file, the commit has a pointer: a short text with the SHA-256 and the size of the
// content (docs/spec.md of git-lfs). The content comes from the LFS server of the
// repository by the batch API and the basic transfer (docs/api/batch.md and
// basic-transfers.md), or from the folder where git-lfs keeps it for a repository on this
// machine. No git-lfs is needed.
//
// # A worked example
//
//	p, ok := lfs.Parse(text)                // {4d7a2146…, 12345}
//	store := lfs.NewStore(dir)
//	err := store.Fetch(ctx, lfs.Server{URL: "https://github.com/acme/shop.git/info/lfs", Header: h}, []lfs.Pointer{p})
//	err = store.Copy(p, file)
//
// A store keeps each content once, under its SHA-256, for all commits and builds of a
// repository. No content is trusted: it is compared with its pointer when it arrives,
// and again whenever it is copied out; a damaged content is fetched again.
//
// A pointer comes from the commit's author, and an answer from the server, so both may
// be hostile. A content with more bytes than its pointer says is cut off there, the
// number of contents and of bytes of one Fetch is bounded, and credentials go only
// to the host of the server that they are for.
package lfs
