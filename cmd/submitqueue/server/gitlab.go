package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/gitlab"
	"github.com/submitqueue/submitqueue/workers/forgeci"
)

// gitlabFlags say which GitLab is served, and as whom.
type gitlabFlags struct {
	URL    string `name:"url" env:"SUBMITQUEUE_GITLAB_URL" help:"Address of the GitLab instance (default: https://gitlab.com)." placeholder:"URL"`
	Token  string `name:"token-file" env:"SUBMITQUEUE_GITLAB_TOKEN_FILE" type:"existingfile" help:"File with the token that the queue acts by on GitLab." placeholder:"FILE"`
	Secret string `name:"secret-file" env:"SUBMITQUEUE_GITLAB_SECRET_FILE" type:"existingfile" help:"File with what GitLab's webhooks prove themselves by: their signing token (whsec_...), or, on instances that do not sign, their secret token." placeholder:"FILE"`
}

// gitlabWait is how long GitLab may take to answer before a server starts.
const gitlabWait = 30 * time.Second

// leastSecret is how long a secret token of webhooks is at least: whoever guesses it can
// ask the queue for whatever somebody else may.
const leastSecret = 16

// receiver reads the secret of the webhooks.
func (g gitlabFlags) receiver() (forge.Receiver, error) {
	secret, err := secretOf(g.Secret, "--gitlab-secret-file")
	if err != nil {
		return nil, err
	}
	s := gitlab.Secret{Token: secret}
	if strings.HasPrefix(secret, "whsec_") {
		s = gitlab.Secret{Signing: secret}
	} else if len(secret) < leastSecret {
		return nil, print.UsageError(fmt.Sprintf("the secret token in %s has less than %d characters; make one with: openssl rand -hex 32", g.Secret, leastSecret))
	}
	return gitlab.NewReceiver(s)
}

func secretOf(file, flag string) (string, error) {
	if file == "" {
		return "", print.UsageError("--forge gitlab needs " + flag)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	if text := strings.TrimSpace(string(data)); text != "" {
		return text, nil
	}
	return "", print.UsageError(file + " is empty (" + flag + ")")
}

// openGitLab prepares to serve projects on GitLab.
func openGitLab(ctx context.Context, c *Serve, o *Options) (late, error) {
	if err := forgeci.CheckPrefix(c.RefPrefix); err != nil {
		return late{}, fmt.Errorf("--ref-prefix %q: %w", c.RefPrefix, err)
	}
	if len(c.Repo) == 0 {
		return late{}, print.UsageError("--forge gitlab serves the projects that are named: give --repo GROUP/NAME")
	}
	token, err := secretOf(c.GitLab.Token, "--gitlab-token-file")
	if err != nil {
		return late{}, err
	}
	receiver, err := c.GitLab.receiver()
	if err != nil {
		return late{}, err
	}
	o.Receiver = map[string]forge.Receiver{"gitlab": receiver}
	site := strings.TrimSuffix(cmp.Or(c.GitLab.URL, "https://gitlab.com"), "/")
	for _, path := range c.Repo {
		f, err := gitlab.New(gitlab.Options{BaseURL: site, Token: token, Project: path, Logger: o.Log})
		if err != nil {
			return late{}, print.UsageError(err.Error())
		}
		asked, cancel := context.WithTimeout(ctx, gitlabWait)
		place, err := f.Locate(asked, 0)
		cancel()
		if err != nil {
			if errors.Is(err, forge.ErrAway) {
				err = fmt.Errorf("%s is not found with the token of %s: %w; check the path, and that the token's account is a member of the project", path, c.GitLab.Token, err)
			}
			return late{}, err
		}
		if !strings.EqualFold(place.Name, strings.Trim(path, "/")) {
			return late{}, print.UsageError(fmt.Sprintf("%s is called %s by now: write --repo %s", path, place.Name, place.Name))
		}
		o.Queues = append(o.Queues, Queue{Repository: place.Name, Branch: cmp.Or(c.Branch, place.Default), Follow: c.Branch == "", Forge: f, URL: site + "/" + place.Name,
			CI: &forgeci.Options{CI: f.Capabilities().CI, Prefix: c.RefPrefix, Slots: c.CIBuilds, Name: "GitLab", Log: o.Log}})
	}
	return late{}, nil
}
