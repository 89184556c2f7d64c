// Package simulate is `submitqueue simulate`: the flags, tables and pictures around
// package speculation/sim, which replays a queue's life with several planners.
//
// How do I add a strategy? Add it to package sim, which names it; the command takes it
// from there.
package simulate
