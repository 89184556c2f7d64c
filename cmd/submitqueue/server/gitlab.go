package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/gitlabaccount"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/gitlab"
	"github.com/submitqueue/submitqueue/workers/forgeci"
	"github.com/submitqueue/submitqueue/workers/forgeci/gitlabci"
)

// gitlabWait is how long GitLab may take to answer before a server starts.
const gitlabWait = 30 * time.Second

// gitlabSecret reads the secret of the webhooks.
func gitlabSecret(g gitlabaccount.Flags, data string) (gitlab.Secret, error) {
	secret, err := g.ReadSecret(data)
	if err != nil {
		return gitlab.Secret{}, err
	}
	s := gitlab.Secret{Token: secret}
	if strings.HasPrefix(secret, gitlabaccount.SigningPrefix) {
		s = gitlab.Secret{Signing: secret}
	}
	_, err = gitlab.NewReceiver(s)
	return s, err
}

// openGitLab prepares to serve projects on GitLab.
func openGitLab(ctx context.Context, c *Serve, o *Options) (late, error) {
	if err := forgeci.CheckPrefix(c.RefPrefix); err != nil {
		return late{}, fmt.Errorf("--ref-prefix %q: %w", c.RefPrefix, err)
	}
	chosen, err := gitlabaccount.ReadChosen(c.Data)
	if err != nil {
		return late{}, err
	}
	if len(c.Repo) == 0 {
		c.Repo, c.GitLab.URL = chosen.Projects, cmp.Or(c.GitLab.URL, chosen.URL)
	}
	_, missing := os.Stat(c.GitLab.TokenFile(c.Data))
	if c.GitLab.Token == "" && (missing != nil || len(c.Repo) == 0) {
		if c.several() {
			return late{}, print.UsageError("beside another --forge the server has no set-up page for GitLab: connect it with submitqueue setup gitlab GROUP/NAME, and name its projects with --repo gitlab:GROUP/NAME")
		}
		return openGitLabSetup(c, o), nil
	}
	if len(c.Repo) == 0 {
		return late{}, print.UsageError("--forge gitlab serves the projects that are named: give --repo GROUP/NAME; without --gitlab-token-file, the set-up page asks for them")
	}
	token, err := c.GitLab.ReadToken(c.Data)
	if err != nil {
		return late{}, err
	}
	secret, err := gitlabSecret(c.GitLab, c.Data)
	if err != nil {
		return late{}, err
	}
	account := ""
	for _, path := range c.Repo {
		q, by, err := gitlabQueue(ctx, c, token, path, o.Log)
		if err != nil {
			return late{}, err
		}
		account = by
		o.Queues = append(o.Queues, q)
	}
	receiver, err := gitlab.NewReceiverOf(secret, account)
	if err != nil {
		return late{}, err
	}
	o.receive("gitlab", receiver)
	return late{}, nil
}

// gitlabQueue returns the queue of a project on GitLab, and the account that the queue acts as.
func gitlabQueue(ctx context.Context, c *Serve, token, path string, log *slog.Logger) (q Queue, account string, err error) {
	site := c.GitLab.Site()
	f, err := gitlab.New(gitlab.Options{BaseURL: site, Token: token, Project: path, Logger: log})
	if err != nil {
		return Queue{}, "", print.UsageError(err.Error())
	}
	asked, cancel := context.WithTimeout(ctx, gitlabWait)
	place, err := f.Locate(asked, 0)
	if err == nil {
		account, err = f.Account(asked)
	}
	trains := false
	if err == nil {
		trains, err = f.Trains(asked)
	}
	cancel()
	if err != nil {
		if errors.Is(err, forge.ErrAway) {
			err = fmt.Errorf("%s is not found with the token of %s: %w; check the path, and that the token's account is a member of the project; submitqueue setup gitlab %s looks at both", path, c.GitLab.TokenFile(c.Data), err, path)
		}
		return Queue{}, "", err
	}
	if trains {
		return Queue{}, "", print.Documented(print.UsageError(fmt.Sprintf("%s has merge trains: a train begins anew with each push of the queue, and the queue with each of the train; switch them off under Settings > Merge requests (%s/%s/-/settings/merge_requests)", place.Name, site, place.Name)), "troubleshoot#doctor-gitlab-trains")
	}
	if !strings.EqualFold(place.Name, strings.Trim(path, "/")) {
		return Queue{}, "", print.UsageError(fmt.Sprintf("%s is called %s by now: write --repo %s", path, place.Name, place.Name))
	}
	q = Queue{Hook: "gitlab", Mark: gitlab.Mark, Repository: place.Name, Branch: cmp.Or(c.Branch, place.Default), Follow: c.Branch == "", Forge: f, URL: site + "/" + place.Name,
		CI: &forgeci.Options{CI: f.Capabilities().CI, Starter: f.Capabilities().Starter, Inputs: gitlabci.Inputs, Prefix: c.RefPrefix, Slots: c.CIBuilds, Name: "GitLab", Log: log}}
	q.Alone, q.ID = fmt.Sprintf("%s:%d", hostName(site), place.ID), place.ID
	if c.several() {
		q.Site = hostName(site) + "/"
	}
	return q, account, nil
}

// hostName returns the name of a site's host.
func hostName(site string) string {
	u, err := url.Parse(site)
	if err != nil || u.Host == "" {
		return site
	}
	return strings.ToLower(u.Host)
}
