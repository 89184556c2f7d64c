package server

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/app/notify"
	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
	"github.com/submitqueue/submitqueue/workers"
)

// isolateFlags say how steps are isolated from the server and from one another.
type isolateFlags struct {
	Isolate  string   `enum:"auto,uid,namespace,sandbox,none" default:"auto" env:"SUBMITQUEUE_ISOLATE" help:"The means that keep steps from the server and from one another: uid (each runner has a user of its own; the server must be root, on Linux), namespace (for a server that is not root, on Linux), sandbox (on macOS), none, or auto, the best there is."`
	UIDs     string   `name:"isolate-uids" default:"58000-58999" env:"SUBMITQUEUE_ISOLATE_UIDS" help:"User ids for runners, which no account has." placeholder:"FIRST-LAST"`
	Hide     []string `name:"isolate-hide" type:"path" env:"SUBMITQUEUE_ISOLATE_HIDE" help:"Files and folders that steps are to see empty, besides the data folder, the server's home, /run and the files with secrets." placeholder:"PATH"`
	Show     []string `name:"isolate-show" type:"path" env:"SUBMITQUEUE_ISOLATE_SHOW" help:"Files and folders in what is hidden that steps are to see, read-only: tools in the server's home, say." placeholder:"PATH"`
	Keep     bool     `name:"keep-homes" env:"SUBMITQUEUE_KEEP_HOMES" help:"Keep a runner's HOME, with the caches of tools in it, from build to build: a person who may ask for a build can change what later builds find there."`
	Seed     string   `name:"home-seed" type:"existingdir" env:"SUBMITQUEUE_HOME_SEED" help:"A folder whose content each new HOME begins with: caches of tools, say." placeholder:"DIR"`
	SlotsDir string   `name:"slots-dir" type:"path" env:"SUBMITQUEUE_SLOTS_DIR" help:"Folder for the runners' checkouts and homes; with users of their own it must be one that they can reach (default: beside the data folder, or /var/lib/submitqueue-slots)." placeholder:"DIR"`
}

// choose decides how steps are isolated, and logs it.
func (f isolateFlags) choose(c *Serve, o *Options) error {
	o.SlotsDir, o.KeepHomes, o.HomeSeed = f.SlotsDir, f.Keep, f.Seed
	if c.Runners == 0 || f.Isolate == "" {
		return nil
	}
	var err error
	if o.UIDs, err = workers.ParseUIDs(f.UIDs); err != nil {
		return print.UsageError("--isolate-uids: " + err.Error())
	}
	choice, err := workers.ChooseIsolation(f.Isolate, o.UIDs)
	if err != nil {
		return fmt.Errorf("--isolate %s: %w", f.Isolate, err)
	}
	o.Isolate, o.Gaps = choice.Mode, choice.Gaps
	o.Hide, o.Show = append(c.secretFiles(), append(f.Hide, c.Data)...), f.Show
	if warning := texts.Isolation(o.Isolate, f.Keep); warning != "" {
		o.Log.Warn(warning, "why", choice.Why, "uid", os.Getuid())
	}
	for _, gap := range choice.Gaps {
		o.Log.Warn("not everything is kept apart here: " + gap)
	}
	if choice.Mode == workers.IsolateNone {
		return nil
	}
	if err := f.prepare(c, o); err != nil {
		return err
	}
	o.Log.Info("steps are kept from the server and from one another", "isolate", choice.Mode, "slots", o.SlotsDir)
	return nil
}

// prepare hides from steps the files that they must not see.
func (f isolateFlags) prepare(c *Serve, o *Options) error {
	if err := os.MkdirAll(c.Data, 0o700); err != nil {
		return print.Documented(fmt.Errorf("the data folder cannot be used: make it writable, or name another with --data: %w", err), "operate#where-things-are")
	}
	if err := os.Chmod(c.Data, 0o700); err != nil {
		return print.Documented(fmt.Errorf("the data folder cannot be closed to steps: make it writable, or name another with --data: %w", err), "operate#where-things-are")
	}
	if o.Isolate != workers.IsolateUID {
		return nil
	}
	var err error
	if o.SlotsDir == "" {
		if o.SlotsDir, err = workers.SlotsDir(c.Data); err != nil {
			return err
		}
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
	if slices.ContainsFunc(c.Notify, func(text string) bool { return !strings.Contains(text, "=@") && inArguments(text) }) {
		o.Log.Warn("an address of --notify is in the command line, which steps can read: give it in a file, or by SUBMITQUEUE_NOTIFY")
	}
	return nil
}

// secretFiles are the files with secrets that the command line names.
func (c *Serve) secretFiles() (paths []string) {
	for _, path := range []string{c.App, c.AppKey, c.WebhookSecret, c.Signing.SignKey, c.GitLab.Token, c.GitLab.Secret} {
		if path != "" {
			paths = append(paths, path)
		}
	}
	return slices.Concat(paths, notify.Files(c.Notify), c.Variables.files())
}

// inArguments reports whether a text is in this process's command line.
func inArguments(text string) bool {
	for _, a := range os.Args[1:] {
		if strings.Contains(a, text) {
			return true
		}
	}
	return false
}
