// Package cache keeps folders of a step's checkout from build to build (config.Cache).
//
// Kept is what one slot keeps: the folders are moved out of the checkout when a build has
// ended, and into it when a later one wants them, so that neither costs a copy and the
// checkout itself begins as the commit.
//
//	kept, err := cache.Open(slot, cache.Options{Bytes: 10 << 30})
//	id, err := cache.ID(files, "acme/shop@main", step.Caches[0]) // before anything is moved in
//	held, err := kept.Restore("checkout", id, step.Caches[0].Paths)
//	run the step
//	bytes, err := kept.Keep("checkout", id, held.Free)
//
// Shared is what several runners have in common, by a Store: a Folder, or one that speaks
// the protocol of S3 (package s3). Archives in there are as hostile as what steps leave.
//
// # What a cache is worth
//
// What is kept was written by steps of any change that was let to be built, so nothing in it
// can be believed. A cache must not decide: whoever uses this package runs without one where
// a result would turn a change down (package workers does).
//
// # Paths
//
// Names in a checkout are written by steps, and are hostile: a folder that leads to the
// cache may be a symbolic link by now. All moves are below the slot's own folder
// (os.Root), and none goes through a link, so that what is moved is what is named. A path
// that the commit itself has is neither filled nor kept (Held.Taken).
//
// No process of the slot's user may run while something is moved.
package cache
