package main

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/submitqueue/submitqueue/app"
	"github.com/submitqueue/submitqueue/workers"
)

// isolateFlags say what keeps steps from the server and from one another.
type isolateFlags struct {
	Isolate  string `enum:"auto,uid,none" default:"auto" env:"SUBMITQUEUE_ISOLATE" help:"What keeps steps from the server and from one another: uid (each runner has a user of its own; the server must be root, on Linux), none, or auto, the best there is."`
	UIDs     string `name:"isolate-uids" default:"58000-58999" env:"SUBMITQUEUE_ISOLATE_UIDS" help:"User ids for runners, which no account has." placeholder:"FIRST-LAST"`
	Forget   bool   `name:"fresh-homes" env:"SUBMITQUEUE_FRESH_HOMES" help:"With users of their own: empty a runner's home, with the caches of tools in it, before each build."`
	SlotsDir string `name:"slots-dir" type:"path" env:"SUBMITQUEUE_SLOTS_DIR" help:"Folder for the runners' checkouts and homes; with users of their own it must be one that they can reach (default: beside the data folder, or /var/lib/submitqueue-slots)." placeholder:"DIR"`
}

// choose decides how steps are isolated, and says so.
func (f isolateFlags) choose(c *serveCommand, o *stackOptions) error {
	o.SlotsDir, o.Forget = f.SlotsDir, f.Forget
	if c.Runners == 0 || f.Isolate == "" {
		return nil
	}
	var err error
	if o.UIDs, err = workers.ParseUIDs(f.UIDs); err != nil {
		return usageError("--isolate-uids: " + err.Error())
	}
	mode, reason, err := workers.ChooseIsolation(f.Isolate, o.UIDs)
	if err != nil {
		return fmt.Errorf("--isolate %s: %w", f.Isolate, err)
	}
	o.Isolate = mode
	if mode == workers.IsolateNone && f.Forget {
		return usageError("--fresh-homes needs runners with users of their own, and there are none: " + reason)
	}
	if mode == workers.IsolateNone {
		o.Log.Warn(app.IsolationText(mode), "why", reason, "uid", os.Getuid())
		return nil
	}
	if o.SlotsDir == "" {
		if o.SlotsDir, err = workers.SlotsDir(c.Data); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(c.Data, 0o700); err != nil {
		return fmt.Errorf("the data folder cannot be used: %w", err)
	}
	if err := os.Chmod(c.Data, 0o700); err != nil {
		return fmt.Errorf("the data folder cannot be closed to steps: %w", err)
	}
	for _, path := range c.secretFiles() {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm()&0o004 == 0 || workers.Passable(filepath.Dir(path)) != nil {
			continue
		}
		err = fmt.Errorf("%s is a secret that everybody can read, steps too: chmod 600 %[1]s", path)
		if f.Isolate != "auto" {
			return err
		}
		o.Log.Warn(err.Error())
	}
	if u, err := url.Parse(c.Redis); err == nil && u.User != nil && inArguments(c.Redis) {
		o.Log.Warn("the password of Redis is in the command line, which steps can read: give it by REDIS_URL")
	}
	o.Log.Info("each runner has a user of its own", "slots", o.SlotsDir)
	return nil
}

// secretFiles are the files with secrets that the command line names.
func (c *serveCommand) secretFiles() (paths []string) {
	for _, path := range []string{c.App, c.AppKey, c.WebhookSecret, c.Signing.SignKey} {
		if path != "" {
			paths = append(paths, path)
		}
	}
	return paths
}

// inArguments says whether a text is in this process's command line.
func inArguments(text string) bool {
	for _, a := range os.Args[1:] {
		if strings.Contains(a, text) {
			return true
		}
	}
	return false
}
