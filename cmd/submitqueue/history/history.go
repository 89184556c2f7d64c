package history

// Command exports, imports and makes histories.
type Command struct {
	Export  Export  `cmd:"" help:"Print a queue's history as JSON lines: changes, builds, results, landings."`
	Import  Import  `cmd:"" help:"Add a history to that of a server's queue."`
	FromGit FromGit `cmd:"" name:"from-git" help:"Print a history made of a repository's log, and of what its CI said."`
}
