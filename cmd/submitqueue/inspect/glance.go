package inspect

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/submitqueue/submitqueue/app"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/analyzers"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Glance analyzes the commit that a folder's clone stands on by a configuration. It gives the
// result in one line, and adds a line for each part that cannot be read, with the reason. It
// returns "" where the folder is in no clone with a commit. An analyzer that runs programs runs the
// clone's version of them.
func Glance(ctx context.Context, dir string, c *config.Config) (line string, err error) {
	clone, err := openClone(ctx, dir)
	if err != nil {
		return "", nil
	}
	waits := print.NewProgress(os.Stderr)
	defer func() {
		waits.Clear()
		err = errors.Join(err, clone.close())
	}()
	ids, err := clone.commits(ctx, "HEAD")
	if err != nil {
		return "", nil
	}
	pool, err := clone.checkouts()
	if err != nil {
		return "", err
	}
	a, err := analyzers.All().With(pool)(c.Analysis)
	if err != nil {
		return "", err
	}
	tree, err := clone.mirror.Objects.Tree(ctx, ids[0])
	if err != nil {
		return "", clone.explain(ctx, err)
	}
	waits.Say("analyzing HEAD ...")
	d, err := conflict.Describe(ctx, a, c.Analysis, app.TreeOf(tree))
	if err != nil {
		return "", clone.explain(ctx, err)
	}
	at := "HEAD at " + short(ids[0])
	if d.Unknown != "" {
		return at + " cannot be analyzed, so it is one target and every change conflicts with every other: " + d.Unknown, nil
	}
	return strings.Join(append([]string{at + ": " + print.Counted(len(d.Targets()), "target")}, unreadText(d.Unread)...), "\n  "), nil
}

// unreadText says what it means that parts cannot be read, and why they cannot.
func unreadText(parts []conflict.Unread) (lines []string) {
	for _, u := range parts {
		lines = append(lines, "A part cannot be analyzed, so it is the one target "+u.Target+" and all changes to it conflict with one another: "+u.Why)
	}
	return lines
}
