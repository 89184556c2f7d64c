// Package cache keeps folders of a step's checkout from build to build (config.Cache).
//
// Kept has the caches of one slot: the folders are moved out of the checkout when a build has
// ended, and into it when a later build wants them. So neither needs a copy, and the checkout
// itself begins as the commit.
//
//	kept, err := cache.Open(slot, cache.Options{Bytes: 10 << 30})
//	id, err := cache.ID(files, "acme/shop@main", step.Caches[0]) // before anything is moved in
//	held, err := kept.Restore("checkout", id, step.Caches[0].Paths)
//	run the step
//	bytes, err := kept.Keep("checkout", id, held.Free)
//
// Shared has the caches that several runners share in a Store: a Folder, or a store with the
// protocol of S3 (package s3). Archives in it are as hostile as the files of steps.
//
// # What a cache is worth
//
// Kept files were written by the steps of any change that was built, so nothing in them can be
// trusted. A cache must not decide: the caller runs a step again without caches before its
// failure turns a change down (package workers does).
//
// # Paths
//
// Names in a checkout are written by steps, and are hostile: a folder that leads to the cache
// may be a symbolic link by now. All moves are below the slot's own folder (os.Root), and none
// goes through a link, so that only the named folder is moved. A path that the commit itself
// has is neither filled nor kept (Held.Taken).
//
// No process of the slot's user may run while something is moved.
package cache
