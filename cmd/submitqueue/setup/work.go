package setup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/doctor"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/gitlabaccount"
	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/gitlab"
)

// work is the list of steps for a project or a group.
type work struct {
	c     *GitLab
	f     *gitlab.Forge
	at    gitlab.HookPlace
	of    string // for people
	steps []step
}

// plan finds the steps for the webhook.
func (w *work) plan(hooks []gitlab.HookFacts, unread error, sent map[int][]gitlab.DeliveryFacts) error {
	if errors.Is(unread, forge.ErrForbidden) || errors.Is(unread, forge.ErrNotFound) {
		return fmt.Errorf("the token's account may not see the webhooks of %s: make it a maintainer, and run this again (%w)", w.of, unread)
	}
	if unread != nil {
		return unread
	}
	if w.c.Public == "" {
		for _, h := range hooks {
			if h.Ours() {
				w.c.Public = strings.TrimSuffix(strings.TrimSuffix(h.URL, "/"), gitlab.HookPath)
				break
			}
		}
	}
	if w.c.Public == "" {
		return errors.New("where should GitLab's webhooks go? Give the server's address with --url https://HOST")
	}
	own := func(h gitlab.HookFacts) bool { return h.Group == w.at.Group } // a group's webhook is for all its projects
	i := slices.IndexFunc(hooks, func(h gitlab.HookFacts) bool { return own(h) && h.LeadsTo(w.c.Public) })
	if i < 0 && w.c.Replace {
		i = slices.IndexFunc(hooks, func(h gitlab.HookFacts) bool { return own(h) && h.Ours() })
	}
	if i < 0 {
		if j := slices.IndexFunc(hooks, func(h gitlab.HookFacts) bool { return !own(h) && h.LeadsTo(w.c.Public) }); j >= 0 {
			fmt.Fprintf(w.c.Out, "the group %s tells the server of %s already\n", hooks[j].Group, w.of)
			return nil
		}
	}
	secret, err := w.c.ReadSecret(w.c.Data)
	fresh := errors.Is(err, gitlabaccount.ErrNone)
	if err != nil && !fresh {
		return err
	}
	if i < 0 {
		w.add("made", fmt.Sprintf("the webhook %s%s of %s", w.c.Public, gitlab.HookPath, w.of), func(ctx context.Context) error { return w.set(ctx, 0, secret) })
		w.test(nil)
		return nil
	}
	h := hooks[i]
	var why []string
	if !h.LeadsTo(w.c.Public) {
		why = append(why, "it went to "+h.URL)
	}
	for _, n := range gitlab.HookNeeds() {
		if !n.Told(h) {
			why = append(why, "it did not tell of "+strings.ToLower(n.Name))
		}
	}
	if h.Filter != "" || h.Template != "" {
		why = append(why, "it told of some branches only, or in words of its own")
	}
	if !h.TLS && !strings.HasPrefix(h.URL, "http://") {
		why = append(why, "certificates were not checked")
	}
	has, told := h.Secret()
	refused := len(sent[h.ID]) > 0 && (sent[h.ID][0].Status == "401" || sent[h.ID][0].Status == "403")
	switch {
	case fresh:
		why = append(why, "its secret was in no file here")
	case told && !has:
		why = append(why, "it had no secret")
	case refused:
		why = append(why, "the server has refused its secret")
	case h.Signed != nil && strings.HasPrefix(secret, gitlabaccount.SigningPrefix) != *h.Signed:
		why = append(why, "its secret was of another kind than the one in "+w.c.SecretFile(w.c.Data))
	}
	if len(why) > 0 {
		w.add("mended", fmt.Sprintf("the webhook of %s: %s", w.of, strings.Join(why, ", ")), func(ctx context.Context) error { return w.set(ctx, h.ID, secret) })
	} else {
		fmt.Fprintf(w.c.Out, "the webhook of %s is as it should be\n", w.of)
	}
	if len(why) > 0 || h.Alert != "" && h.Alert != "executable" {
		w.test(&h)
	}
	return nil
}

func (w *work) add(verb, says string, do func(context.Context) error) {
	w.steps = append(w.steps, step{says: says, verb: verb, do: do})
}

// set makes or mends the webhook. Without a secret, one is made: a signed one, unless the
// instance drops it.
func (w *work) set(ctx context.Context, id int, secret string) error {
	wish := gitlab.HookWish{URL: w.c.Public + gitlab.HookPath}
	if secret != "" {
		wish.Secret = secretOf(secret)
		h, err := w.f.SetHook(ctx, w.at, id, wish)
		if err == nil && wish.Secret.Signing != "" && (h.Signed == nil || !*h.Signed) {
			return fmt.Errorf("this GitLab does not sign webhooks, and %s has a signing key: take the file away and run this again, which makes a secret token", w.c.SecretFile(w.c.Data))
		}
		return err
	}
	draft, err := gitlabaccount.NewDraft(w.c.SecretFile(w.c.Data))
	if err != nil {
		return fmt.Errorf("the webhook's secret cannot be kept: %w", err)
	}
	secret = gitlabaccount.NewSigning()
	wish.Secret = gitlab.Secret{Signing: secret}
	h, err := w.f.SetHook(ctx, w.at, id, wish)
	if err == nil && (h.Signed == nil || !*h.Signed) {
		secret = gitlabaccount.NewSecret()
		wish.Secret = gitlab.Secret{Token: secret}
		h, err = w.f.SetHook(ctx, w.at, h.ID, wish)
	}
	if err != nil {
		return errors.Join(err, draft.Drop())
	}
	if err := draft.Keep(secret); err != nil {
		return fmt.Errorf("the webhook's secret cannot be kept; run this again: %w", err)
	}
	how := "signed"
	if wish.Secret.Signing == "" {
		how = "with a secret token, since this GitLab does not sign"
	}
	fmt.Fprintf(w.c.Out, "          %s; the secret is in %s%s\n", how, w.c.SecretFile(w.c.Data), map[bool]string{true: ": restart a server that runs"}[w.c.Kept == nil])
	return nil
}

func secretOf(text string) gitlab.Secret {
	if strings.HasPrefix(text, gitlabaccount.SigningPrefix) {
		return gitlab.Secret{Signing: text}
	}
	return gitlab.Secret{Token: text}
}

// test has GitLab send a webhook, where the server answers already.
func (w *work) test(h *gitlab.HookFacts) {
	address := w.c.Public + gitlab.HookPath
	w.add("tested", "the webhook of "+w.of, func(ctx context.Context) error {
		if !answers(ctx, address) {
			fmt.Fprintf(w.c.Out, "          %s does not answer from here as the server does: the webhook is not tested; run this again once the server runs\n", address)
			return nil
		}
		id := 0
		list, err := w.f.ListHooks(ctx, w.at)
		for _, x := range list {
			if x.LeadsTo(w.c.Public) || h != nil && x.ID == h.ID {
				id = x.ID
			}
		}
		if err == nil && id != 0 {
			err = w.f.TestHook(ctx, w.at, id)
		}
		if err != nil {
			fmt.Fprintf(w.c.Out, "          it did not arrive: %v; where the secret is new, restart the server and run this again\n", err)
		}
		return nil
	})
}

// protect adds the step that protects the branches of builds.
func (w *work) protect(s gitlab.Survey) {
	for _, ref := range doctor.Refs(s.Prefix)[:1] { // the second prefix is for lists of targets, for which no pipeline runs
		if slices.ContainsFunc(s.Guards, func(g gitlab.GuardFacts) bool { return g.Covers(ref + "x") }) {
			fmt.Fprintf(w.c.Out, "the branches %s* of %s are protected already\n", ref, s.Project)
			continue
		}
		w.add("protected", fmt.Sprintf("the branches %s* of %s, for maintainers to push", ref, s.Project), func(ctx context.Context) error {
			return w.f.Protect(ctx, s.Repo.ID, ref+"*")
		})
	}
}

// carryOut does the steps, or, in a dry run, says what they would do.
func (w *work) carryOut(ctx context.Context) error {
	for _, s := range w.steps {
		if s.verb == "tested" && w.c.Kept != nil && !w.c.DryRun {
			if err := w.c.Kept(); err != nil {
				return err
			}
		}
		if w.c.DryRun {
			fmt.Fprintf(w.c.Out, "would have %s %s\n", s.verb, s.says)
			continue
		}
		fmt.Fprintf(w.c.Out, "%-9s %s\n", s.verb, s.says)
		if err := s.do(ctx); err != nil {
			return err
		}
	}
	return nil
}
